//! Plans at the edges of what is allowed: tables of profiles of other plans, and the last moments
//! of a run.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_arcus::control::ProfileTable;
use accelflow_arcus::plan::{CheckedPlan, ProfileFile, SweepOptions, plan, profile};
use serde_json::{Value, json};

const VERSION: &str = "1.2.3";

fn flow(name: &str, policy: &str, slo: f64) -> Value {
    json!({
        "name": name, "accelerator": "ipsec", "path": "inline_rx", "message_bytes": 1500,
        "slo_gbit_per_s": slo, "policy": policy,
    })
}

fn checked(document: &Value) -> CheckedPlan {
    CheckedPlan::from_json(document).unwrap()
}

/// The names of the rejected flows, each with the rate that it asked for and the rate that is left.
fn rejected(document: &Value, profiles: ProfileTable) -> Vec<(String, f64, f64)> {
    let result = plan(&checked(document), profiles).unwrap();
    let each = result.rejected.into_iter();
    each.map(|flow| (flow.name, flow.asked_gbit_per_s, flow.left_gbit_per_s))
        .collect()
}

/// What a plan rejects with the table of profiles of another plan for the same platform.
fn rejected_with(profiled: &Value, planned: &Value) -> Vec<(String, f64, f64)> {
    let options = SweepOptions {
        sizes: Vec::new(),
        paths: Vec::new(),
        most: 2,
        threads: 1,
    };
    let file = profile(&checked(profiled), &options, VERSION).unwrap();
    let stored = serde_json::to_value(file).unwrap();
    let read = ProfileFile::from_json(&stored, VERSION).unwrap();
    rejected(planned, read.table(&checked(planned)).unwrap())
}

#[test]
fn tags_of_a_table_count_only_up_to_the_load_for_which_they_were_found() {
    let of = |oversubscription: f64, flows: [Value; 2]| {
        json!({
            "oversubscription": oversubscription, "accelerators": ["ipsec"], "duration_us": 500,
            "flow": flows,
        })
    };
    let two = |slo: f64| [flow("a", "on-demand", slo), flow("b", "on-demand", slo)];
    // Of 32 Gbit/s, 40 are promised: too many, unless the plan allows 1.6 times the capacity.
    let (strict, loose) = (of(1.0, two(20.0)), of(1.6, two(20.0)));
    assert_eq!(rejected_with(&strict, &loose), []);
    assert_eq!(rejected_with(&loose, &loose), []);
    for profiled in [&strict, &loose] {
        let found = rejected_with(profiled, &strict);
        let [(name, asked, left)] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(name == "b" && left < asked, "{found:?}");
    }
    // An on-demand flow may use the headroom of a reserved flow, which may not do so itself.
    let mixed = of(
        1.0,
        [flow("a", "reserved", 15.5), flow("b", "on-demand", 15.5)],
    );
    let without = ProfileTable::new(checked(&mixed).platform);
    assert_eq!(rejected(&mixed, without), []);
    assert_eq!(rejected_with(&mixed, &mixed), []);
    let both = [flow("a", "reserved", 15.5), flow("b", "reserved", 15.5)];
    let found = rejected_with(&of(1.0, two(15.5)), &of(1.0, both));
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn every_flow_of_an_allowed_plan_is_admitted_or_rejected() {
    let plan_of = |duration: u64, from: u64| {
        let mut late = flow("late", "on-demand", 5.0);
        late["from_us"] = from.into();
        json!({"duration_us": duration, "flow": [flow("a", "on-demand", 5.0), late]})
    };
    // The last control period ends 100 us before the end of a run of 2,200 us.
    for (duration, last) in [
        (2_000, 1_900),
        (1_500, 1_450),
        (1_999, 1_900),
        (95, 90),
        (50, 0),
    ] {
        let error = CheckedPlan::from_json(&plan_of(duration, last + 1)).unwrap_err();
        let rule = match last {
            0 => "must be 0: no control period of 100 us ends within the run".to_owned(),
            _ => format!(
                "must be at most {last}: flows come at the ends of control periods of 100 us, and \
                 the last within the run is then"
            ),
        };
        let message = format!("flow 'late': from_us = {}: {rule}", last + 1);
        assert_eq!(error.message, message);
        let found = checked(&plan_of(duration, last));
        let result = plan(&found, ProfileTable::new(found.platform.clone())).unwrap();
        let names: Vec<&str> = result.admitted.iter().map(|flow| &*flow.name).collect();
        assert_eq!(names, ["a", "late"]);
    }
}

#[test]
fn a_flow_that_comes_to_an_idle_platform_runs_without_shaping_too() {
    let mut late = flow("late", "on-demand", 5.0);
    late["from_us"] = 500.into();
    let found = checked(&json!({"flow": [late], "duration_us": 1_000}));
    let result = plan(&found, ProfileTable::new(found.platform.clone())).unwrap();
    let rate = result.admitted[0].gbit_per_s.host_no_ts.unwrap();
    // The accelerator's rate for messages of 1,500 bytes.
    assert!((rate / 32.0 - 1.0).abs() < 0.02, "{rate}");
}
