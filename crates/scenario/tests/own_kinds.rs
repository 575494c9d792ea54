//! Custom accelerators: each has its own place and TLB, whatever its number and that of its
//! instances.

#![allow(clippy::unwrap_used)]

use accelflow_scenario::{Scenario, Setting};
use serde_json::Value;

use crate::files::{ran, shop};

/// The number of custom accelerators that traces may declare.
const MOST: usize = 16;

/// The results of a service whose requests use only the custom accelerator with this number, of
/// `MOST` that another service uses.
fn using(number: usize, config: &[(&str, f64)]) -> Value {
    let declared: String = (0..MOST).map(|kind| format!("kind K{kind}\n")).collect();
    let kinds: String = (0..MOST)
        .map(|kind| format!("[kinds.K{kind}]\nns = 1000\n"))
        .collect();
    let all: Vec<String> = (0..MOST).map(|kind| format!("K{kind}")).collect();
    let all = all.join(" ");
    let text = format!(
        "schema = \"accelflow.workload/1\"\nname = \"own\"\n\
         defaults = {{ sizes = {{ fixed_bytes = 3000 }}, costs = {{ source = \"paper\" }} }}\n\
         [[traces]]\nsource = '''\n{declared}trace all:\n    TCP {all} LdB\n\
         trace own:\n    TCP K{number} Decr K{number} LdB\n'''\n{kinds}\n\
         [[services]]\nname = \"All\"\nrate_rps = 40000\n\
         path = [{{ trace = \"all\" }}, {{ trace = \"T2\" }}]\n[[services]]\nname = \"Own\"\nrate_rps = 400000\n\
         path = [{{ trace = \"own\" }}, {{ cpu_us = 5 }}, {{ trace = \"T2\" }}]\n"
    );
    // Page faults depend on the number of an accelerator.
    let faults = ("tlb.faults_per_million", 0.0);
    let config = config.iter().chain([&faults]);
    let config = config.map(|(key, value)| ((*key).to_owned(), Setting::Number(*value)));
    let found = ran(&Scenario {
        services: vec!["Own".to_owned()],
        config: config.collect(),
        ..shop(&text)
    });
    let text = found["systems"].to_string();
    // Before K1 comes K0, and after K1 K10: only whole names are replaced.
    serde_json::from_str(&text.replace(&format!("\"K{number}\""), "\"used\"")).unwrap()
}

/// What does not name the other custom accelerators.
fn figures(found: &Value) -> [Value; 4] {
    let service = &found[0]["services"][0];
    ["mean_us", "p99_us", "spent_us", "data"].map(|key| service[key].clone())
}

#[test]
fn no_custom_accelerator_shares_a_tlb_with_another_accelerator() {
    let config = [("accelerator.instances", 2.0), ("accelerator.pes", 1.0)];
    let first = figures(&using(0, &config));
    assert!(first[3].is_object(), "{first:?}");
    for number in [1, 8, 9, MOST - 1] {
        assert_eq!(figures(&using(number, &config)), first, "K{number}");
    }
}

#[test]
fn many_instances_of_custom_accelerators_stand_where_the_first_does() {
    let config = [("instances.own", 16.0), ("pes.own", 1.0)];
    let first = figures(&using(0, &config));
    for number in [1, MOST - 1] {
        assert_eq!(figures(&using(number, &config)), first, "K{number}");
    }
}
