//! Workload files: warnings about values without effect, and refusals of invalid names of traces.

#![allow(clippy::unwrap_used)]

use accelflow_workload::file::read;

const SHOP: &str = r#"
schema = "accelflow.workload/1"
name = "shop"

[[traces]]
source = """
trace look:
    Ser Encr TCP
    tail looked
trace looked:
    TCP Decr Dser
    branch out['stale'] == 1   (expected: false)
      on true:
        Cmp
    LdB
"""

[defaults]
waits = { other = { constant_us = 5 } }

[[services]]
name = "Front"
rate_rps = 100
waits = { looked = { constant_us = 5 } }
path = [
  { trace = "T1", facts = { T1 = { compressed = 1 } } },
  { cpu_us = 30 },
  { trace = "look", odds = { looked = { stale = 0.5 } } },
  { trace = "T2" },
]

[[services]]
name = "Back"
rate_rps = 100
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 9 }, { trace = "T2" }]
"#;

fn outcome(text: &str) -> Result<Vec<String>, String> {
    let document = read(text, "shop.toml").map_err(|error| error.to_string())?;
    document.check().map_err(|error| error.to_string())?;
    let memory = document.workload.memory();
    let checked = memory.and_then(|image| document.workload.check_traces(&image));
    checked.map_err(|refusal| refusal.to_string())
}

fn warnings(from: &str, to: &str) -> Vec<String> {
    assert!(SHOP.contains(from), "{from}");
    outcome(&SHOP.replacen(from, to, 1)).unwrap()
}

fn refused(from: &str, to: &str) -> String {
    assert!(SHOP.contains(from), "{from}");
    outcome(&SHOP.replacen(from, to, 1)).unwrap_err()
}

#[test]
fn a_file_whose_values_all_have_an_effect_has_no_warnings() {
    assert_eq!(outcome(SHOP), Ok(Vec::new()));
}

#[test]
fn facts_odds_and_waits_of_traces_that_no_chain_enters_are_warnings() {
    let never = |table: &str| {
        format!("services[0].path[2].{table}: has no effect, as the chain never enters this trace")
    };
    let odds = "odds = { looked = { stale = 0.5 } }";
    assert_eq!(
        warnings(odds, &format!("{odds}, facts = {{ T4 = {{ found = 1 }} }}")),
        [never("facts.T4")]
    );
    assert_eq!(
        warnings(
            odds,
            "odds = { looked = { stale = 0.5 }, T4 = { found = 0.5 } }"
        ),
        [never("odds.T4")]
    );
    let of_chain = "services[0].path[2].waits.T10: has no effect, as the chain never waits for an \
                    answer to this trace";
    assert_eq!(
        warnings(
            odds,
            &format!("{odds}, waits = {{ T10 = {{ constant_us = 9 }} }}")
        ),
        [of_chain]
    );
}

#[test]
fn waits_of_services_that_wait_for_nothing_are_warnings() {
    assert_eq!(
        warnings("waits = { looked =", "waits = { look ="),
        [
            "services[0].waits.look: has no effect, as the service never waits for an answer to this \
          trace"
        ]
    );
    let back = "name = \"Back\"\nrate_rps = 100";
    assert_eq!(
        warnings(
            back,
            &format!("{back}\nwaits = {{ other = {{ constant_us = 1 }} }}")
        ),
        ["services[1].waits.other: has no effect, as the service waits for no answer"]
    );
    assert_eq!(
        warnings("waits = { other =", "waits = { T5 ="),
        [
            "defaults.waits.T5: has no effect, as the workload never waits for an answer to this trace"
        ]
    );
}

#[test]
fn an_application_time_that_no_phase_has_a_part_of_is_a_warning() {
    let app = |path: &str| {
        let front = "name = \"Front\"\nrate_rps = 100";
        let stated = SHOP.replacen(front, &format!("{front}\napp_us = 500"), 1);
        outcome(&stated.replacen("{ cpu_us = 30 }", path, 1)).unwrap()
    };
    let unused = "services[0].app_us: has no effect, as no phase of the path is { cpu = true }";
    assert_eq!(app("{ cpu_us = 30 }"), [unused]);
    assert_eq!(app("{ cpu = { constant_us = 30 } }"), [unused]);
    assert!(app("{ cpu = true }").is_empty());
    assert!(app("{ cpu_us = 30 }, { cpu = true }").is_empty());
}

#[test]
fn odds_of_too_many_fields_are_said_to_be_checked_in_part() {
    let branches: String = (0..9)
        .map(|field| format!("    branch out['f{field}'] == 1\n      on true:\n        Cmp\n"))
        .collect();
    let odds: Vec<String> = (0..9).map(|field| format!("f{field} = 0.5")).collect();
    let odds = odds.join(", ");
    let again = format!(
        "    Ser Encr TCP\n    tail again\ntrace again:\n    TCP Decr Dser\n{branches}    LdB\n"
    );
    let text = SHOP
        .replace("    LdB\n", &format!("{branches}{again}"))
        .replace(
            "stale = 0.5",
            &format!("stale = 0.5, {odds} }}, again = {{ {odds}"),
        );
    assert_eq!(
        outcome(&text).unwrap(),
        [
            "services[0].path[2].odds: at most 65536 combinations of the random values were \
             checked, not all"
        ]
    );
}

#[test]
fn invalid_names_of_traces_are_refused() {
    for name in ["2look", "lo ok", "lo.ok", "look.0", "é"] {
        let said = refused("trace look:", &format!("trace {name}:"));
        let start = format!("traces[0].source = '{name}': must be the text of traces, whose names");
        assert!(said.starts_with(&start), "{said}");
    }
}

#[test]
fn odds_of_unknown_traces_and_fields_are_refused_at_their_place() {
    let said = refused("odds = { looked =", "odds = { loked =");
    let start = "services[0].path[2].odds.loked = 'loked': must be ";
    assert!(said.starts_with(start), "{said}");
    let said = refused("stale = 0.5", "stal = 0.5");
    let start = "services[0].path[2].odds.looked.stal = 'stal': must be ";
    assert!(said.starts_with(start), "{said}");
}

#[test]
fn a_call_of_oneself_is_not_proposed() {
    let chain = "{ trace = \"look\",";
    let said = refused(chain, "{ trace = \"look\", calls = \"Fron\",");
    assert!(
        said.ends_with("path[2].calls = 'Fron': must be Back"),
        "{said}"
    );
    let at = SHOP.find("[[services]]\nname = \"Back\"").unwrap();
    let alone = SHOP[..at].replace(chain, "{ trace = \"look\", calls = \"Back\",");
    let said = outcome(&alone).unwrap_err();
    let end = "path[2].calls = 'Back': must be left out, as the workload has no other service";
    assert!(said.ends_with(end), "{said}");
}
