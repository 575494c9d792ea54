//! Requests whose handlers have traces run for them are recorded in phases.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use accelflow_accel::thrift::Protocol;
use accelflow_runtime::Step;
use accelflow_runtime::thread_time;
use accelflow_runtime::trail::{self, Exchange, TrailChain};
use accelflow_serve::{HandlerResult, Request, Server};
use accelflow_trace::Accel;
use accelflow_workload::profile::RecordedPhase;

use crate::common::*;

fn step(trace: &str, accel: Accel, receives: bool) -> Step {
    Step {
        trace: trace.to_owned(),
        accel,
        own: None,
        receives,
        direction: accelflow_accel::Direction::Send,
        arm: 0,
        input_bytes: 10,
        output_bytes: 20,
        facts: Vec::new(),
    }
}

/// A chain that sends, waits for 7 us and receives.
fn chain() -> TrailChain {
    let us = Duration::from_micros;
    let exchange = Exchange {
        send: us(2),
        receive: us(3),
        wait: us(7),
    };
    let steps = vec![
        step("T8", Accel::Ser, false),
        step("T8", Accel::Tcp, false),
        step("T7", Accel::Tcp, true),
    ];
    TrailChain::new(steps, vec![5.0, 6.0, 7.0], &[exchange])
}

#[test]
fn the_cost_of_tcp_includes_the_system_calls_of_its_exchange() {
    let chain = chain();
    assert_eq!(chain.costs_ns, [5.0, 2_006.0, 3_007.0]);
    assert_eq!(chain.waits, [("T7".to_owned(), Duration::from_micros(7))]);
}

#[test]
fn phases_are_those_of_the_handler() {
    let certificate = Certificate::new("phases");
    let mut server: Server = server();
    let note = |_: &Request<'_>| -> HandlerResult {
        trail::add(thread_time(), chain());
        trail::add_parallel(thread_time(), vec![chain(), chain()]);
        Ok(Vec::new())
    };
    server.handle("Test.nothing", note).expect("declared");
    server.set_tls(certificate.identity());
    server.set_recording(true);
    let running = start(server);
    let mut client = certificate.connect(&running, &[&rustls::version::TLS13]);
    for _ in 0..3 {
        call(&mut client, "nothing", Protocol::Binary, "{}");
    }
    let paths = running.recorded_paths("Test.nothing");
    assert_eq!(paths.len(), 1);
    assert!(paths[0].requests >= 2);
    let shape: Vec<usize> = paths[0]
        .phases
        .iter()
        .map(|phase| match phase {
            RecordedPhase::Cpu { .. } => 0,
            RecordedPhase::Chains(chains) => chains.len(),
        })
        .collect();
    // T1, logic, one chain, logic, two chains at once, logic, T2.
    assert_eq!(shape, [1, 0, 1, 0, 2, 0, 1]);
    let RecordedPhase::Chains(two) = &paths[0].phases[4] else {
        panic!("chains");
    };
    assert_eq!(two[1].steps[1].cost_ns, 2_006.0);
    assert_eq!(paths[0].waits_ns["T7"][0], 7_000.0);
}

#[test]
fn the_latest_waits_are_kept() {
    let waits = Arc::new(AtomicU64::new(0));
    let mut server: Server = server();
    let note = move |_: &Request<'_>| -> HandlerResult {
        let wait = Duration::from_micros(waits.fetch_add(1, Ordering::Relaxed));
        let chain = TrailChain {
            waits: vec![("T7".to_owned(), wait)],
            ..chain()
        };
        trail::add_parallel(thread_time(), vec![chain; 3_000]);
        Ok(Vec::new())
    };
    server.handle("Test.nothing", note).expect("declared");
    server.set_recording(true);
    let running = start(server);
    let mut client = connect(&running);
    for _ in 0..3 {
        call(&mut client, "nothing", Protocol::Binary, "{}");
    }
    // The last request is there once another was answered.
    call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    let paths = running.recorded_paths("Test.nothing");
    let kept = &paths[0].waits_ns["T7"];
    let latest = kept.iter().filter(|wait| **wait == 2_000.0).count();
    let before = kept.iter().filter(|wait| **wait == 1_000.0).count();
    assert_eq!((latest, before), (3_000, 1_096), "of {}", kept.len());
}

#[test]
fn a_path_that_becomes_common_replaces_the_rarest() {
    let requests = Arc::new(AtomicU64::new(0));
    let mut server: Server = server();
    // Each of the first 16 requests has a path of its own, and all later ones have the same.
    let note = move |_: &Request<'_>| -> HandlerResult {
        let number = requests.fetch_add(1, Ordering::Relaxed) as usize;
        trail::add_parallel(thread_time(), vec![chain(); number.min(16) + 1]);
        Ok(Vec::new())
    };
    server.handle("Test.nothing", note).expect("declared");
    server.set_recording(true);
    let running = start(server);
    let mut client = connect(&running);
    for _ in 0..40 {
        call(&mut client, "nothing", Protocol::Binary, "{}");
    }
    call(&mut client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    let paths = running.recorded_paths("Test.nothing");
    let RecordedPhase::Chains(chains) = &paths[0].phases[2] else {
        panic!("chains");
    };
    assert_eq!(chains.len(), 17, "the latest path is the most common one");
    assert!(paths[0].requests > 10, "{}", paths[0].requests);
    assert_eq!(paths.len(), 16);
}

#[test]
fn without_an_open_trail_nothing_is_recorded() {
    trail::add(thread_time(), chain());
    assert!(!trail::is_open());
    let ((), chains) = trail::collect(false, || trail::add(thread_time(), chain()));
    assert_eq!(chains.len(), 0);
    let ((), chains) = trail::collect(true, || trail::add(thread_time(), chain()));
    assert_eq!(chains.len(), 1);
}
