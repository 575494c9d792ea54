//! Cerebros in the place of the RPC accelerator: the cost of a schema, the schema map, and the
//! memory that is reserved for messages.

#![allow(clippy::unwrap_used)]

use accelflow_sim::plan::Plan;
use accelflow_sim::stats::{Fallback, SimulationResult};
use accelflow_sim::{Config, Load, simulate_servers};
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::{ArrivalProcess, RateTable};

use crate::common::services::{self, FRONT, STOCK, pair, together};
use crate::common::{NOTHING_NS, fixed_plan, frictionless, round_cost, run, set, uniq_id};

const MESSAGE: u64 = 500;

fn whole(more: &[(&str, f64)]) -> Config {
    let mut config = frictionless();
    set(&mut config, &[("accelerator.rpc_processor", 1.0)]);
    set(&mut config, more);
    config
}

/// Two services with messages of [`MESSAGE`] bytes.
fn two() -> Plan {
    let mut plan = fixed_plan(&uniq_id(), NOTHING_NS, MESSAGE, &round_cost);
    plan.services.extend(plan.services.clone());
    plan
}

/// Requests of a service at these times, in us.
fn at(service: usize, us: &[u64]) -> Load {
    let times = us.iter().map(|us| Time::from_us(*us)).collect();
    Load::new(service, ArrivalProcess::Trace(times), us.len() as u64, 0)
}

fn latencies(outcome: &SimulationResult, service: usize) -> Vec<Time> {
    outcome.services[service].latency.iter().collect()
}

fn fallbacks(outcome: &SimulationResult, service: usize, reason: Fallback) -> u64 {
    let found = outcome.services[service].fallbacks.get(&reason);
    found.copied().unwrap_or(0)
}

#[test]
fn a_payload_takes_an_access_its_fields_and_its_words() {
    let config = whole(&[
        ("accelerator.rpc_payload_ns", 4.0),
        ("accelerator.rpc_field_ns", 3.0),
        ("accelerator.rpc_field_bytes", 10.0),
        ("accelerator.rpc_payload_gb_per_s", 1.0),
    ]);
    let time = |bytes| config.accelerator.rpc_payload_time(Bytes(bytes));
    assert_eq!(time(0), Time::from_ns(4));
    // Three fields of at most 10 bytes.
    assert_eq!(time(25), Time::from_ns(4 + 3 * 3 + 25));
    // One request: a payload comes in and one goes out.
    let response = |field_ns: f64| {
        let config = whole(&[
            ("accelerator.rpc_field_ns", field_ns),
            ("accelerator.rpc_field_bytes", 1_000.0),
        ]);
        latencies(&run(&config, &two(), "accelflow", &[at(0, &[1])], 1), 0)[0]
    };
    let (with, without) = (response(7_000.0), response(0.0));
    assert_eq!(with - without, Time::from_ns(2 * 7_000));
}

#[test]
fn functions_beyond_the_schema_map_are_left_to_cores() {
    let loads = [at(0, &[1, 101]), at(1, &[51, 151, 251])];
    let of = |entries: f64| {
        let config = whole(&[("accelerator.rpc_schema_map_entries", entries)]);
        let outcome = run(&config, &two(), "accelflow", &loads, 1);
        assert!(outcome.totals.drained);
        [0, 1].map(|service| fallbacks(&outcome, service, Fallback::UnknownFunction))
    };
    // Each request has a message that comes in and one that goes out.
    assert_eq!(of(2.0), [0, 0]);
    assert_eq!(
        of(1.0),
        [2 * 2, 0],
        "the service with most requests is registered"
    );
    assert_eq!(of(0.0), [2 * 2, 3 * 2]);
    let mut config = whole(&[("accelerator.rpc_schema_map_entries", 0.0)]);
    set(&mut config, &[("accelerator.rpc_processor", 0.0)]);
    let plain = run(&config, &two(), "accelflow", &loads, 1);
    assert_eq!(fallbacks(&plain, 0, Fallback::UnknownFunction), 0);
}

