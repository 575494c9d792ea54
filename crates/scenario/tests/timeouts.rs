//! Requests that end without a response, since an answer does not come in time: single requests and
//! spans show the wait that ended them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_scenario::{Checked, RunOptions, Scenario, Setting, Source, Watched, Which};
use accelflow_workload::file::read;
use serde_json::{Value, json};

/// A service that calls another one: two calls at the same time, and one that it does not wait for.
const CALLER: &str = r#"
schema = "accelflow.workload/1"
name = "caller"

[defaults]
sizes = { fixed_bytes = 512 }
costs = { source = "operations", TCP = { ns = 4000 }, Encr = { ns = 2000 }, Decr = { ns = 2000 }, RPC = { ns = 1000 }, Ser = { ns = 1500 }, Dser = { ns = 1500 }, LdB = { ns = 300 } }
network = { log_normal = { median_us = 10.0, sigma = 0.3 } }

[[services]]
name = "Front"
server = "front"
rate_rps = 20000.0
path = [
  { trace = "T1", facts = { T1 = { compressed = 0 } } },
  { cpu_us = 20 },
  { trace = "T9", times = 2, facts = { T10 = { compressed = 0, exception = 0 } }, calls = "Stock" },
  { cpu_us = 10 },
  { trace = "T9", facts = { T10 = { compressed = 0, exception = 0 } }, calls = "Stock", detached = true },
  { trace = "T2" },
]

[[services]]
name = "Stock"
server = "back"
rate_rps = 5000.0
path = [
  { trace = "T1", facts = { T1 = { compressed = 0 } } },
  { cpu = { log_normal = { median_us = 15.0, sigma = 0.6 } } },
  { trace = "T2" },
]
"#;

const TIMEOUT_US: f64 = 60.0;

fn caller() -> Checked {
    caller_under("accelflow", &[])
}

fn caller_under(system: &str, config: &[(&str, f64)]) -> Checked {
    let document = read(CALLER, "caller.toml").unwrap();
    let scenario = Scenario {
        workload: Source::File(Box::new(document.workload)),
        orchestrators: vec![system.to_owned()],
        requests: 400,
        slo_us: [("Front", 1_000.0), ("Stock", 1_000.0)]
            .map(|(service, slo_us)| (service.to_owned(), slo_us))
            .into(),
        config: config
            .iter()
            .chain(&[("tcp.timeout_us", TIMEOUT_US)])
            .map(|(key, value)| ((*key).to_owned(), Setting::Number(*value)))
            .collect(),
        ..Scenario::default()
    };
    scenario.check().unwrap()
}

fn watch(checked: &Checked, which: Which) -> Watched {
    checked
        .watch("Front", which, &|_, _| true)
        .unwrap()
        .unwrap()
}

/// The requests of clients to the service that ended with a response, and without one.
fn ends(checked: &Checked) -> [u64; 2] {
    let results = checked.run(&RunOptions::default(), &|_, _| true);
    let results = results.unwrap().unwrap().to_json();
    let services = results["systems"][0]["services"].as_array().unwrap();
    let front = services
        .iter()
        .find(|row| row["service"] == "Front")
        .unwrap();
    ["responded", "timed_out"].map(|key| front[key].as_u64().unwrap())
}

#[test]
fn a_request_without_a_response_ends_with_the_wait_for_it() {
    let checked = caller();
    let mut requests = (0..).map(|number| watch(&checked, Which::Number(number)));
    let found = requests.find(|found| found.waterfall.timed_out).unwrap();
    let waterfall = &found.waterfall;
    assert_eq!(waterfall.response_time(), None);
    assert!(!waterfall.error, "it has no response that is an error");
    assert_eq!(found.json["response_us"], Value::Null);
    assert_eq!(found.json["timed_out"], json!(true));
    assert_eq!(found.json["ended_us"], waterfall.length().as_us_f64());
    let mut at = waterfall.arrived;
    for piece in waterfall.critical() {
        assert_eq!(piece.from, at, "{:#}", found.json);
        at = piece.until;
    }
    assert_eq!(at, waterfall.ended);
    let segments = found.json["segments"].as_array().unwrap();
    let critical = segments.iter().filter(|piece| piece["critical"] == true);
    let waits: Vec<_> = critical.filter(|piece| piece["part"] == "remote").collect();
    let [wait] = waits[..] else {
        panic!("{waits:?}");
    };
    assert_eq!(wait["at"], "call to Stock");
    let time_ns = wait["until_ns"].as_f64().unwrap() - wait["from_ns"].as_f64().unwrap();
    assert!((time_ns / 1e3 - TIMEOUT_US).abs() < 1e-3, "{time_ns}");
}

