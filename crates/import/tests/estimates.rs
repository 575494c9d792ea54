//! What imports estimate: rates in spite of wrong clocks, retries, names, and bounded samples.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_import::{Imported, Kind};
use serde_json::{Value, json};

use crate::common::{count, elastic, import, imported, lines};

const HOUR_US: i64 = 3_600_000_000;

/// A request of `front` every 10 ms, which calls `back`; `moved` is when it starts and its call is
/// answered by the clocks of their hosts.
fn calls(requests: i64, moved: impl Fn(i64) -> (i64, i64)) -> String {
    let mut text = String::new();
    for number in 0..requests {
        let (home, get) = moved(number * 10_000);
        text += &format!(
            "{number:x} 1 - front Home server {home} {} rpc.system=x
             {number:x} 2 1 front Get client {} {} rpc.system=x
             {number:x} 3 2 back Get server {get} {} rpc.system=x\n",
            home + 500,
            home + 100,
            home + 400,
            get + 200,
        );
    }
    text
}

fn many(text: &str) -> Imported {
    import(Kind::Jaeger, elastic(&lines(text)).as_bytes(), "{}").unwrap()
}

fn rate(found: &Imported) -> f64 {
    found.workload["services"][0]["rate_rps"].as_f64().unwrap()
}

#[test]
fn the_clocks_of_called_hosts_do_not_change_rates() {
    let found = many(&calls(101, |at| (at, at + HOUR_US)));
    // 101 starts in a second.
    assert!((rate(&found) - 100.0).abs() < 1e-6);
}

#[test]
fn requests_from_outside_at_one_time_have_no_rate_whenever_they_make_calls() {
    let one = calls(1, |at| (at, at + 200));
    let two = calls(2, |at| (0, at));
    for text in [one, two] {
        let found = many(&text);
        for service in found.workload["services"].as_array().unwrap() {
            assert!(service.get("rate_rps").is_none(), "{service}");
        }
        let what = "request rates, which need two requests from outside at different times";
        assert_eq!(count(&found, "dropped", what), 1);
    }
}

#[test]
fn a_start_far_from_all_others_does_not_change_rates() {
    let far = |at: i64| if at == 500_000 { at - 3 * HOUR_US } else { at };
    let found = many(&calls(1001, |at| (far(at), far(at) + 100)));
    assert!((rate(&found) - 100.0).abs() < 3.0, "{}", rate(&found));
    let what = "clock skew: requests from outside that start far from nearly all others";
    assert_eq!(count(&found, "guessed", what), 1);
    let near = many(&calls(1001, |at| (at, at + 100)));
    assert_eq!(count(&near, "guessed", what), 0);
    assert!((rate(&near) - 100.0).abs() < 1e-6);
}

#[test]
fn a_sampler_without_a_certain_share_changes_no_rates() {
    let text = |kind: &str| {
        let tags = format!("sampler.type={kind} sampler.param=0.5 rpc.system=x");
        calls(3, |at| (at, at + 100)).replace("rpc.system=x", &tags)
    };
    // Three starts in 20 ms.
    assert!((rate(&imported(&text("probabilistic"))) - 200.0).abs() < 1e-6);
    let limited = imported(&text("ratelimiting"));
    assert!((rate(&limited) - 100.0).abs() < 1e-6);
    let what = "sampling that keeps no certain share (`sampler.type`)";
    assert_eq!(count(&limited, "understood", what), 1);
    // Jaeger's sampler of rare operations stands beside the share of the others.
    let both = text("probabilistic").replacen("probabilistic", "lowerbound", 1);
    let both = imported(&both);
    assert!((rate(&both) - 200.0).abs() < 1e-6);
    let what = "sampling of some spans keeps no certain share";
    assert_eq!(count(&both, "guessed", what), 1);
}

/// Requests whose call fails `failures` times; `ends` tells whether the last attempt fails, too.
fn attempts(requests: &[(usize, bool)]) -> Value {
    let mut text = String::new();
    for (number, (failures, ends)) in requests.iter().enumerate() {
        let last = *failures;
        let error = if *ends { " error=true" } else { "" };
        text += &format!("{number:x} 1 - shop Buy server 0 9000 rpc.system=x{error}\n");
        for attempt in 0..=last {
            let (from, until) = (attempt * 1_000, attempt * 1_000 + 200);
            let error = if attempt < last || *ends {
                " error=true"
            } else {
                ""
            };
            text += &format!(
                "{number:x} {} 1 shop pay client {from} {until} rpc.system=x{error}\n",
                attempt + 2
            );
        }
    }
    imported(&text).workload["services"][0]["path"][2].take()
}

