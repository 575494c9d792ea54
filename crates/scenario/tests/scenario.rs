//! Scenarios: read, written, checked, hashed and run.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use accelflow_scenario::{
    Arrivals, Choice, CostSource, Costs, FactSource, Limit, Limiter, MAX_SAMPLES, OrOwn, Remote,
    RunOptions, Scenario, Setting, Source, TimeLimiter, allowed, choices, json_schema,
};
use accelflow_shaping::Unit;
use accelflow_sim::compare::Placement;
use accelflow_sim::config::DispatchPolicy;
use accelflow_workload::sizes::SizePreset;
use accelflow_workload::suites::Suite;
use proptest::collection::btree_map;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

fn one_of<T: Choice + std::fmt::Debug>() -> impl Strategy<Value = T> {
    prop::sample::select(T::ALL)
}

fn limiters() -> impl Strategy<Value = Vec<Limit>> {
    let register = 1..=u64::from(u32::MAX);
    let limiter = |unit| {
        let registers = (register.clone(), register.clone(), register.clone());
        registers.prop_map(move |(refill, bucket, interval)| {
            Limit::Registers(Limiter {
                unit,
                refill,
                bucket,
                interval,
            })
        })
    };
    let time = (1e-9..400.0_f64, option::of(1e-9..4.0_f64)).prop_map(|(rate, burst)| {
        Limit::Time(TimeLimiter {
            accelerator_s_per_s: rate,
            burst_accelerator_s: burst,
        })
    });
    let all = (limiter(Unit::Bytes), limiter(Unit::Operations), time).prop_map(<[Limit; 3]>::from);
    let some = all.prop_flat_map(|all| prop::sample::subsequence(all.to_vec(), 1..=3));
    some.prop_shuffle()
}

fn service() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["CPost", "UniqId", "Login"]).prop_map(str::to_owned)
}

prop_compose! {
    fn asked()(
        suite in one_of::<Suite>(),
        placement in one_of::<Placement>(),
        arrivals in option::of(one_of::<Arrivals>()),
        rate_rps in option::of(0.001..1e9_f64),
        rates in option::of("[a-z]{1,8}"),
        facts in option::of(one_of::<FactSource>()),
        requests in 100..=1_000_000_000_u64,
        warmup in option::of(0..=1_000_000_000_u64),
        by_rate in option::of(any::<bool>()),
        seed in any::<u64>(),
        profile in option::of(one_of::<CostSource>()),
        tcp_cost_ns in option::of(1e-3..1e9_f64),
    ) -> Scenario {
        Scenario {
            workload: Source::Suite(suite), placement, arrivals, rate_rps, rates, facts, requests, warmup, by_rate, seed, profile,
            tcp_cost_ns, ..Scenario::default()
        }
    }
}

