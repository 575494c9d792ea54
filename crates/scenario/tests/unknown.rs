//! Results that cannot be known: SLOs of services that an idle server never answers, and rates
//! without a span of time.

#![allow(clippy::unwrap_used)]

use accelflow_scenario::{RunOptions, Scenario};
use serde_json::{Value, json};

fn ran(scenario: &Value) -> Value {
    let checked = Scenario::from_json(&scenario.to_string())
        .unwrap()
        .check()
        .unwrap();
    let result = checked.run(&RunOptions::default(), &|_, _| true);
    result.unwrap().unwrap().to_json()
}

fn services(result: &Value, system: usize) -> &[Value] {
    result["systems"][system]["services"].as_array().unwrap()
}

#[test]
fn a_service_that_the_idle_server_never_answers_says_so_and_is_late() {
    // Login awaits messages of other servers, which take longer than the time-out.
    let result = ran(&json!({
        "profile": "paper", "services": ["Login", "UniqId"], "slo_factor": 5.0,
        "orchestrators": ["AccelFlow", "RELIEF"], "requests": 200, "warmup": 20, "rates": "equal",
        "config": {"tcp.timeout_us": 1},
    }));
    for system in 0..2 {
        let [login, uniq_id] = services(&result, system) else {
            panic!("{result}");
        };
        assert!(uniq_id["slo"]["us"].as_f64().unwrap() > 0.0);
        assert!(uniq_id["slo"].get("idle_unanswered").is_none());
        // Requests that keep up the load until the end are not counted, and time out, too.
        assert_eq!(login["completed"], 0);
        assert!(login["timed_out"].as_u64().unwrap() >= 200);
        assert_eq!(
            login["slo"],
            json!({"us": null, "requests": 180, "missed": 180, "idle_unanswered": true})
        );
    }
}

#[test]
fn a_stated_slo_or_none_is_not_one_of_an_idle_server() {
    for (slos, us, counted) in [
        (json!({"Login": 70.0}), json!(70.0), 180),
        (json!({}), json!(null), 0),
    ] {
        let result = ran(&json!({
            "profile": "paper", "services": ["Login"], "slo_factor": null, "slo_us": slos,
            "orchestrators": ["AccelFlow"], "requests": 200, "warmup": 20, "rates": "equal",
            "config": {"tcp.timeout_us": 1},
        }));
        let slo = json!({"us": us, "requests": counted, "missed": counted});
        assert_eq!(services(&result, 0)[0]["slo"], slo);
    }
}

#[test]
fn rates_without_a_span_of_time_are_null() {
    let rates = |warmup: u64| {
        let result = ran(&json!({
            "profile": "paper", "services": ["UniqId"], "orchestrators": ["AccelFlow"],
            "requests": 100, "warmup": warmup, "rates": "equal",
        }));
        let service = services(&result, 0)[0].clone();
        assert_eq!(service["completed"], 100 - warmup);
        ["offered_rps", "throughput_rps"].map(|key| service[key].as_f64())
    };
    assert_eq!(rates(99), [None, None]);
    assert!(rates(98)[0].unwrap() > 0.0);
}