#[test]
fn retries_that_all_succeed_end_no_request() {
    // Half of the requests fail once: a third of all attempts.
    let chain = attempts(&[(0, false), (1, false), (0, false), (1, false)]);
    assert_eq!(chain["retry"]["odds"], json!(0.333333333));
    let attempts = chain["retry"]["attempts"].as_u64().unwrap();
    assert!(3f64.powf(attempts as f64).recip() <= 1e-6 && attempts <= 64);
    assert_eq!(chain["facts"]["T10"]["exception"], 0);
    assert_eq!(chain.get("odds"), None);
    // From the beginning of an attempt to that of the next are 1,000 us, and a call takes 200.
    assert_eq!(chain["retry"]["backoff_us"], json!(800.0));
}

#[test]
fn calls_that_run_out_of_attempts_are_failed_attempts_and_no_exceptions() {
    // Independent attempts, of which half fail, at most three.
    let outcomes = [
        (0, false),
        (0, false),
        (0, false),
        (0, false),
        (1, false),
        (1, false),
    ];
    let chain = attempts(&[&outcomes[..], &[(2, false), (2, true)]].concat());
    let retry = json!({"odds": 0.5, "attempts": 3, "backoff_us": 800.0});
    assert_eq!(chain["retry"], retry);
    assert_eq!(chain["facts"]["T10"]["exception"], 0);
    assert_eq!(chain.get("odds"), None);
    // Errors beyond those of the last attempts are exceptions.
    let chain = attempts(&[&outcomes[..], &[(0, true), (0, true)]].concat());
    let (odds, most) = (0.4, chain["retry"]["attempts"].as_u64().unwrap());
    assert_eq!(chain["retry"]["odds"], json!(odds));
    let given_up = f64::powi(odds, most as i32);
    let exception = chain["odds"]["T10"]["exception"].as_f64().unwrap_or(0.0);
    let ended = given_up + (1.0 - given_up) * exception;
    assert!((ended - 0.25).abs() < 1e-6, "{chain}");
}

