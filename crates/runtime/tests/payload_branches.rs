//! Branches on bytes, bits and texts of real payloads.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use accelflow_accel::{Ensemble, messages};
use accelflow_runtime::{Executor, Outcome, PoolSettings, PooledExecutor, Pools, Step, demo};
use accelflow_trace::source::{branch, fork, seq};
use accelflow_trace::{Accel, Library, Nodes};
use serde_json::Value;

/// An executor of the trace `t`: `before`, then LdB if `condition` holds.
fn executor(before: &[&str], condition: &str) -> Executor {
    let mut nodes: Nodes = seq(before).unwrap();
    nodes.push(branch(condition, seq(&["LdB"]).unwrap(), vec![]).unwrap());
    let mut library = Library::new();
    library.register("t", nodes).unwrap();
    Executor::with_cores(library.link().unwrap(), 4).unwrap()
}

fn run(before: &[&str], condition: &str) -> Outcome {
    let packets = demo::request("Login", 1, 2, false).unwrap();
    demo::run_trace(&mut executor(before, condition), "t", &packets).unwrap()
}

const RPC: [&str; 3] = ["TCP", "Decr", "RPC"];
const DSER: [&str; 4] = ["TCP", "Decr", "RPC", "Dser"];

#[test]
fn branches_read_texts_and_bytes_of_a_message() {
    let arguments: Value = messages::request("Login", 1, 2).unwrap();
    let name = arguments["username"].as_str().unwrap();
    let login = format!("out['method'] == 'Login' and out['username'] == '{name}'");
    for (before, condition, holds) in [
        (&RPC[..], "out['method'] == 'Login'", true),
        (&RPC[..], "out['method'] == 'Follow'", false),
        (&DSER[..], &*login, true),
        (&DSER[..], "out['username'] != 'nobody'", true),
        (&DSER[..], "out[0] == 0x7b and out[0:2] == '{\"'", true),
        (&DSER[..], "out[0][0] == 1", true),
        (&DSER[..], "out[0][7] == 1", false),
        (&DSER[..], "(out[0] << 8) + out[1] == out[0:2]", true),
        (&DSER[..], "out['req_id'][0] + 2 > 3", false),
    ] {
        let outcome = run(before, condition);
        let balanced = outcome.accelerators().any(|accel| accel == Accel::Ldb);
        assert_eq!(balanced, holds, "{condition}");
    }
}

/// What a branch has read is in the record of the run, so that its simulation takes the same arms.
#[test]
fn a_recording_has_what_branches_have_read() {
    let outcome = run(&DSER, "out['method'] == 'Login' and out[0][1] == 1");
    let step = outcome.steps.iter().find(|step| step.accel == Accel::Dser);
    let facts = &step.unwrap().facts;
    let named = |name: &str| facts.iter().find(|fact| fact.0 == name).map(|fact| fact.1);
    assert_eq!(named("method == 'Login'"), Some(1));
    assert_eq!(named("out[0][1]"), Some(1), "{facts:?}");
    let others = outcome
        .steps
        .iter()
        .filter(|step| step.accel != Accel::Dser);
    assert!(
        others
            .flat_map(|step| &step.facts)
            .all(|fact| !fact.0.contains("out["))
    );
}

#[test]
fn a_missing_field_fails_the_run() {
    for (condition, missing) in [
        ("out[9000] == 1", "out[9000]"),
        ("out['nobody'] == 'x'", "nobody == 'x'"),
        ("out['req_id'] == '7'", "req_id == '7'"),
    ] {
        let packets = demo::request("Login", 1, 2, false).unwrap();
        let mut executor = executor(&DSER, condition);
        let failure = demo::run_trace(&mut executor, "t", &packets).unwrap_err();
        assert_eq!(failure.error.reason, "missing_field");
        assert!(failure.error.message.contains(missing), "{}", failure.error);
    }
}

/// Arms that run ahead of their turn read the same, and note it at the same steps.
#[test]
fn the_ensemble_reads_and_notes_the_same() {
    let arm = |condition| {
        let balanced = branch(condition, seq(&["LdB"]).unwrap(), vec![]).unwrap();
        [seq(&["Cmp"]).unwrap(), vec![balanced]].concat()
    };
    let arms = vec![arm("out[0][0] == 1"), arm("out[1] + out[2] > 0")];
    let mut nodes: Nodes = seq(&DSER).unwrap();
    nodes.push(branch("out['method'] == 'Login'", vec![fork(arms)], vec![]).unwrap());
    let mut library = Library::new();
    library.register("t", nodes).unwrap();
    let image = library.link().unwrap();
    let packets = demo::request("Login", 1, 2, false).unwrap();
    let mut inline = Executor::with_cores(image.clone(), 4).unwrap();
    let inline = demo::run_trace(&mut inline, "t", &packets).unwrap();
    let pools = Pools::start(PoolSettings::default(), || Ensemble::with_cores(4)).unwrap();
    let (pools, image) = (Arc::new(pools), Arc::new(image));
    let mut apart = PooledExecutor::of(pools, image).unwrap();
    let apart = demo::run_trace(&mut apart, "t", &packets).unwrap();
    assert_eq!(format!("{:?}", apart.steps), format!("{:?}", inline.steps));
    assert_eq!(apart.visits, inline.visits);
    let compressed = |step: &&Step| step.accel == Accel::Cmp;
    let read = inline.steps.iter().filter(compressed);
    let read: Vec<usize> = read.map(|step| step.facts.len()).collect();
    assert_eq!(read.len(), 2);
    assert!(read.iter().sum::<usize>() >= 3, "{read:?}");
}
