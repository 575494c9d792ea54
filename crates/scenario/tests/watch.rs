//! Single requests: their time is divided as results divide it, and a neighbour in the way is
//! named.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{self, Write};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use accelflow_scenario::{
    Checked, RunOptions, Scenario, Setting, Source, TimelineOptions, Which, Why, WhyOptions,
};
use accelflow_sim::orchestrators::SYSTEMS;
use accelflow_sim::stats::{Part, Sample};
use accelflow_units::Time;
use accelflow_workload::file::read;
use serde_json::json;

use crate::files::CALLS;

fn checked(scenario: serde_json::Value) -> Checked {
    Scenario::from_json(&scenario.to_string())
        .unwrap()
        .check()
        .unwrap()
}

/// Every so many of the counted requests of each service.
fn samples(checked: &Checked) -> Vec<(String, Vec<Sample>)> {
    let options = RunOptions {
        samples: 2,
        ..RunOptions::default()
    };
    let outcome = checked.run(&options, &|_, _| true).unwrap().unwrap();
    let services = outcome
        .systems
        .into_iter()
        .flat_map(|system| system.services);
    services
        .map(|result| (result.service, result.samples))
        .collect()
}

/// Follows requests of each service: pieces of the critical path follow each other without a gap,
/// and add up to the parts that results have.
fn same_parts(checked: &Checked, place: &str) {
    for (service, samples) in samples(checked) {
        for sample in samples {
            let which = Which::Number(sample.request);
            let watched = checked
                .watch(&service, which, &|_, _| true)
                .unwrap()
                .unwrap();
            let waterfall = &watched.waterfall;
            let place = format!("{place}, {service} {}", sample.request);
            assert_eq!(waterfall.arrived, sample.arrived, "{place}");
            assert_eq!(waterfall.response_time(), Some(sample.response), "{place}");
            let mut at = waterfall.arrived;
            for segment in waterfall.critical() {
                assert_eq!(segment.from, at, "{place}: {segment:?}");
                at = segment.until;
            }
            assert_eq!(at, waterfall.ended, "{place}");
            for part in Part::ALL {
                let pieces = waterfall.critical().filter(|segment| segment.part == part);
                let spent: Time = pieces.map(accelflow_scenario::Segment::length).sum();
                assert_eq!(spent, sample.spent.of(part), "{place}: {}", part.name());
            }
            let waits = waterfall.critical().filter(|s| s.part == Part::Queueing);
            assert!(waits.into_iter().all(|segment| segment.waits), "{place}");
        }
    }
}

#[test]
fn critical_paths_add_up_to_the_parts_of_results_in_every_system() {
    for system in SYSTEMS {
        let scenario = json!({
            "workload": "socialnetwork", "profile": "paper", "orchestrators": [system.id()],
            "requests": 100, "facts": "drawn", "services": ["CPost", "ReadH"],
        });
        same_parts(&checked(scenario), system.id());
    }
}

#[test]
fn critical_paths_add_up_where_much_is_in_the_way() {
    let config = json!({
        "accelerator.pes": 1, "accelerator.input_entries": 4, "accelerator.overflow_entries": 3,
        "exception.per_million": 20_000.0, "core.count": 4, "core.time_slice_ns": 20_000,
    });
    for system in ["accelflow", "relief", "cohort"] {
        let scenario = json!({
            "workload": "socialnetwork", "profile": "paper", "orchestrators": [system],
            "requests": 200, "rate_rps": 3000.0, "facts": "drawn", "config": config,
            "services": ["CPost"],
        });
        same_parts(&checked(scenario), system);
    }
}

/// Traces that fork and join, and attempts that fail, beside other traces of the same request.
const ARMS: &str = r#"
schema = "accelflow.workload/1"
name = "arms"

[defaults]
rate_rps = 4000.0
sizes = { fixed_bytes = 300 }

[[traces]]
source = """
trace ask:
    Ser
    join
      arm 1:
        Encr
      arm 2:
        Cmp
    TCP
    tail T12
"""