#[test]
fn the_schema_map_has_the_services_with_most_requests_however_they_arrive() {
    let poisson = ArrivalProcess::Poisson { rate_rps: 1_000.0 };
    let table = RateTable::new(vec![(Time::ZERO, 2_000.0)]).unwrap();
    let loads = [
        Load::new(0, poisson, 20, 0),
        Load::new(1, ArrivalProcess::Rates(table), 20, 0),
    ];
    let config = whole(&[("accelerator.rpc_schema_map_entries", 1.0)]);
    let outcome = run(&config, &two(), "accelflow", &loads, 1);
    let unknown = [0, 1].map(|service| fallbacks(&outcome, service, Fallback::UnknownFunction));
    assert!(unknown[0] > 0 && unknown[1] == 0, "{unknown:?}");
}

#[test]
fn the_schema_map_of_a_server_has_its_own_services() {
    let plan = pair(3_000.0, 20_000.0).on_server(STOCK, 1).unwrap();
    let config = whole(&[("accelerator.rpc_schema_map_entries", 1.0)]);
    let loads = [together(FRONT, 3)];
    let scenario = services::run(&config, &plan, "accelflow", &loads, 1);
    let servers = simulate_servers(&scenario).unwrap();
    assert_eq!(servers.len(), 2);
    for server in &servers {
        for service in &server.outcome.services {
            let unknown = service.fallbacks.get(&Fallback::UnknownFunction);
            assert_eq!(unknown, None, "each map has room for the server's service");
        }
    }
}

/// Memory for one message and its payload, and not for two.
const ONE: f64 = 5.0 * MESSAGE as f64 + 400.0;

fn scarce(memory: f64, retries: f64) -> Config {
    whole(&[
        ("accelerator.rpc_memory_bytes", memory),
        ("accelerator.rpc_retry_after_ns", 1e6),
        ("accelerator.rpc_retries", retries),
    ])
}

#[test]
fn a_message_without_memory_comes_again() {
    let both = [at(0, &[1]), at(1, &[1])];
    let ample = run(&scarce(1e9, 3.0), &two(), "accelflow", &both, 1);
    let alone = latencies(&ample, 0)[0];
    let outcome = run(&scarce(ONE, 3.0), &two(), "accelflow", &both, 1);
    assert!(outcome.totals.drained);
    let [first, second] = [0, 1].map(|service| latencies(&outcome, service)[0]);
    assert_eq!(first, alone);
    assert_eq!(second, alone + Time::from_us(1_000));
    let nacks = [0, 1].map(|service| fallbacks(&outcome, service, Fallback::Nack));
    assert_eq!(nacks, [0, 1]);
}

#[test]
fn a_sender_gives_up_after_its_last_retry() {
    let outcome = run(&scarce(100.0, 2.0), &two(), "accelflow", &[at(0, &[1])], 1);
    assert!(outcome.totals.drained);
    assert_eq!(fallbacks(&outcome, 0, Fallback::Nack), 3);
    assert_eq!(outcome.services[0].timed_out, 1);
    assert!(latencies(&outcome, 0).is_empty());
}

#[test]
fn memory_comes_back_when_a_request_ends() {
    let times: Vec<u64> = (0..50).map(|n| 1 + 1_000 * n).collect();
    let outcome = run(&scarce(ONE, 0.0), &two(), "accelflow", &[at(0, &times)], 1);
    assert_eq!(latencies(&outcome, 0).len(), 50);
    assert_eq!(fallbacks(&outcome, 0, Fallback::Nack), 0);
}

#[test]
fn memory_that_is_never_scarce_changes_nothing() {
    let poisson = |service| {
        let arrivals = ArrivalProcess::Poisson { rate_rps: 50_000.0 };
        Load::new(service, arrivals, 300, 0)
    };
    let loads = [poisson(0), poisson(1)];
    let of = |config: &Config| {
        let outcome = run(config, &two(), "accelflow", &loads, 3);
        [0, 1].map(|service| latencies(&outcome, service))
    };
    assert_eq!(of(&scarce(1e12, 3.0)), of(&whole(&[])));
}
