//! Plan files: fields, refusals with their places, storage, tables of profiles.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_arcus::control::ProfileTable;
use accelflow_arcus::plan::{
    CheckedPlan, Key, PlanError, PlanResult, ProfileFile, SweepOptions, plan, plan_schema, profile,
};
use accelflow_arcus::{Law, Path};
use accelflow_units::{Bytes, Time};
use serde_json::{Value, json};

const VERSION: &str = "1.2.3";

fn flow(change: Value) -> Value {
    let mut flow = json!({
        "name": "a", "accelerator": "ipsec", "path": "inline_rx", "message_bytes": 1500,
        "slo_gbit_per_s": 10,
    });
    merge(&mut flow, change);
    flow
}

/// Adds fields; null removes one.
fn merge(table: &mut Value, change: Value) {
    let Value::Object(fields) = change else {
        panic!("an object");
    };
    for (key, value) in fields {
        match value {
            Value::Null => table.as_object_mut().unwrap().remove(&key),
            value => table.as_object_mut().unwrap().insert(key, value),
        };
    }
}

fn planned(document: &Value) -> PlanResult {
    let checked = CheckedPlan::from_json(document).unwrap();
    plan(&checked, ProfileTable::new(checked.platform.clone())).unwrap()
}

fn refused(document: &Value) -> PlanError {
    CheckedPlan::from_json(document).unwrap_err()
}

#[test]
fn names_in_files_are_those_of_reports() {
    for path in Path::ALL {
        assert_eq!(serde_json::to_value(path).unwrap(), json!(path.name()));
    }
    for law in Law::ALL {
        assert_eq!(serde_json::to_value(law).unwrap(), json!(law.name()));
    }
}

#[test]
fn refusals_name_table_field_value_and_rule_and_lead_to_the_value() {
    let cases = [
        (
            json!({"polcy": "reserved"}),
            "flow 'a': field = 'polcy': must be ",
            "polcy",
        ),
        (
            json!({"message_bytes": 0}),
            "flow 'a': message_bytes = 0: must be from 1 to 67,108,864",
            "message_bytes",
        ),
        (
            json!({"slo_gbit_per_s": -1.5}),
            "flow 'a': slo_gbit_per_s = -1.5: must be above 0",
            "slo_gbit_per_s",
        ),
        (
            json!({"message_bytes": null, "sizes": [[64, 0]]}),
            "flow 'a': sizes = 0: must be above 0, at most 1,000,000,000,000",
            "sizes",
        ),
        (
            json!({"message_bytes": null, "sizes": [[64]]}),
            "flow 'a': sizes = [64]: must be two numbers above 0: in sizes, [size in bytes, \
             weight]; in points, [size in bytes, time in ns]",
            "sizes",
        ),
        (
            json!({"then": ["nobody"]}),
            "flow 'a': then = 'nobody': must be ipsec, ",
            "then",
        ),
        (
            json!({"from_us": 5, "until_us": 5}),
            "flow 'a': until_us = 5: must be above from_us = 5",
            "until_us",
        ),
        (
            json!({"message_bytes": 1.5}),
            "flow 'a': message_bytes = 1.5: must be a whole number",
            "message_bytes",
        ),
        (
            json!({"name": " "}),
            "flow: name = ' ': must not be empty",
            "name",
        ),
        (
            json!({"instead": "ipsec"}),
            "flow 'a': instead = 'ipsec': must be a list of strings",
            "instead",
        ),
    ];
    for (change, message, field) in cases {
        let error = refused(&json!({"flow": [flow(change)]}));
        assert!(error.message.starts_with(message), "{error}");
        let name = |name: &str| Key::Name(name.to_owned());
        assert_eq!(error.keys, [name("flow"), Key::Index(0), name(field)]);
    }
}

#[test]
fn a_name_is_that_of_one_flow_also_if_the_other_is_rejected_or_has_left() {
    let later = json!({"from_us": 600, "message_bytes": 512});
    for first in [json!({"slo_gbit_per_s": 99}), json!({"until_us": 500})] {
        let error = refused(&json!({"flow": [flow(first), flow(later.clone())]}));
        assert_eq!(
            error.message,
            "flow: name = 'a': must differ from the names of earlier flows of the plan"
        );
        let name = |name: &str| Key::Name(name.to_owned());
        assert_eq!(error.keys, [name("flow"), Key::Index(1), name("name")]);
    }
}