[[services]]
name = "Ask"
path = [
    { trace = "T1", facts = { T1 = { compressed = 1 } } },
    { cpu_us = 1 },
    { parallel = [
        { trace = "T11", facts = { T12 = { compressed = 0 } } },
        { trace = "ask", facts = { T12 = { compressed = 0 } }, times = 2 },
        { trace = "T8", facts = { T7 = { exception = 0 } }, retry = { odds = 0.5, attempts = 3, backoff_us = 10 } },
    ] },
    { parallel = [{ trace = "ask", facts = { T12 = { compressed = 1 } } }, { trace = "ask", facts = { T12 = { compressed = 1 } } }] },
    { trace = "ask", times = 2, facts = { T12 = { compressed = 1 } } },
    { trace = "T4", facts = { T5 = { hit = 0 }, T6 = { found = 1, compressed = 1, c_compressed = 1 }, T7 = { exception = 0 } } },
    { trace = "T3" },
]
"#;

#[test]
fn critical_paths_follow_forks_joins_and_attempts_to_the_parts_of_results() {
    let document = read(ARMS, "arms.toml").unwrap();
    let of_system = |system| [0.0, 1.0].map(|instances| (system, instances));
    for (system, instances) in SYSTEMS.into_iter().flat_map(of_system) {
        let config = [
            ("core.count", 2.0),
            ("accelerator.pes", 1.0),
            ("instances.Cmp", instances),
            ("instances.Decr", instances),
        ];
        let scenario = Scenario {
            workload: Source::File(Box::new(document.workload.clone())),
            orchestrators: vec![system.id().to_owned()],
            requests: 100,
            config: config
                .map(|(key, value)| (key.to_owned(), Setting::Number(value)))
                .into(),
            ..Scenario::default()
        };
        same_parts(
            &scenario.check().unwrap(),
            &format!("{}, {instances} Cmp", system.id()),
        );
    }
}

/// Asks little of Ser itself. `Hog` asks much of it, and now and then for a while.
const NEIGHBOURS: &str = r#"
schema = "accelflow.workload/1"
name = "neighbours"

[defaults]
sizes = { fixed_bytes = 200 }
waits = { other = { constant_us = 5 } }

[[services]]
name = "Hog"
rate_rps = 4000.0
arrivals = { process = "modulated", states = [[4.0, 0.2], [0.25, 0.8]], dwell_us = 2000 }
costs = { source = "operations", TCP = { ns = 100 }, Encr = { ns = 100 }, Decr = { ns = 100 }, RPC = { ns = 100 }, Ser = { ns = 300000 }, Dser = { ns = 100 }, LdB = { ns = 100 } }
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 5 }, { trace = "T2" }]

[[services]]
name = "Bystander"
rate_rps = 8000.0
costs = { source = "operations", TCP = { ns = 3000 }, Encr = { ns = 3000 }, Decr = { ns = 3000 }, RPC = { ns = 3000 }, Ser = { ns = 3000 }, Dser = { ns = 3000 }, LdB = { ns = 300 } }
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 5 }, { trace = "T2" }]

[[services]]
name = "Victim"
rate_rps = 4000.0
costs = { source = "operations", TCP = { ns = 1000 }, Encr = { ns = 1000 }, Decr = { ns = 1000 }, RPC = { ns = 1000 }, Ser = { ns = 1000 }, Dser = { ns = 1000 }, LdB = { ns = 100 } }
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 5 }, { trace = "T2" }]
"#;

fn neighbours(system: &str) -> Checked {
    let document = read(NEIGHBOURS, "neighbours.toml").unwrap();
    let scenario = Scenario {
        workload: Source::File(Box::new(document.workload)),
        orchestrators: vec![system.to_owned()],
        requests: 3_000,
        config: [("accelerator.Ser.pes".to_owned(), Setting::Number(1.0))].into(),
        ..Scenario::default()
    };
    scenario.check().unwrap()
}

fn why(checked: &Checked, service: &str) -> Why {
    let options = WhyOptions {
        service: service.to_owned(),
        percentile: 99.0,
    };
    checked.why(&options, &|_, _| true).unwrap().unwrap()
}

