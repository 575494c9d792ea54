//! The demonstration as a user starts it, with real daemons.

use std::process::Command;

/// Runs the program; `None` where the daemons are not installed.
fn socialnetwork(arguments: &[&str]) -> Option<std::process::Output> {
    if let Err(error) = accelflow_storage::local::installed() {
        let needed = std::env::var_os("ACCELFLOW_NEEDS_STORAGE").is_some();
        assert!(!needed, "{error}");
        eprintln!("skipped: {error}");
        return None;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_socialnetwork"));
    Some(command.args(arguments).output().expect("runs"))
}

#[test]
fn every_request_of_every_service_has_a_good_reply() {
    let arguments = "run --seconds 1 --warm-up-seconds 0.2 --rate 20 --service-rate 10 --posts 1";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let Some(output) = socialnetwork(&arguments) else {
        return;
    };
    let (text, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    // It fails if any request has no good reply.
    assert!(output.status.success(), "{text}{errors}");
    let names: Vec<&str> = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let expected = [
        "ReadH", "ReadU", "CPost", "CPost", "ReadH", "StoreP", "Follow", "Login", "CUrls",
        "UniqId", "RegUsr",
    ];
    assert_eq!(names, expected, "{text}");
}

#[test]
fn bad_options_are_one_clear_line() {
    for (arguments, expected) in [
        (
            &["run", "--rate", "0"][..],
            "socialnetwork: error: --rate = 0: must be above 0 and at most 100000\n",
        ),
        (
            &["run", "--posts", "0"],
            "socialnetwork: error: --posts = 0: must be from 1 to 1000\n",
        ),
        (
            &["run", "--warm-up-seconds", "0"],
            "socialnetwork: error: --warm-up-seconds = 0: must be above 0 and at most 3600\n",
        ),
        (
            &["measure", "--service", "Nobody"],
            "socialnetwork: error: --service = Nobody: must be one of CPost, ReadH, StoreP, Follow, \
             Login, CUrls, UniqId, RegUsr\n",
        ),
        (
            &["measure", "--loads", "0.5,2"],
            "socialnetwork: error: --loads = 2: must be above 0 and at most 0.95\n",
        ),
    ] {
        let Some(output) = socialnetwork(arguments) else {
            return;
        };
        assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
        assert_eq!(output.status.code(), Some(2));
    }
}