#[test]
fn refusals_of_tables_and_choices_say_what_is_allowed() {
    let name = |name: &str| Key::Name(name.to_owned());
    let error = refused(&json!({"flow": [flow(json!({"path": "inline_xr"}))]}));
    assert!(
        error.message.contains(", did you mean inline_rx or"),
        "{error}"
    );
    let error = refused(&json!({"flow": [1]}));
    assert_eq!(error.message, "flow 0 = 1: must be a table");
    assert_eq!(
        refused(&json!({})).message,
        "plan: flow is left out: must be given"
    );
    let lanes = json!({"platform": {"pcie_lanes": 3}, "flow": []});
    let error = refused(&lanes);
    assert_eq!(
        error.message,
        "platform: pcie_lanes = 3: must be 1, 2, 4, 8 or 16"
    );
    assert_eq!(error.keys, [name("platform"), name("pcie_lanes")]);
}

#[test]
fn the_storage_of_a_plan_is_the_users() {
    let fields = json!({
        "units": 16, "read_median_us": 80, "read_sigma": 0.1, "write_ack_us": 5,
        "write_busy_us": 500, "write_buffer": 8, "queue_depth": 64, "link_gbit_per_s": 32,
    });
    let read = json!({
        "name": "r", "accelerator": "storage", "path": "storage_read", "message_bytes": 4096,
        "slo_operations_per_s": 100_000,
    });
    let document = json!({"storage_devices": 2, "storage": fields, "flow": [read]});
    let checked = CheckedPlan::from_json(&document).unwrap();
    let storage = checked.platform.storage.unwrap();
    assert_eq!(
        (storage.devices, storage.units, storage.write_buffer),
        (2, 16, 8)
    );
    assert_eq!(storage.read_median, Time::from_us(80));
    assert_eq!(storage.write_busy, Time::from_us(500));
    assert_eq!(storage.bandwidth.as_bytes_per_s(), 4_000_000_000);
    // Fewer units serve fewer reads than the paper's SSDs.
    let left = |document: &Value| {
        let checked = CheckedPlan::from_json(document).unwrap();
        let table = ProfileTable::new(checked.platform.clone());
        let mut manager = checked.manager(table).unwrap();
        manager.left(&checked.flows[0].request).unwrap()
    };
    let papers = json!({"storage_devices": 2, "flow": document["flow"]});
    assert!(left(&document) < 0.4 * left(&papers));
    let error = refused(&json!({"storage": {"units": 16}, "flow": []}));
    assert!(
        error
            .message
            .contains("must be left out unless storage_devices"),
        "{error}"
    );
}

#[test]
fn a_plan_simulates_nothing_that_its_table_has() {
    let flows = json!([
        flow(json!({})),
        flow(
            json!({"name": "b", "path": "function_call", "message_bytes": 512, "slo_gbit_per_s": 5})
        ),
    ]);
    let checked = CheckedPlan::from_json(&json!({"flow": flows})).unwrap();
    let options = SweepOptions {
        sizes: Vec::new(),
        paths: Vec::new(),
        most: 2,
        threads: 2,
    };
    let table = profile(&checked, &options, VERSION).unwrap();
    assert_eq!(table.simulated, table.entries.len() as u64);
    let text = serde_json::to_string(&table).unwrap();
    let again = ProfileFile::from_json(&serde_json::from_str(&text).unwrap(), VERSION).unwrap();
    assert_eq!(again, table);
    let none = ProfileTable::new(checked.platform.clone());
    let without = plan(&checked, none).unwrap();
    let with = plan(&checked, again.table(&checked).unwrap()).unwrap();
    assert!(without.simulated_contexts > 0);
    assert_eq!(with.simulated_contexts, 0);
    assert_eq!(
        (with.admitted, with.rejected),
        (without.admitted, without.rejected)
    );
    // Threads change nothing.
    let alone = SweepOptions {
        threads: 1,
        ..options
    };
    assert_eq!(profile(&checked, &alone, VERSION).unwrap(), table);
}