#[test]
fn a_neighbour_that_saturates_an_accelerator_in_bursts_is_named() {
    for (system, place) in [
        ("accelflow", "Ser input queue"),
        ("relief", "manager's queue for Ser"),
    ] {
        let found = why(&neighbours(system), "Victim").to_json();
        let first = &found["times"][0];
        assert_eq!(first["at"], place, "{system}: {found:#}");
        assert_eq!(first["waits"], true);
        let more = |row: &serde_json::Value| {
            row["slow_us"].as_f64().unwrap() - row["median_us"].as_f64().unwrap()
        };
        let bands = &found["bands"];
        let gap = bands["slow"]["response_us"].as_f64().unwrap()
            - bands["median"]["response_us"].as_f64().unwrap();
        assert!(more(first) > 0.8 * gap, "{system}: {found:#}");
        let sum: f64 = found["times"].as_array().unwrap().iter().map(more).sum();
        assert!(
            (sum - gap).abs() < 1e-3 * gap,
            "parts add up: {sum} of {gap}"
        );
        let occupants = found["occupied_by"].as_array().unwrap();
        let culprit = occupants.iter().find(|row| row["at"] == place).unwrap();
        assert_eq!(culprit["service"], "Hog", "{system}: {found:#}");
        assert!(culprit["slow_share"].as_f64().unwrap() > 0.9, "{culprit}");
        let arrivals = found["arrivals"].as_array().unwrap();
        let of = |name: &str| arrivals.iter().find(|row| row["service"] == name).unwrap();
        let burst = |name: &str| {
            of(name)["slow_rps"].as_f64().unwrap() / of(name)["mean_rps"].as_f64().unwrap()
        };
        assert!(burst("Hog") > 2.0, "{system}: {found:#}");
        assert!(burst("Bystander") < 1.3, "{system}: {found:#}");
    }
}

/// A service alone on its server, and one on another server that calls it.
const TWO_SERVERS: &str = r#"
schema = "accelflow.workload/1"
name = "two"

[defaults]
costs = { source = "operations", TCP = { ns = 4000 }, Encr = { ns = 2000 }, Decr = { ns = 2000 }, RPC = { ns = 1000 }, Ser = { ns = 1500 }, Dser = { ns = 1500 }, LdB = { ns = 300 } }
sizes = { fixed_bytes = 512 }

[[services]]
name = "Front"
server = "front"
rate_rps = 40000.0
path = [
  { trace = "T1", facts = { T1 = { compressed = 0 } } },
  { cpu_us = 150 },
  { trace = "T9", facts = { T10 = { exception = 0, compressed = 0 } }, calls = "Stock" },
  { trace = "T2" },
]

[[services]]
name = "Stock"
server = "back"
rate_rps = 40000.0
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 80 }, { trace = "T2" }]
"#;

#[test]
fn only_the_own_server_counts_for_the_occupation_over_the_run() {
    let document = read(TWO_SERVERS, "two.toml").unwrap();
    let scenario = Scenario {
        workload: Source::File(Box::new(document.workload)),
        orchestrators: vec!["accelflow".to_owned()],
        requests: 1_500,
        config: [("core.count".to_owned(), Setting::Number(10.0))].into(),
        ..Scenario::default()
    };
    let found = why(&scenario.check().unwrap(), "Stock").to_json();
    let occupants = found["occupied_by"].as_array().unwrap();
    let at_cores: Vec<_> = occupants.iter().filter(|r| r["at"] == "cores").collect();
    let own = at_cores.iter().find(|row| row["service"] == "Stock");
    let overall = own.unwrap()["overall_share"].as_f64().unwrap();
    // Only the core's own work is of no service.
    assert!(overall > 0.99, "{found:#}");
}

#[test]
fn requests_that_cannot_be_explained_are_refused() {
    let checked = neighbours("accelflow");
    let refused = |service: &str, percentile: f64| {
        let options = WhyOptions {
            service: service.to_owned(),
            percentile,
        };
        checked.why(&options, &|_, _| true).unwrap_err().to_string()
    };
    let unknown = refused("Victin", 99.0);
    assert!(unknown.contains("did you mean Victim"), "{unknown}");
    assert!(refused("Victim", 50.0).starts_with("percentile = 50: must be more than 55"));
    let few = refused("Victim", 99.99);
    assert!(
        few.contains("must have at least 10 requests around it"),
        "{few}"
    );
    let none = checked
        .watch("Victim", Which::Number(1 << 40), &|_, _| true)
        .unwrap_err();
    assert!(
        none.to_string()
            .contains("must be the number of a simulated request"),
        "{none}"
    );
}

