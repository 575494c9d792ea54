//! Handlers on workers: which worker runs what, and that nothing else changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accelflow_accel::rpc::MessageType;
use accelflow_accel::thrift::Protocol;
use accelflow_serve::{Config, Request, Server, Steering, SteeringPolicy};
use rustix::thread::sched_getaffinity;

use crate::common::*;

fn config(workers: usize, policy: SteeringPolicy, pinned: bool) -> Config {
    let steering = Steering {
        workers,
        policy,
        pinned,
        ..Steering::default()
    };
    Config {
        steering: Some(steering),
        ..verbose()
    }
}

type Seen = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

/// A server whose handlers note the threads that call them.
fn noting(config: Config) -> (Server, Seen) {
    let seen = Seen::default();
    let mut server = server();
    server.set_config(config);
    for function in ["nothing", "add", "unhandled", "broken"] {
        let seen = seen.clone();
        let note = move |request: &Request<'_>| {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or_default().to_owned();
            let worker = request.core.map(|core| format!("accelflow-core-{core}"));
            assert_eq!(worker.as_deref(), Some(&*name), "LdB chose it");
            let mut seen = seen.lock().expect("short");
            seen.entry(request.method.to_owned())
                .or_default()
                .push(name);
            Ok(match request.method {
                "nothing" => Vec::new(),
                "add" => b"2".to_vec(),
                _ => b"\"done\"".to_vec(),
            })
        };
        server
            .handle(&format!("Test.{function}"), note)
            .expect("declared");
    }
    (server, seen)
}

const CALLS: [(&str, &str); 4] = [
    ("nothing", "{}"),
    ("add", r#"{"a":1,"b":1}"#),
    ("unhandled", "{}"),
    ("broken", "{}"),
];

fn workers(policy: SteeringPolicy) -> BTreeMap<String, Vec<String>> {
    let (server, seen) = noting(config(4, policy, true));
    let running = start(server);
    let mut client = connect(&running);
    for _ in 0..12 {
        for (method, arguments) in CALLS {
            let (kind, _) = call(&mut client, method, Protocol::Binary, arguments);
            assert_eq!(kind, MessageType::Reply);
        }
    }
    drop(client);
    assert_eq!(running.stop(Duration::from_secs(60)), 0);
    let seen = seen.lock().expect("free");
    seen.clone()
}

#[test]
fn a_function_stays_on_its_worker_and_others_take_turns() {
    // One request at a time, so no worker is overloaded.
    let affine = workers(SteeringPolicy::Affinity);
    let sets = affine
        .values()
        .map(|value| value.iter().collect::<BTreeSet<_>>());
    assert!(sets.clone().all(|set| set.len() == 1), "{affine:?}");
    let used: BTreeSet<&String> = sets.flatten().collect();
    assert!(used.len() > 1, "functions are spread: {affine:?}");
    // The map gives each function that it does not know to the next worker, and leaves it there.
    let mapped = workers(SteeringPolicy::FunctionMap);
    let sets = mapped
        .values()
        .map(|value| value.iter().collect::<BTreeSet<_>>());
    assert!(sets.clone().all(|set| set.len() == 1), "{mapped:?}");
    let used: BTreeSet<&String> = sets.flatten().collect();
    assert_eq!(used.len(), 4, "{mapped:?}");
    // Four functions in turn over four workers are each on one, too; over all, each has a quarter.
    let turns = workers(SteeringPolicy::RoundRobin);
    let all: Vec<&String> = turns.values().flatten().collect();
    for number in 0..4 {
        let name = format!("accelflow-core-{number}");
        assert_eq!(all.iter().filter(|thread| ***thread == name).count(), 12);
    }
    // An idle server has its first worker as the least loaded.
    let least = workers(SteeringPolicy::LeastLoaded);
    assert!(
        least
            .values()
            .flatten()
            .all(|value| value == "accelflow-core-0"),
        "{least:?}"
    );
}

#[test]
fn the_least_loaded_worker_is_one_that_is_idle() {
    let mut server = server();
    server.set_config(config(2, SteeringPolicy::LeastLoaded, false));
    let (inside, wait) = std::sync::mpsc::channel();
    let inside = Mutex::new(inside);
    let (go, gate) = std::sync::mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let slow = move |_: &Request<'_>| {
        let _ = inside.lock().expect("short").send(());
        let _ = gate.lock().expect("one at a time").recv_timeout(LONG);
        Ok(b"\"late\"".to_vec())
    };
    server.handle("Test.unhandled", slow).expect("declared");
    let running = start(server);
    let mut late = connect(&running);
    let blocked = std::thread::spawn(move || call(&mut late, "unhandled", Protocol::Binary, "{}"));
    wait.recv_timeout(LONG).expect("the worker is in it");
    let mut client = connect(&running);
    for _ in 0..20 {
        let added = call(&mut client, "add", Protocol::Compact, r#"{"a":1,"b":1}"#);
        assert_eq!(added.1, r#"{"success":2}"#);
    }
    go.send(()).expect("it waits");
    assert_eq!(blocked.join().expect("no panic").1, r#"{"success":"late"}"#);
}

#[test]
fn workers_are_bound_to_one_core_each() {
    let mut server = server();
    server.set_config(config(2, SteeringPolicy::RoundRobin, true));
    let cores = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = cores.clone();
    let note = move |_: &Request<'_>| {
        let set = sched_getaffinity(None).expect("one's own");
        assert_eq!(set.count(), 1);
        let core = (0..rustix::thread::CpuSet::MAX_CPU).find(|core| set.is_set(*core));
        noted.lock().expect("short").insert(core);
        Ok(Vec::new())
    };
    server.handle("Test.nothing", note).expect("declared");
    let running = start(server);
    let mut client = connect(&running);
    for _ in 0..4 {
        call(&mut client, "nothing", Protocol::Binary, "{}");
    }
    let usable = sched_getaffinity(None).expect("one's own").count() as usize;
    assert_eq!(cores.lock().expect("free").len(), usable.min(2));
}

#[test]
fn failures_are_reported_as_without_workers() {
    let mut server = server();
    server.set_config(config(1, SteeringPolicy::Affinity, false));
    let running = start(server);
    let mut client = connect(&running);
    for _ in 0..3 {
        let (kind, body) = call(&mut client, "panics", Protocol::Binary, "{}");
        assert_eq!(kind, MessageType::Exception);
        assert!(body.contains("panicked"), "{body}");
        let max = format!(r#"{{"a":{},"b":1}}"#, i64::MAX);
        let refused = call(&mut client, "add", Protocol::Binary, &max).1;
        assert_eq!(refused, r#"{"refused":{"code":7,"why":"overflow"}}"#);
    }
}

#[test]
fn a_function_map_remembers_something() {
    let mut server = server();
    let mut bad = config(1, SteeringPolicy::FunctionMap, false);
    bad.steering = bad.steering.map(|steering| Steering {
        function_map_depth: 0,
        ..steering
    });
    server.set_config(bad);
    let refused = server.start(([127, 0, 0, 1], 0).into()).expect_err("none");
    let why = "function_map_depth = 0: must be a whole number from 1 to 2147483647 functions";
    assert_eq!(refused.to_string(), why);
}

#[test]
fn there_must_be_a_worker() {
    let mut server = server();
    server.set_config(config(0, SteeringPolicy::Affinity, false));
    let refused = server.start(([127, 0, 0, 1], 0).into());
    let why = "workers = 0: must be at least 1";
    assert_eq!(refused.expect_err("none").to_string(), why);
}
