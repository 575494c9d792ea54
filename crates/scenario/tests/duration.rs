//! Simulations that cover too long a time are refused or end with an error.

#![allow(clippy::unwrap_used)]

use accelflow_scenario::{RunOptions, Scenario};
use serde_json::{Value, json};

fn scenario(changes: &Value) -> Scenario {
    let mut document = json!({
        "profile": "paper", "services": ["UniqId"], "orchestrators": ["AccelFlow"],
        "requests": 200, "warmup": 20,
    });
    for (field, value) in changes.as_object().unwrap() {
        document[field] = value.clone();
    }
    Scenario::from_json(&document.to_string()).unwrap()
}

#[test]
fn more_requests_than_arrive_in_fifty_days_are_refused() {
    let rare = |requests: u64| {
        let checked = scenario(&json!({"rate_rps": 0.001, "requests": requests})).check();
        checked.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(rare(4320), Ok(()));
    assert_eq!(
        rare(4321).unwrap_err(),
        "requests = 4321: must be at most 4320: the requests to UniqId then arrive in 50 days, at \
         0.001 a second"
    );
}

/// A workload of arrival times, whose second service has one request in 100 s, with another
/// process.
fn timed(name: &str, requests: u64, by_rate: bool) -> Result<(), String> {
    let document = json!({
        "workload": times(), "services": [name], "orchestrators": ["AccelFlow"],
        "arrivals": "poisson", "requests": requests, "by_rate": by_rate, "warmup": 20,
    });
    let scenario = Scenario::from_json(&document.to_string()).unwrap();
    scenario
        .check()
        .map(drop)
        .map_err(|error| error.to_string())
}

/// A workload of arrival times, whose second service has one request in 100 s.
fn times() -> Value {
    let service = |name: &str, times_us: Value| {
        json!({
            "name": name, "arrivals": {"process": "times", "times_us": times_us},
            "path": [
                {"trace": "T1", "facts": {"T1": {"compressed": 0}}}, {"cpu_us": 5}, {"trace": "T2"},
            ],
        })
    };
    let often: Vec<u64> = (1..=1_000).map(|number| number * 1_000).collect();
    json!({
        "schema": "accelflow.workload/1", "name": "timed",
        "services": [service("Often", json!(often)), service("Rare", json!([1e8, 2e8]))],
    })
}

#[test]
fn each_service_with_arrival_times_has_a_counted_request() {
    let checked = |requests: u64| {
        let document = json!({
            "workload": times(), "services": ["Often", "Rare"], "orchestrators": ["AccelFlow"],
            "by_rate": true, "requests": requests,
        });
        let scenario = Scenario::from_json(&document.to_string()).unwrap();
        scenario.check().map_err(|error| error.to_string())
    };
    let few = checked(20_000).map(drop).unwrap_err();
    assert!(
        few.starts_with("requests = 20000: must be at least ") && few.contains("Rare gets only"),
        "{few}"
    );
    let enough = few.split(' ').nth(7).unwrap().trim_end_matches(':');
    let checked = checked(enough.replace(',', "").parse().unwrap()).unwrap();
    let result = checked.run(&RunOptions::default(), &|_, _| true).unwrap();
    let counts = &result.unwrap().to_json()["systems"][0]["services"];
    assert!(counts[1]["completed"].as_u64().unwrap() >= 1, "{counts}");
}

#[test]
fn arrival_times_do_not_count_if_the_scenario_replaces_them() {
    assert_eq!(timed("Often", 200, true), Ok(()));
    let few = timed("Rare", 200, true).unwrap_err();
    assert!(
        few.starts_with("requests = 200: must be at least "),
        "{few}"
    );
    let long = timed("Rare", 1_000_000, false).unwrap_err();
    let start = "requests = 1000000: must be at most ";
    assert!(
        long.starts_with(start) && long.contains("then arrive in 50 days"),
        "{long}"
    );
}

#[test]
fn utilizations_of_long_simulations_are_exact() {
    let long = json!({"rate_rps": 0.001, "config": {"accelerator.pes": 1024}});
    let checked = scenario(&long).check().unwrap();
    let result = checked
        .run(&RunOptions::default(), &|_, _| true)
        .unwrap()
        .unwrap();
    let service = &result.to_json()["systems"][0]["services"][0];
    let used = service["core_utilization"].as_f64().unwrap();
    assert!(used > 0.0 && used < 1e-6, "{used}");
}

/// A shaper that lets one operation pass in hours.
fn shaped(requests: u64) -> Scenario {
    let limit = json!({"0": [{"accelerator_s_per_s": 1e-9, "burst_accelerator_s": 1e-9}]});
    scenario(&json!({"shaping": limit, "requests": requests}))
}

#[test]
fn sums_of_response_times_beyond_the_longest_time_are_exact() {
    let checked = shaped(200).check().unwrap();
    let result = checked.run(&RunOptions::default(), &|_, _| true);
    let service = &result.unwrap().unwrap().to_json()["systems"][0]["services"][0];
    let parts = service["spent_us"].as_object().unwrap();
    let spent_us: f64 = parts.values().map(|part| part.as_f64().unwrap()).sum();
    let mean_us = service["mean_us"].as_f64().unwrap();
    assert!(mean_us * 92.0 > u64::MAX as f64 / 1e6, "{mean_us}");
    assert!(
        (spent_us / mean_us - 1.0).abs() < 1e-12,
        "{spent_us} {mean_us}"
    );
}

#[test]
fn a_simulation_of_more_than_53_days_ends_with_an_error() {
    let checked = shaped(2_000).check().unwrap();
    let error = checked
        .run(&RunOptions::default(), &|_, _| true)
        .unwrap_err();
    let start = "simulated time = more than 53 days: must be less";
    assert!(error.to_string().starts_with(start), "{error}");
}