#[test]
fn more_requests_than_are_kept_are_refused_by_their_number() {
    let checked = checked(json!({
        "profile": "paper", "services": ["UniqId"], "orchestrators": ["accelflow"],
        "rates": "equal", "requests": 2_000_101, "warmup": 100,
    }));
    let options = WhyOptions {
        service: "UniqId".to_owned(),
        percentile: 99.0,
    };
    let watched = checked.watch("UniqId", Which::Percentile(99.0), &|_, _| false);
    let explained = checked.why(&options, &|_, _| false);
    let expected = "requests = 2000101: must leave at most 2000000 requests after the warm-up, of \
                    all services, to find percentiles of response times; they leave 2000001";
    assert_eq!(watched.unwrap_err().to_string(), expected);
    assert_eq!(explained.unwrap_err().to_string(), expected);
}

#[test]
fn requests_of_other_services_are_no_requests_that_are_kept() {
    let workload = read(CALLS, "calls.toml").unwrap().workload;
    let checked = checked(json!({
        "workload": workload, "orchestrators": ["accelflow"], "requests": 1_200_000,
    }));
    let watched = checked.watch("Front", Which::Percentile(99.0), &|_, _| false);
    assert!(watched.unwrap().is_none());
    let samples = checked.check_samples(u64::MAX, 1);
    assert_eq!(samples.map_err(|error| error.to_string()), Ok(()));
}

#[test]
fn a_timeline_of_too_many_requests_is_refused_before_it_is_simulated() {
    let scenario = json!({"workload": "socialnetwork", "profile": "paper", "requests": 1_000_000});
    let refused = checked(scenario)
        .write_timeline(&TimelineOptions::default(), Vec::new(), &|_, _| true)
        .unwrap_err()
        .to_string();
    assert!(refused.starts_with("timeline = "), "{refused}");
    assert!(
        refused.contains("must be at most 10000 over all systems"),
        "{refused}"
    );
    assert!(refused.contains("--timeline-for"), "{refused}");
}

#[test]
fn the_window_and_the_filters_choose_the_requests() {
    let scenario = json!({
        "workload": "socialnetwork", "profile": "paper", "orchestrators": ["accelflow", "relief"],
        "requests": 200, "services": ["CPost", "ReadH"], "rates": "equal",
    });
    let checked = checked(scenario);
    let written = |options: TimelineOptions| {
        let written = checked.write_timeline(&options, std::io::sink(), &|_, _| true);
        written.unwrap().unwrap()
    };
    let all = written(TimelineOptions::default());
    assert_eq!(all.systems, 2);
    assert!(all.requests >= 2 * 200, "{all:?}");
    let slowest = TimelineOptions {
        slowest: Some(3),
        ..TimelineOptions::default()
    };
    assert_eq!(written(slowest).requests, 2 * 2 * 3);
    let one = TimelineOptions {
        services: vec!["ReadH".to_owned()],
        requests: vec![7, 11],
        ..TimelineOptions::default()
    };
    assert_eq!(written(one).requests, 2 * 2);
    let windows = [(0, 4_000), (4_000, 1_000_000)].map(|(from, length)| {
        let options = TimelineOptions {
            from: Time::from_us(from),
            length: Some(Time::from_us(length)),
            ..TimelineOptions::default()
        };
        written(options).requests
    });
    assert_eq!(windows.iter().sum::<u64>(), all.requests);
    assert!(windows.iter().all(|requests| *requests > 0), "{windows:?}");
}