prop_compose! {
    fn scenarios()(
        asked in asked(),
        recording in option::of(".{0,20}"),
        remote in option::of(one_of::<Remote>()),
        sizes in option::of(one_of::<SizePreset>()),
        clock in option::of(0.5..5.0_f64),
        balancing in option::of(prop::sample::select(vec!["random", "round_robin"])),
        slo_us in btree_map(service(), 1e-6..1e9_f64, 0..3),
        policy in option::of(one_of::<DispatchPolicy>()),
        slo_factor in option::of(1e-6..1e6_f64),
        tenants in btree_map(service(), any::<u16>(), 0..3),
        priorities in btree_map(service(), any::<u8>(), 0..3),
        shaping in btree_map(any::<u16>(), limiters(), 0..3),
        services in prop::sample::subsequence(vec!["CPost", "UniqId", "Login"], 0..3),
        orchestrators in prop::sample::subsequence(vec!["relief", "AccelFlow", "Non-acc"], 0..3),
    ) -> Scenario {
        let clock = clock.map(|ghz| ("core.clock_ghz".to_owned(), Setting::Number(ghz)));
        let name = |name: &str| ("core.balancing".to_owned(), Setting::Name(name.to_owned()));
        Scenario {
            recording, remote, sizes, slo_us, policy, slo_factor, tenants, priorities, shaping,
            config: clock.into_iter().chain(balancing.map(name)).collect(),
            services: services.into_iter().map(str::to_owned).collect(),
            orchestrators: orchestrators.into_iter().map(str::to_owned).collect(),
            ..asked
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_scenario_that_was_written_is_read_as_it_was(scenario in scenarios()) {
        let text = scenario.to_json().unwrap();
        prop_assert_eq!(Scenario::from_json(&text).unwrap(), scenario);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*", field in "[a-z_]{1,12}", number in any::<f64>()) {
        let _ = Scenario::from_json(&text);
        let _ = Scenario::from_json(&json!({ field: number }).to_string());
    }
}

fn with(field: &str, value: Value) -> String {
    let mut document = json!({"profile": "paper"});
    document[field] = value;
    let scenario = Scenario::from_json(&document.to_string());
    match scenario.and_then(|scenario| scenario.check().map(drop)) {
        Ok(()) => panic!("{document} is accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn each_field_refuses_what_it_cannot_be() {
    let refusals: Vec<(String, Value, String)> =
        serde_json::from_str(include_str!("refusals.json")).unwrap();
    for (field, value, message) in &refusals {
        let text = with(field, value.clone());
        assert!(text.starts_with(message.as_str()), "{text}\n{message}");
    }
    assert!(with("placment", json!(1)).ends_with(", did you mean placement?"));
}

#[test]
fn json_has_the_content_of_a_workload_file_and_not_its_name() {
    for name in ["shop.toml", "shop.json"] {
        let text = with("workload", json!(name));
        assert_eq!(
            text,
            format!(
                "workload = '{name}': must be socialnetwork, hotelreservation, mediaservices, \
                 trainticket, serverless, usuite or an object with the content of a workload file"
            )
        );
    }
}

#[test]
fn numbers_that_json_does_not_have_are_refused_too() {
    for (rate_rps, slo_factor, message) in [
        (
            Some(f64::NAN),
            None,
            "rate_rps = NaN: must be a number from 0.001 to 1e9",
        ),
        (
            None,
            Some(f64::INFINITY),
            "slo_factor = inf: must be a number above 0",
        ),
    ] {
        let scenario = Scenario {
            rate_rps,
            slo_factor,
            ..Scenario::default()
        };
        let text = scenario.check().err().unwrap().to_string();
        assert!(text.starts_with(message), "{text}");
    }
}

#[test]
fn contradicting_fields_are_refused() {
    for (document, message) in [
        (
            json!({"workload": "trainticket", "rates": "alibaba"}),
            "rates = 'alibaba': must be equal (the rates that trainticket has)",
        ),
        (
            json!({"workload": "serverless", "sizes": "socialnetwork"}),
            "sizes = 'socialnetwork': must be fleet, fleet_whole or hypercompressbench for the \
             workload serverless",
        ),
        (
            json!({"workload": "mediaservices", "profile": "measured"}),
            "profile = 'measured': must be paper or left out for the workload mediaservices: \
             measured costs exist only for socialnetwork, or in a recording",
        ),
        (
            json!({
                "workload": "mediaservices", "profile": "measured", "recording": "a recording",
            }),
            "profile = 'measured': must be left out for the workload mediaservices if a recording is \
             given: other measured costs exist only for socialnetwork",
        ),
        (
            json!({
                "workload": "mediaservices", "profile": "paper", "recording": "a recording",
            }),
            "profile = 'paper': must be left out if a recording is given",
        ),
    ] {
        let scenario = Scenario::from_json(&document.to_string()).unwrap();
        assert_eq!(scenario.check().err().unwrap().to_string(), message);
    }
}

#[test]
fn defaults_are_filled_in() {
    let resolved = |document: Value| {
        let scenario = Scenario::from_json(&document.to_string()).unwrap();
        scenario.check().unwrap().resolved().clone()
    };
    let measured = resolved(json!({}));
    assert_eq!(
        (measured.costs, &*measured.rates),
        (Costs::Measured, "equal")
    );
    assert_eq!((measured.rate_rps, measured.by_rate), (13_400.0, false));
    assert_eq!(
        (measured.requests, measured.warmup_requests),
        (20_000, 2_000)
    );
    let warm = resolved(json!({"requests": 500, "warmup": 7}));
    assert_eq!((warm.requests, warm.warmup_requests), (500, 7));
    assert_eq!(measured.sizes, OrOwn::Chosen(SizePreset::SocialNetwork));
    assert_eq!(
        (measured.orchestrators.len(), measured.services.len()),
        (6, 8)
    );
    let paper = resolved(json!({"profile": "paper"}));
    assert_eq!((paper.costs, &*paper.rates), (Costs::Paper, "alibaba"));
    assert!(paper.by_rate);
    let stated = resolved(json!({"profile": "paper", "rate_rps": 2_000}));
    assert_eq!((&*stated.rates, stated.by_rate), ("equal", false));
    let functions = resolved(json!({"workload": "serverless"}));
    assert_eq!((functions.costs, functions.rate_rps), (Costs::Paper, 800.0));
    assert_eq!(functions.sizes, OrOwn::Chosen(SizePreset::Fleet));
    let recorded = resolved(json!({"recording": "a recording"}));
    assert_eq!(recorded.costs, Costs::Recording);
    let settings = json!({"config": {"core.balancing": "Random"}, "policy": "edf"});
    let numbers = resolved(settings).config;
    let expected = [("core.balancing", 1.0), ("scheduling.policy", 3.0)];
    assert_eq!(
        numbers,
        expected.map(|(key, value)| (key.to_owned(), value)).into()
    );
}

fn hash(document: Value) -> String {
    let scenario = Scenario::from_json(&document.to_string()).unwrap();
    scenario.check().unwrap().hash().unwrap()
}

#[test]
fn a_hash_is_of_what_results_depend_on() {
    let base = hash(json!({}));
    for same in [
        json!({"$schema": "scenario.schema.json", "schema": "accelflow.scenario/1"}),
        json!({"profile": "measured", "rate_rps": 13_400, "by_rate": false}),
        json!({"orchestrators": ["Non-acc", "CPU-Centric", "RELIEF", "Cohort", "AccelFlow", "Ideal"]}),
        json!({"services": ["UniqId", "ReadH", "Follow", "CPost", "RegUsr", "StoreP", "Login", "CUrls"]}),
        json!({"config": {"core.balancing": "round_robin", "core.count": 36}}),
    ] {
        assert_eq!(hash(same.clone()), base, "{same}");
    }
    let mut found = vec![base];
    for other in [
        json!({"seed": 2}),
        json!({"profile": "paper"}),
        json!({"recording": "one"}),
        json!({"recording": "another"}),
        json!({"orchestrators": ["relief", "accelflow"]}),
        json!({"orchestrators": ["accelflow", "relief"]}),
        json!({"config": {"core.count": 35}}),
        json!({"slo_factor": null}),
        json!({"shaping": {"1": [{"unit": "bytes", "refill": 1, "bucket": 1, "interval": 1}]}}),
        json!({"shaping": {"1": [{"accelerator_s_per_s": 0.5}]}}),
        json!({"shaping": {"1": [{"accelerator_s_per_s": 0.5, "burst_accelerator_s": 0.1}]}}),
    ] {
        found.push(hash(other));
    }
    let distinct: std::collections::BTreeSet<&String> = found.iter().collect();
    assert_eq!(distinct.len(), found.len());
    assert!(found.iter().all(|hash| hash.len() == 64));
}

#[test]
fn a_negative_zero_hashes_as_zero() {
    let of = |value: f64| hash(json!({"config": {"core.enqueue_ns": value}}));
    assert_eq!(of(-0.0), of(0.0));
    assert_ne!(of(0.0), of(1.0));
}

#[test]
fn canonical_json_is_sorted_and_does_not_change() {
    let services = Suite::Serverless.services().unwrap();
    let first = services[0].name().to_owned();
    let scenario = Scenario {
        workload: Source::Suite(Suite::Serverless),
        services: vec![first.clone()],
        orchestrators: vec!["AccelFlow".to_owned()],
        requests: 200,
        ..Scenario::default()
    };
    let expected = format!(
        r#"{{"arrivals":"poisson","by_rate":false,"config":{{}},"costs":"paper","facts":"common","orchestrators":["accelflow"],"placement":"colocated","priorities":{{}},"rate_rps":800.0,"rates":"equal","recording_sha256":null,"remote":"short","requests":200,"schema":"accelflow.scenario/1","seed":1,"services":["{first}"],"shaping":{{}},"sizes":"fleet","slo_factor":5.0,"slo_us":{{}},"tcp_cost_ns":7000.0,"tenants":{{}},"warmup_requests":20,"workload":"serverless"}}"#
    );
    assert_eq!(
        scenario.check().unwrap().canonical_json().unwrap(),
        expected
    );
}

#[test]
fn the_schema_says_what_the_rules_say() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let properties = schema["properties"].as_object().unwrap();
    assert_eq!(schema["additionalProperties"], json!(false));
    let written = serde_json::to_value(Scenario::default()).unwrap();
    for (field, default) in written.as_object().unwrap() {
        assert!(allowed(field).is_some(), "{field} has no rule");
        assert_eq!(&properties[field]["default"], default, "{field}");
        assert!(properties[field]["description"].is_string(), "{field}");
    }
    let fields: Vec<&String> = properties.keys().filter(|key| *key != "$schema").collect();
    assert_eq!(fields.len(), written.as_object().unwrap().len());
    // Workloads may also be files, and have rates of their own.
    let closed = choices().into_iter();
    let closed = closed.filter(|(field, _)| !["workload", "rates"].contains(field));
    for (field, names) in closed {
        let of = &properties[field];
        let mut expected: Vec<Value> = names.into_iter().map(Value::from).collect();
        if of["default"].is_null() {
            expected.push(Value::Null);
        }
        assert_eq!(of["enum"], Value::from(expected), "{field}");
    }
    for (field, least, most) in [
        ("rate_rps", 0.001, 1e9),
        ("requests", 100.0, 1e9),
        ("tcp_cost_ns", 0.001, 1e9),
        ("slo_factor", 0.0, 1e6),
    ] {
        let of = &properties[field];
        let bottom = of.get("minimum").or(of.get("exclusiveMinimum")).unwrap();
        assert_eq!(bottom.as_f64(), Some(least), "{field}");
        assert_eq!(of["maximum"].as_f64(), Some(most), "{field}");
    }
}

#[test]
fn the_committed_schema_is_up_to_date() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/schemas/scenario.schema.json"
    );
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(path, json_schema()).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(
        json_schema() == committed,
        "set UPDATE_SCHEMAS=1 to write {path} anew"
    );
}

fn small() -> Scenario {
    Scenario {
        profile: Some(CostSource::Paper),
        orchestrators: vec!["accelflow".to_owned()],
        services: vec!["UniqId".to_owned()],
        rates: Some("equal".to_owned()),
        requests: 100,
        ..Scenario::default()
    }
}

#[test]
fn a_checked_scenario_runs() {
    let options = RunOptions::default();
    let checked = small().check().unwrap();
    let outcome = checked.run(&options, &|_, _| true).unwrap().unwrap();
    assert_eq!(outcome.systems.len(), 1);
    let found = outcome.to_json();
    let service = &found["systems"][0]["services"][0];
    assert_eq!(
        (&service["service"], &service["completed"]),
        (&json!("UniqId"), &json!(90))
    );
    assert_eq!(outcome.tails().count(), 0);
    let tails = RunOptions {
        tail_share: 0.1,
        ..options
    };
    let outcome = checked.run(&tails, &|_, _| true).unwrap().unwrap();
    let (system, service, times) = outcome.tails().next().unwrap();
    assert_eq!((system, service, times.len()), (0, 0, 9));
    assert!(times.is_sorted_by(|longer, time| longer >= time));
    let wrong = RunOptions {
        tail_share: f64::NAN,
        ..options
    };
    let text = checked.run(&wrong, &|_, _| true).err().unwrap().to_string();
    assert_eq!(text, "tail_share = NaN: must be a number from 0 to 1");
    let measured = Scenario {
        profile: None,
        ..small()
    };
    let refused = measured.check().unwrap().run(&options, &|_, _| true);
    assert!(
        refused
            .err()
            .unwrap()
            .to_string()
            .contains("must be given with a recording")
    );
}

#[test]
fn bins_are_within_what_results_say() {
    let checked = small().check().unwrap();
    let run = |exact| {
        let options = RunOptions {
            tail_share: 0.1,
            exact,
            ..RunOptions::default()
        };
        let outcome = checked.run(&options, &|_, _| true).unwrap().unwrap();
        outcome.to_json()
    };
    let (found, binned) = (run(None), run(Some(false)));
    assert_eq!(binned["percentiles"]["relative_error"], 1.0 / 2048.0);
    assert!(found.get("percentiles").is_none());
    let (exact, row) = (
        &found["systems"][0]["services"][0],
        &binned["systems"][0]["services"][0],
    );
    assert_eq!(row["mean_us"], exact["mean_us"]);
    for name in ["p50_us", "p99_us"] {
        let (near, truth) = (row[name].as_f64().unwrap(), exact[name].as_f64().unwrap());
        assert!(
            (near - truth).abs() <= truth / 2048.0,
            "{name}: {near} for {truth}"
        );
    }
    let counts = row["tail_bins"].as_array().unwrap().iter();
    assert!(counts.map(|bin| bin[1].as_u64().unwrap()).sum::<u64>() >= 9);
}

#[test]
fn use_over_time_is_in_results_that_are_asked_for_it() {
    let checked = small().check().unwrap();
    let found = |use_intervals| {
        let options = RunOptions {
            use_intervals,
            ..RunOptions::default()
        };
        checked.run(&options, &|_, _| true)
    };
    let (without, with) = (found(0).unwrap().unwrap(), found(8).unwrap().unwrap());
    let (without, mut with) = (without.to_json(), with.to_json());
    let used = with.as_object_mut().unwrap().remove("use_over_time");
    assert_eq!(with, without);
    let used = used.unwrap();
    assert_eq!(used.as_array().unwrap().len(), 1);
    assert_eq!(
        (&used[0]["system"], &used[0]["services"]),
        (&json!(0), &json!(["UniqId"]))
    );
    let count = used[0]["from_us"].as_array().unwrap().len();
    assert!((1..=8).contains(&count), "{count}");
    for (name, shares) in used[0]["shares"].as_object().unwrap() {
        assert_eq!(shares.as_array().unwrap().len(), count, "{name}");
    }
    let refused = found(10_001).err().unwrap().to_string();
    assert_eq!(refused, "use_intervals = 10001: must be at most 10000");
}

#[test]
fn samples_are_kept_up_to_a_bound() {
    let checked = small().check().unwrap();
    let kept = |samples| {
        let options = RunOptions {
            samples,
            ..RunOptions::default()
        };
        let outcome = checked.run(&options, &|_, _| true).unwrap().unwrap();
        outcome.systems[0].services[0].samples.len()
    };
    assert_eq!([0, 9, u64::MAX].map(kept), [0, 9, 90]);
    // 90 requests in each of so many runs are one run too many.
    let runs = MAX_SAMPLES / 90;
    assert!(checked.check_samples(u64::MAX, runs).is_ok());
    let refused = |samples| checked.check_samples(samples, runs + 1).err().unwrap();
    let rule = "must be at most 89 per service: all systems (1), services (1) and runs (22223: \
                seeds times chips) together keep at most 2000000 samples";
    let text = refused(u64::MAX).to_string();
    assert_eq!(text, format!("samples = all: {rule}"));
    assert_eq!(refused(90).to_string(), format!("samples = 90: {rule}"));
    assert!(checked.check_samples(89, runs + 1).is_ok());
}

#[test]
fn a_run_that_is_told_to_stop_has_no_outcome() {
    let options = RunOptions::default();
    let long = Scenario {
        requests: 1_000_000,
        ..small()
    };
    let outcome = long.check().unwrap().run(&options, &|_, _| false).unwrap();
    assert!(outcome.is_none());
}

#[test]
fn maps_have_one_order() {
    let tenants: BTreeMap<String, u16> = [("UniqId".to_owned(), 1), ("CPost".to_owned(), 2)].into();
    let scenario = Scenario { tenants, ..small() };
    let text = scenario.to_json().unwrap();
    assert!(text.find("CPost").unwrap() < text.rfind("UniqId").unwrap());
}