#[test]
fn a_table_may_be_swept_before_there_are_flows() {
    let empty = json!({"accelerators": ["ipsec"], "flow": []});
    let options = SweepOptions {
        sizes: [256, 1_024, 1_500].map(Bytes).to_vec(),
        paths: vec![Path::InlineRx],
        most: 2,
        threads: 2,
    };
    let before = CheckedPlan::from_json(&empty).unwrap();
    let table = profile(&before, &options, VERSION).unwrap();
    assert_eq!(table.sizes, [256, 1_024, 1_500]);
    assert!(table.combinations.is_empty());
    let flows = json!([
        flow(json!({"slo_gbit_per_s": 9})),
        flow(json!({"name": "b", "message_bytes": 300, "slo_gbit_per_s": 4})),
    ]);
    let later = CheckedPlan::from_json(&json!({"accelerators": ["ipsec"], "flow": flows})).unwrap();
    let result = plan(&later, table.table(&later).unwrap()).unwrap();
    assert_eq!(result.simulated_contexts, 0);
    let verdicts: Vec<&str> = result
        .admitted
        .iter()
        .map(|flow| flow.verdict.arcus)
        .collect();
    assert_eq!(verdicts, ["kept", "kept"]);
}

#[test]
fn a_flow_that_no_register_holds_is_refused_by_name() {
    let slow = json!({"slo_gbit_per_s": null, "slo_operations_per_s": 0.01});
    let late = json!({"slo_gbit_per_s": null, "slo_operations_per_s": 0.01, "from_us": 500});
    let burst = json!({"message_bytes": 1 << 20, "slo_burst_messages": 65_536});
    for (change, message) in [
        (slow, "rate in tokens/s = 0.01: must be from"),
        (late, "rate in tokens/s = 0.01: must be from"),
        (burst, "bucket = 68719"),
    ] {
        let other = flow(json!({"name": "other", "slo_gbit_per_s": 1}));
        let flows = json!({"flow": [other, flow(change)]});
        let checked = CheckedPlan::from_json(&flows).unwrap();
        let profiles = ProfileTable::new(checked.platform.clone());
        let text = plan(&checked, profiles).unwrap_err().message;
        assert!(text.starts_with(&format!("flow 'a': {message}")), "{text}");
    }
}

#[test]
fn a_table_of_something_else_is_refused() {
    let checked = CheckedPlan::from_json(&json!({"flow": [flow(json!({}))]})).unwrap();
    let options = SweepOptions {
        sizes: Vec::new(),
        paths: Vec::new(),
        most: 1,
        threads: 1,
    };
    let table = serde_json::to_value(profile(&checked, &options, VERSION).unwrap()).unwrap();
    let changed = |change: Value| {
        let mut table = table.clone();
        merge(&mut table, change);
        let read = ProfileFile::from_json(&table, VERSION);
        read.and_then(|file| file.table(&checked))
            .unwrap_err()
            .message
    };
    let earlier = "accelflow.arcus.profiles/2";
    assert_eq!(
        changed(json!({"schema": earlier})),
        "profiles: schema = 'accelflow.arcus.profiles/2': must be accelflow.arcus.profiles/3: run \
         `accelflow arcus profile` again"
    );
    assert_eq!(
        changed(json!({"version": null})),
        "profiles: version is left out: must be 1.2.3: run `accelflow arcus profile` again"
    );
    let text = changed(json!({"entries": [{"flows": [], "gbit_per_s": 1}]}));
    assert!(
        text.starts_with("profiles: entries[0]: flows = []: must have"),
        "{text}"
    );
    let other = json!({"platform": {"pcie_lanes": 4}, "flow": [flow(json!({}))]});
    let other = CheckedPlan::from_json(&other).unwrap();
    let file = ProfileFile::from_json(&table, VERSION).unwrap();
    let text = file.table(&other).unwrap_err().message;
    assert!(
        text.starts_with("profiles: must be of the same platform"),
        "{text}"
    );
}