/// A file on a disk that is full after a number of bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = data.len().min(self.0);
        self.0 -= written;
        match written {
            0 if !data.is_empty() => Err(io::Error::from(io::ErrorKind::StorageFull)),
            _ => Ok(written),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_timeline_that_cannot_be_written_is_an_error_wherever_the_disk_is_full() {
    let scenario = json!({
        "workload": "socialnetwork", "profile": "paper", "orchestrators": ["ideal"],
        "requests": 100, "services": ["UniqId"],
    });
    let checked = checked(scenario);
    let options = TimelineOptions::default();
    let mut whole = Vec::new();
    let ends = |_, _| true;
    checked.write_timeline(&options, &mut whole, &ends).unwrap();
    for bytes in (0..whole.len()).step_by(whole.len() / 60) {
        let written = checked.write_timeline(&options, Full(bytes), &ends);
        let error = written.unwrap_err().to_string();
        assert!(error.contains("storage"), "{error}");
    }
}

#[test]
fn observations_stop_when_the_progress_says_so() {
    let scenario = json!({
        "workload": "socialnetwork", "profile": "paper", "orchestrators": ["accelflow"],
        "requests": 3_000, "services": ["UniqId"], "rates": "equal", "slo_factor": 5.0,
    });
    let checked = checked(scenario);
    let options = TimelineOptions {
        slowest: Some(1),
        ..TimelineOptions::default()
    };
    let why = WhyOptions {
        service: "UniqId".to_owned(),
        percentile: 90.0,
    };
    let stops = |calls: usize| {
        let left = AtomicUsize::new(calls);
        move |done: u64, all: u64| {
            assert!(done <= all, "{done} of {all}");
            let before = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
            before.is_ok()
        }
    };
    // Each simulation has one report at least, that of its end.
    for calls in [0, 1] {
        let timeline = checked.write_timeline(&options, std::io::sink(), &stops(calls));
        assert_eq!(timeline.unwrap(), None);
        let which = Which::Percentile(50.0);
        assert_eq!(checked.watch("UniqId", which, &stops(calls)).unwrap(), None);
        assert_eq!(checked.why(&why, &stops(calls)).unwrap(), None);
        let spans = checked.write_spans(std::io::sink(), &stops(0)).unwrap();
        assert_eq!(spans, None);
    }
    let ends = |_, _| true;
    let whole = checked.write_timeline(&options, std::io::sink(), &ends);
    assert_eq!(whole.unwrap().unwrap().requests, 1);
}

#[test]
fn a_wait_for_a_simulated_service_has_the_name_of_the_service() {
    let document = read(CALLS, "calls.toml").unwrap();
    let scenario = Scenario {
        workload: Source::File(Box::new(document.workload)),
        orchestrators: vec!["accelflow".to_owned()],
        requests: 1_500,
        ..Scenario::default()
    };
    let checked = scenario.check().unwrap();
    let watched = checked
        .watch("Front", Which::Percentile(50.0), &|_, _| true)
        .unwrap()
        .unwrap();
    let segments = watched.json["segments"].as_array().unwrap();
    let remote: Vec<_> = segments.iter().filter(|s| s["part"] == "remote").collect();
    assert_eq!(remote.len(), 1, "{remote:?}");
    assert_eq!(remote[0]["at"], "call to Mail");
    let length_ns =
        remote[0]["until_ns"].as_f64().unwrap() - remote[0]["from_ns"].as_f64().unwrap();
    assert!(length_ns > 500_000.0, "{length_ns}");
    let found = why(&checked, "Front").to_json();
    let times = found["times"].as_array().unwrap();
    let call = times
        .iter()
        .find(|row| row["at"] == "call to Mail")
        .unwrap();
    assert!(call["median_us"].as_f64().unwrap() > 500.0);
    assert!(times.iter().all(|row| row["at"] != "remote"), "{times:?}");
}

#[test]
fn several_instances_of_an_accelerator_are_numbered_from_1() {
    let checked = checked(json!({
        "workload": "socialnetwork", "profile": "paper", "orchestrators": ["accelflow"],
        "requests": 1_500, "rates": "equal", "services": ["UniqId"],
        "config": {"accelerator.instances": 2, "accelerator.Ser.instances": 1},
    }));
    let at_elements = |request: u64| {
        let which = Which::Number(request);
        let watched = checked.watch("UniqId", which, &|_, _| true);
        let json = watched.unwrap().unwrap().json;
        let segments = json["segments"].as_array().unwrap().iter();
        segments
            .filter(|segment| segment["part"] == "accelerator")
            .map(|segment| segment["at"].as_str().unwrap().to_owned())
            .collect::<Vec<String>>()
    };
    let mut names: Vec<String> = (0..20).flat_map(at_elements).collect();
    names.sort();
    names.dedup();
    for name in ["TCP 1", "TCP 2", "Ser"] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    for name in ["TCP", "TCP 0", "TCP 3", "Ser 1"] {
        assert!(names.iter().all(|known| known != name), "{name}: {names:?}");
    }
    // An explanation has a row for all instances.
    let found = why(&checked, "UniqId").to_json();
    let times = found["times"].as_array().unwrap();
    assert!(times.iter().any(|row| row["at"] == "TCP"), "{times:?}");
}
