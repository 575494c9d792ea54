//! Chains that nobody waits for: what they cost stays, and the response comes earlier.

#![allow(clippy::unwrap_used)]

use accelflow_sim::plan::{Plan, Retry};
use accelflow_sim::stats::SimulationResult;
use accelflow_sim::{Config, Load, simulate, simulate_logged, simulate_servers};
use accelflow_units::Time;
use accelflow_workload::profile::WaitDistribution;
use proptest::prelude::*;

use crate::common::services::{CALL, FRONT, STOCK, apart, pair, poisson, run, together};
use crate::common::{SYSTEMS, frictionless, set};

fn detached(plan: Plan) -> Plan {
    plan.with_detached(FRONT, CALL.0, CALL.1).unwrap()
}

fn outcome(config: &Config, plan: &Plan, id: &str, load: Load) -> SimulationResult {
    let loads = [load];
    let found = simulate(&run(config, plan, id, &loads, 1)).unwrap();
    assert!(found.totals.drained, "{id}");
    found
}

fn mean_ns(outcome: &SimulationResult, service: usize) -> f64 {
    let times: Vec<Time> = outcome.services[service].latency.iter().collect();
    times.iter().map(|time| time.as_ns_f64()).sum::<f64>() / times.len() as f64
}

/// What each operation of a run was on, whenever it was.
fn operations(plan: &Plan, id: &str) -> Vec<String> {
    let (config, loads) = (Config::default(), [poisson(FRONT, 20_000.0, 60)]);
    let (outcome, log) = simulate_logged(&run(&config, plan, id, &loads, 3)).unwrap();
    assert!(outcome.totals.drained, "{id}");
    let shown = log.iter().map(|operated| {
        let of = (
            operated.service,
            operated.request,
            operated.phase,
            operated.chain,
        );
        format!("{:?}", (of, operated.trace, operated.accel, operated.sizes))
    });
    let mut all: Vec<String> = shown.collect();
    all.sort_unstable();
    all
}

#[test]
fn detached_chains_execute_the_same_operations() {
    let waited = pair(3_000.0, 20_000.0);
    let free = detached(waited.clone());
    for id in SYSTEMS {
        assert_eq!(operations(&free, id), operations(&waited, id), "{id}");
    }
}

#[test]
fn the_response_does_not_wait_for_the_call() {
    let config = frictionless();
    for id in SYSTEMS {
        let alone = |plan: &Plan| mean_ns(&outcome(&config, plan, id, together(FRONT, 1)), FRONT);
        let short = pair(3_000.0, 20_000.0);
        let long = pair(3_000.0, 900_000.0);
        let (free, free_long) = (alone(&detached(short.clone())), alone(&detached(long)));
        let ratio = free_long / free;
        assert!((ratio - 1.0).abs() < 1e-9, "{id}: {free_long} and {free}");
        assert!(free + 20_000.0 <= alone(&short), "{id}: {free}");
    }
}

#[test]
fn the_callee_has_the_load_of_waited_calls() {
    let waited = pair(3_000.0, 20_000.0);
    let free = detached(waited.clone());
    for id in SYSTEMS {
        let found =
            |plan: &Plan| outcome(&Config::default(), plan, id, poisson(FRONT, 20_000.0, 400));
        let (waited, free) = (found(&waited), found(&free));
        let called = |outcome: &SimulationResult| outcome.services[STOCK].called.latency.count();
        assert_eq!((called(&waited), called(&free)), (400, 400), "{id}");
        assert_eq!(free.services[FRONT].latency.count(), 400, "{id}");
        assert!(mean_ns(&free, FRONT) < mean_ns(&waited, FRONT), "{id}");
        assert_eq!(free.totals.on_cores, waited.totals.on_cores, "{id}");
    }
}

#[test]
fn a_chain_beside_waited_ones_and_one_without_a_callee_may_be_detached() {
    let config = frictionless();
    let waits = |us| WaitDistribution::constant(Time::from_us(us));
    for id in SYSTEMS {
        let plan = |us| {
            let plan = apart(3_000.0, 20_000.0);
            detached(plan).with_chain_waits(|_, _, trace| (trace == "T10").then(|| waits(us)))
        };
        let found = |us| mean_ns(&outcome(&config, &plan(us), id, together(FRONT, 1)), FRONT);
        assert_eq!(found(1), found(5_000), "{id}");
    }
}

#[test]
fn detached_chains_of_the_first_and_last_phase_delay_no_response() {
    for phase in [0, 4] {
        let refused = pair(3_000.0, 20_000.0)
            .with_detached(FRONT, phase, 0)
            .unwrap_err();
        let place = format!("services.Front.path[{phase}][0].detached = true: must be left out");
        assert!(refused.to_string().starts_with(&place), "{refused}");
    }
    let refused = pair(3_000.0, 20_000.0)
        .with_detached(FRONT, 9, 0)
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("must be the index of a phase, from 0 to 4"),
        "{refused}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Every request has its response and every call ends, whatever is scarce, fails or is late.
    #[test]
    fn every_request_ends(
        id in prop::sample::select(SYSTEMS.to_vec()),
        sizes in (1..=3_u32, 2..=6_u32, 0..=3_u32, 1..=4_u32),
        limit in 0..=3_u32,
        timeout_us in prop::sample::select(vec![20.0, 200.0, 1e7]),
        odds in prop::sample::select(vec![0.0, 0.5, 1.0]),
        server in 0..2_usize,
        rate_rps in prop::sample::select(vec![1_000.0, 50_000.0]),
    ) {
        let (pes, input, overflow, cores) = sizes;
        let mut config = Config::default();
        set(&mut config, &[
            ("accelerator.pes", f64::from(pes)),
            ("accelerator.input_entries", f64::from(input)),
            ("accelerator.overflow_entries", f64::from(overflow)),
            ("core.count", f64::from(cores)),
            ("tenant.max_traces", f64::from(limit)),
            ("tcp.timeout_us", timeout_us),
        ]);
        let retry = Retry { odds, attempts: 3, backoff: Time::from_us(10) };
        let plan = detached(pair(3_000.0, 20_000.0)).on_server(STOCK, server).unwrap();
        let plan = plan.with_retry(FRONT, CALL.0, CALL.1, retry).unwrap();
        let loads = [poisson(FRONT, rate_rps, 60)];
        let found = simulate_servers(&run(&config, &plan, id, &loads, 1)).unwrap();
        for one in &found {
            prop_assert!(one.outcome.totals.drained);
        }
        let counted = found.iter().map(|server| server.outcome.services[FRONT].latency.count());
        prop_assert_eq!(counted.sum::<usize>(), 60);
    }
}