#[test]
fn the_schema_states_names_ranges_and_defaults() {
    let schema: Value = serde_json::from_str(&plan_schema()).unwrap();
    let flow = &schema["properties"]["flow"]["items"];
    assert_eq!(flow["required"], json!(["name", "accelerator", "path"]));
    assert_eq!(
        flow["properties"]["message_bytes"]["maximum"],
        json!(1 << 26)
    );
    assert_eq!(
        flow["properties"]["message_bytes"]["type"],
        json!("integer")
    );
    assert_eq!(schema["properties"]["duration_us"]["default"], json!(2_000));
    assert_eq!(schema["required"], json!(["flow"]));
}

#[test]
fn a_flow_whose_queue_only_grows_misses_its_periods() {
    let starved = json!({
        "slo_gbit_per_s": 28, "slo_percent": 95, "priority": 1, "arrivals": "poisson",
        "offered_gbit_per_s": 7.5,
    });
    let first = flow(json!({"name": "first", "slo_gbit_per_s": 30}));
    let document = json!({
        "duration_us": 10_000, "oversubscription": 4, "flow": [flow(starved), first],
    });
    let checked = CheckedPlan::from_json(&document).unwrap();
    let result = plan(&checked, ProfileTable::new(checked.platform.clone())).unwrap();
    let starved = &result.admitted[0];
    assert!(starved.gbit_per_s.arcus.unwrap() < 3.0, "{starved:?}");
    // Its messages take longer than a period, but only since they wait for each other.
    let periods = starved.slo.periods.as_ref().unwrap();
    assert!(periods.kept_percent.arcus.unwrap() < 10.0, "{periods:?}");
    assert_eq!(
        (starved.verdict.arcus, periods.verdict.arcus),
        ("below", "below")
    );
}

#[test]
fn messages_that_find_a_full_queue_are_reported() {
    let bursts = |messages: u32| {
        let sent = json!({
            "arrivals": "bursts", "burst_messages": messages, "offered_gbit_per_s": 8,
        });
        let document = json!({"duration_us": 60_000, "flow": [flow(sent)]});
        let checked = CheckedPlan::from_json(&document).unwrap();
        plan(&checked, ProfileTable::new(checked.platform.clone())).unwrap()
    };
    let small = bursts(8);
    assert_eq!(
        (small.admitted[0].dropped.arcus, small.warnings),
        (0, vec![])
    );
    // The queue has room for 1,024 messages.
    let large = bursts(4_096);
    let lost = large.admitted[0].dropped.arcus;
    assert!(lost >= 3_000, "{lost}");
    let begin = format!("flow 'a': {lost} of ");
    assert!(
        large
            .warnings
            .iter()
            .any(|warning| warning.starts_with(&begin))
    );
}

/// Without headroom on the link that they share, the first promise got 18.6 of 20.
#[test]
fn an_opportunistic_flow_leaves_headroom_on_a_link_that_is_over_subscribed() {
    let promise = |name: &str, gbit_per_s: u32, priority: u8| {
        flow(json!({"name": name, "slo_gbit_per_s": gbit_per_s, "priority": priority}))
    };
    let chain = flow(json!({
        "name": "chain", "then": ["sha3-512"], "message_bytes": null, "slo_percent": 95,
        "sizes": [[256, 1], [4096, 1], [65536, 0.1]], "slo_gbit_per_s": 2,
    }));
    let rest = flow(json!({
        "name": "rest", "slo_gbit_per_s": null, "message_bytes": 9000, "policy": "opportunistic",
    }));
    let document = json!({
        "oversubscription": 1.5, "duration_us": 4_000,
        "accelerators": ["ipsec", "ipsec", "sha3-512"],
        "flow": [promise("a", 20, 0), promise("b", 20, 1), promise("c", 15, 1), chain, rest],
    });
    let result = planned(&document);
    assert!(result.rejected.is_empty(), "{:?}", result.rejected);
    assert_eq!(result.admitted[0].verdict.arcus, "kept", "{result:?}");
}