#[test]
fn shapes_and_operations_have_different_names() {
    let text = "1 1 - shop v1 server 0 500 rpc.system=x
                2 1 - shop v1 server 1000 1500 rpc.system=x
                2 2 1 shop pay client 1100 1200 rpc.system=x
                3 1 - shop v1.2 server 2000 2500 rpc.system=x";
    let found = imported(text);
    let services = found.workload["services"].as_array().unwrap();
    let names: Vec<&str> = services
        .iter()
        .map(|s| s["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["v1", "v1.2-2", "v1.2"]);
}

#[test]
fn an_operation_without_a_path_is_a_wait() {
    let mut text = "1 1 - shop Home server 0 9000 rpc.system=x
                    1 2 1 shop Fan client 100 8000 rpc.system=x
                    1 3 2 fan Fan server 200 7000 rpc.system=x\n"
        .to_owned();
    for call in 0..300 {
        let from = 300 + call * 10;
        text += &format!(
            "1 {} 3 fan pay client {from} {} rpc.system=x\n",
            call + 4,
            from + 5
        );
    }
    let found = imported(&text);
    let chain = &found.workload["services"][0]["path"][2];
    assert_eq!(chain.get("calls"), None, "{chain}");
    assert_eq!(chain["waits"]["T10"], json!({"constant_us": 7900.0}));
    assert_eq!(found.workload["services"].as_array().unwrap().len(), 1);
}

#[test]
fn a_simulated_call_keeps_its_wait_for_when_it_is_not_simulated() {
    let found = imported(&calls(3, |at| (at, at + 150)));
    let chain = &found.workload["services"][0]["path"][2];
    assert_eq!(chain["calls"], "Get");
    assert_eq!(chain["waits"]["T10"], json!({"constant_us": 300.0}));
}

#[test]
fn equal_parallel_calls_are_sampled_evenly() {
    let mut text = String::new();
    for number in 0..600 {
        text += &format!(
            "{number:x} 1 - shop Buy server 0 9500 rpc.system=x
             {number:x} 2 1 shop pay client 100 1100 rpc.system=x
             {number:x} 3 1 shop pay client 100 9100 rpc.system=x\n"
        );
    }
    let found = many(&text);
    let chain = &found.workload["services"][0]["path"][2];
    assert_eq!(chain["times"], 2);
    let table = chain["waits"]["T10"]["quantiles_us"].as_array().unwrap();
    let at = |p: f64| table.iter().find(|row| row[0] == json!(p)).unwrap()[1].as_f64();
    assert_eq!((at(0.4), at(0.6)), (Some(1000.0), Some(9000.0)));
}

#[test]
fn what_is_left_out_is_counted_for_each_request() {
    let mut text = String::new();
    for number in 0..5 {
        text += &format!("{number:x} 1 - shop Buy server 0 9500 rpc.system=x\n");
        for call in 0..70 {
            text += &format!(
                "{number:x} {} 1 shop pay client 100 200 rpc.system=x rpc.request.size=9\n",
                call + 2
            );
        }
    }
    let found = many(&text);
    assert_eq!(
        count(&found, "dropped", "more than 64 calls in parallel"),
        6 * 5
    );
    let half = "calls that state the size of one of their two messages only";
    assert_eq!(count(&found, "dropped", half), 64 * 5);
}

/// The time from the start of a path to its end, if its waits are constant and its calls are not
/// simulated: its application times and the longest waits of each phase.
fn response_us(path: &Value) -> f64 {
    let wait = |chain: &Value| {
        let waited = chain.get("detached").is_none().then_some(&chain["waits"]);
        let mut waits = waited.and_then(Value::as_object).into_iter().flatten();
        waits
            .find_map(|(_, wait)| wait["constant_us"].as_f64())
            .unwrap_or(0.0)
    };
    let phase = |phase: &Value| {
        let one = std::slice::from_ref(phase);
        let chains = phase["parallel"].as_array().map_or(one, Vec::as_slice);
        let longest = chains.iter().map(wait).fold(0.0, f64::max);
        phase["cpu_us"].as_f64().unwrap_or(longest)
    };
    path.as_array().unwrap().iter().map(phase).sum()
}

#[test]
fn parallel_calls_that_start_one_after_another_keep_the_response_time() {
    let same = "1 1 - front Home server 0 1800 rpc.system=x
                1 2 1 front Fetch client 100 1100 rpc.system=x
                1 3 1 front Fetch client 300 1300 rpc.system=x
                1 4 1 front Fetch client 700 1700 rpc.system=x";
    // The last call is the shortest.
    let other = same
        .replace("Fetch client 700 1700", "Last client 700 1700")
        .replace("Fetch client 300 1300", "Middle client 300 1650");
    let sent = "1 1 - front Home server 0 1800 rpc.system=x
                1 2 1 front Log client 100 110 rpc.system=x accelflow.detached=true
                1 3 1 front Fetch client 300 1700 rpc.system=x";
    let what = "groups of parallel calls that start one after another";
    for (text, groups) in [(same, 1), (&other, 1), (sent, 0)] {
        let found = imported(text);
        let path = &found.workload["services"][0]["path"];
        assert!((response_us(path) - 1800.0).abs() < 1e-6, "{path:#}");
        assert_eq!(count(&found, "understood", what), groups);
    }
    // Calls that start together need no time between their starts, nor do marked ones.
    let together = same
        .replace("300 1300", "100 1300")
        .replace("700 1700", "100 1700");
    assert_eq!(count(&imported(&together), "understood", what), 0);
    let marked = format!("{same}\n1 5 1 front logic internal 0 90 accelflow.application=true");
    let found = imported(&marked);
    assert_eq!(count(&found, "understood", what), 0);
    assert_eq!(found.workload["services"][0]["path"][1]["cpu_us"], 90.0);
}

#[test]
fn each_service_has_the_mean_and_the_p99_of_its_requests() {
    // 1 us, 2 us ... of requests without a call, and some that call.
    let text = |requests: i64| {
        let mut text = String::new();
        for number in 1..=requests {
            let at = number * 10_000;
            let end = at + number;
            text += &format!("{number:x} 1 - front Home server {at} {end} rpc.system=x\n");
        }
        for number in 1..=2 {
            let (at, id) = (number * 10_000 + 5_000, number + 0xf_0000);
            text += &format!(
                "{id:x} 1 - front Home server {at} {} rpc.system=x
                 {id:x} 2 1 front Get client {at} {} rpc.system=x\n",
                at + 70 + number,
                at + 50
            );
        }
        many(&text)
    };
    for (requests, near) in [(100, 0.0), (2_000, 0.006)] {
        let found = text(requests);
        let rows = found.report["times"].as_array().unwrap();
        assert_eq!(rows.len(), 2);
        let of = |row: usize, key: &str| rows[row][key].as_f64().unwrap();
        assert_eq!(rows[0]["service"], "Home");
        assert_eq!(rows[1]["operation"], "Home");
        assert_eq!(of(0, "requests"), requests as f64);
        assert_eq!(of(0, "mean_us"), (requests + 1) as f64 / 2.0);
        let p99 = of(0, "p99_us") / (requests * 99 / 100) as f64;
        assert!((p99 - 1.0).abs() <= near, "{p99}");
        assert_eq!((of(1, "mean_us"), of(1, "p99_us")), (71.5, 72.0));
    }
}