#[test]
fn cores_that_execute_everything_wait_for_no_notice_of_a_time_out() {
    let found = |period_ns: f64| {
        let checked = caller_under("non_acc", &[("core.notice_period_ns", period_ns)]);
        let results = checked.run(&RunOptions::default(), &|_, _| true);
        let results = results.unwrap().unwrap().to_json();
        let mut requests = (0..).map(|number| watch(&checked, Which::Number(number)));
        let late = requests.find(|found| found.waterfall.timed_out).unwrap();
        (late.json["ended_us"].clone(), results["systems"].clone())
    };
    assert_eq!(found(1e6), found(0.0));
}

#[test]
fn a_wait_that_outlasts_the_response_ends_with_it() {
    let found = watch(&caller(), Which::Percentile(50.0)).waterfall;
    let last = found.critical().last().unwrap();
    assert_eq!(last.until, found.ended);
    let until_the_end = found.segments.iter().filter(|s| s.until == found.ended);
    let open: Vec<_> = until_the_end.filter(|s| !s.critical).collect();
    let [wait] = open[..] else {
        panic!("the detached call: {open:?}");
    };
    assert_eq!(wait.part.name(), "remote");
    // The wait follows the call's message.
    let message = found
        .segments
        .iter()
        .find(|s| s.job == wait.job && s.until == wait.from);
    assert!(message.is_some(), "{:?}", found.segments);
}

fn is_error(span: &Value) -> bool {
    span["status"]["code"] == 2
}

/// The start and the length of a span in us.
fn times_us(span: &Value) -> (f64, f64) {
    let [from, until] = ["startTimeUnixNano", "endTimeUnixNano"]
        .map(|key| span[key].as_str().unwrap().parse::<i64>().unwrap());
    (from as f64 / 1e3, (until - from) as f64 / 1e3)
}

#[test]
fn spans_blame_the_calls_that_timed_out() {
    let checked = caller();
    let [responded, timed_out] = ends(&checked);
    assert!(responded > 100 && timed_out > 20, "{responded} {timed_out}");
    let mut spans = Vec::new();
    checked
        .write_spans(&mut spans, &|_, _| true)
        .unwrap()
        .unwrap();
    let (mut failed, mut detached) = (0, 0);
    for line in String::from_utf8(spans).unwrap().lines() {
        let request: Value = serde_json::from_str(line).unwrap();
        let spans = &request["resourceSpans"][0]["scopeSpans"][0]["spans"];
        let spans = spans.as_array().unwrap();
        let calls = || spans.iter().filter(|span| span["kind"] == 3);
        for call in calls() {
            let (_, time_us) = times_us(call);
            let late = (time_us - TIMEOUT_US).abs() < 2e-3;
            assert_eq!(is_error(call), late, "{call:#}");
            assert!((0.0..=TIMEOUT_US + 2e-3).contains(&time_us), "{call:#}");
        }
        let free = |span: &&Value| {
            span["attributes"]
                .to_string()
                .contains("accelflow.detached")
        };
        let late = calls().filter(|call| is_error(call));
        let late_free = late.clone().filter(free).count();
        if is_error(&spans[0]) && spans[0]["name"] == "Front" {
            failed += 1;
            assert!(late.count() > late_free, "{request:#}");
        } else {
            detached += late_free;
            assert_eq!(late.count(), late_free, "{request:#}");
        }
    }
    assert_eq!(failed, timed_out);
    assert!(
        detached > 0,
        "some detached calls timed out after the response"
    );
}