/// A full accelerator does not use up the headroom of the link, where another promise is, and the
/// opportunistic flow still gets what the link has left.
#[test]
fn an_opportunistic_flow_uses_what_a_full_accelerator_leaves_of_the_link() {
    let accelerator =
        |name: &str, gbit_per_s: u32| json!({"name": name, "peak_gbit_per_s": gbit_per_s});
    let promise = |name: &str, accelerator: &str, gbit_per_s: u32, priority: u8| {
        flow(json!({
            "name": name, "accelerator": accelerator, "slo_gbit_per_s": gbit_per_s,
            "priority": priority,
        }))
    };
    let rest = flow(json!({
        "name": "rest", "accelerator": "two", "slo_gbit_per_s": null, "message_bytes": 256,
        "policy": "opportunistic",
    }));
    let document = json!({
        "oversubscription": 1.6, "duration_us": 3_000,
        "accelerator": [accelerator("full", 20), accelerator("one", 50), accelerator("two", 50)],
        "flow": [promise("a", "one", 25, 0), promise("b", "full", 30, 1), rest],
    });
    let result = planned(&document);
    let rate = |number: usize| result.admitted[number].gbit_per_s.arcus.unwrap();
    assert_eq!(result.admitted[0].verdict.arcus, "kept", "{result:?}");
    // The link carries 53 Gbit/s of such messages, a sixteenth of which is the headroom. Without
    // it, they were given 52.2.
    let all = rate(0) + rate(1) + rate(2);
    assert!((48.5..50.3).contains(&all), "{result:?}");
}

/// Four promises of two accelerators on one link, which has five sixths of their sum. The first
/// flow leaves after `until_us`.
fn four_promises(until_us: Option<u64>) -> Value {
    let promise = |name: &str, gbit_per_s: u32, priority: u8| {
        flow(json!({"name": name, "slo_gbit_per_s": gbit_per_s, "priority": priority}))
    };
    let mut first = promise("a", 20, 0);
    if let Some(until_us) = until_us {
        merge(&mut first, json!({"until_us": until_us}));
    }
    let others = [("b", 20, 0), ("c", 15, 1), ("d", 10, 1)];
    let others = others.map(|(name, gbit_per_s, priority)| promise(name, gbit_per_s, priority));
    let flows: Vec<Value> = [vec![first], others.to_vec()].concat();
    json!({
        "oversubscription": 1.5, "duration_us": 4_000, "accelerators": ["ipsec", "ipsec"],
        "flow": flows,
    })
}

/// They moved in each control period, 84 times.
#[test]
fn flows_stay_where_other_routes_have_no_more_for_them() {
    let result = planned(&four_promises(None));
    assert_eq!(result.moves, 0, "{result:?}");
    let verdicts = result.admitted.iter().map(|flow| flow.verdict.arcus);
    let verdicts: Vec<&str> = verdicts.collect();
    assert_eq!(verdicts, ["kept", "kept", "below", "below"]);
}

/// They moved 53 times, and the second promise got 18.8 of 20.
#[test]
fn flows_take_the_place_of_one_that_leaves_and_come_to_rest() {
    let result = planned(&four_promises(Some(1_000)));
    // A flow stays twice as long after each move: in 30 periods, at most four times.
    assert!((1..=9).contains(&result.moves), "{result:?}");
    assert_eq!(result.admitted[1].verdict.arcus, "kept", "{result:?}");
    // Two thirds of the time alone with two others, for which there is room.
    let rate = |number: usize| result.admitted[number].gbit_per_s.arcus.unwrap();
    assert!(rate(2) > 12.0 && rate(3) > 8.0, "{result:?}");
}

/// Kept promises counted 35, 29 and 135 violations in 20 ms: for a message that waits for a moment
/// the whole SLO was due, and whole messages of 64 KB complete in one of five control periods.
#[test]
fn violations_are_the_periods_in_which_a_promise_was_missed() {
    let poisson = json!({"arrivals": "poisson", "offered_gbit_per_s": 9});
    let bursts = json!({"arrivals": "bursts", "burst_messages": 64, "offered_gbit_per_s": 5});
    let percent = json!({"arrivals": "poisson", "offered_gbit_per_s": 9, "slo_percent": 99});
    let large = json!({"message_bytes": 65_536, "slo_gbit_per_s": 1});
    for change in [poisson, bursts, percent, large] {
        let result = planned(&json!({"duration_us": 20_000, "flow": [flow(change.clone())]}));
        assert_eq!(result.violations, 0, "{change}");
        assert_ne!(result.admitted[0].verdict.arcus, "below", "{change}");
    }
    // Two flows are cut in each of 40 control periods, and in each of their periods of 200 us.
    let mut document = four_promises(None);
    assert_eq!(planned(&document).violations, 80);
    merge(
        &mut document["flow"][2],
        json!({"slo_percent": 90, "slo_period_us": 200}),
    );
    assert_eq!(planned(&document).violations, 60);
}

/// 10 Gbit/s in messages of 1,500 bytes use half of an accelerator of 20 Gbit/s, and of the link of
/// 57.96 Gbit/s six headers of 24 bytes each as well. They pass in segments of 1,024 and 476 bytes,
/// each of which has 24 more in a frame of a port of 50 Gbit/s.
#[test]
fn a_plan_says_how_busy_each_link_accelerator_and_port_is() {
    let planned = |path: &str, change: Value| {
        let mut change = change;
        merge(&mut change, json!({"path": path}));
        let document = json!({
            "accelerator": [{"name": "half", "peak_gbit_per_s": 20, "input_bytes": 65_536}],
            "flow": [flow(change)],
        });
        planned(&document)
    };
    let share = |result: &PlanResult, name: &str| {
        let mut rows = result.utilisation.iter();
        rows.find(|row| row.resource == name).unwrap().utilisation
    };
    let near =
        |got: f64, expected: f64| assert!((got - expected).abs() < 0.003, "{got} {expected}");
    let change = json!({"accelerator": "half"});
    let rx = planned("inline_rx", change.clone());
    near(share(&rx, "half#0").arcus, 0.5);
    near(share(&rx, "half#0").host_no_ts, 1.0);
    near(
        share(&rx, "PCIe to host").arcus,
        10.0 / 57.96 * (1_500.0 + 6.0 * 24.0) / 1_500.0,
    );
    near(share(&rx, "PCIe from host").arcus, 0.0);
    let tx = planned("inline_tx", change);
    near(
        share(&tx, "port 0 out").arcus,
        10.0 / 50.0 * 1_548.0 / 1_500.0,
    );
    near(share(&tx, "port 1 out").arcus, 0.0);
    // Two descriptors of 32 bytes and seven headers of 20 come, too, for four requests of 24.
    near(
        share(&tx, "PCIe from host").arcus,
        10.0 / 57.96 * (1_564.0 + 7.0 * 20.0) / 1_500.0,
    );
    near(
        share(&tx, "PCIe to host").arcus,
        10.0 / 57.96 * 4.0 * 24.0 / 1_500.0,
    );
    let kinds: Vec<&str> = tx.utilisation.iter().map(|row| row.kind).collect();
    assert_eq!(
        kinds,
        [
            "link",
            "link",
            "accelerator",
            "port",
            "port",
            "port",
            "port"
        ]
    );
}

/// A read keeps a unit for its median time times e^(sigma^2 / 2), and a link of 24 Gbit/s for 1,365
/// ns.
#[test]
fn a_plan_says_how_busy_the_ssds_are() {
    let read = json!({
        "name": "r", "accelerator": "storage", "path": "storage_read", "message_bytes": 4096,
        "slo_operations_per_s": 400_000,
    });
    let document = json!({"storage_devices": 2, "duration_us": 20_000, "flow": [read]});
    let result = planned(&document);
    let [.., units, links] = &result.utilisation[..] else {
        panic!("{result:?}");
    };
    assert_eq!((&units.resource[..], units.kind), ("SSD units", "storage"));
    let busy = 200e3 * 50e-6 * f64::exp(0.34 * 0.34 / 2.0) / 48.0;
    assert!(
        (units.utilisation.arcus / busy - 1.0).abs() < 0.05,
        "{units:?}"
    );
    let busy = 200e3 * 4_096.0 / 3e9;
    assert!(
        (links.utilisation.arcus / busy - 1.0).abs() < 0.03,
        "{links:?}"
    );
}
