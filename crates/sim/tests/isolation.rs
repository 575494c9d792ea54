//! Tenants with reserved shares of accelerators: isolation protects a victim and leaves elements
//! idle.

#![allow(clippy::unwrap_used)]

use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::{Fallback, SimulationResult};
use accelflow_sim::{Config, Load, Run, simulate};
use accelflow_trace::Accel;
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;

use crate::common::{NOTHING_NS, SYSTEMS, fixed_plan, frictionless, run, set, sink};

const SHARED: f64 = 0.0;
const RESERVED: f64 = 1.0;

/// Two services that receive a message, which takes TCP 10 us, and do nothing else.
fn plan() -> Plan {
    let cost = |operation: &accelflow_workload::services::Operation| match operation.accel {
        Accel::Tcp => 10_000.0,
        _ => NOTHING_NS,
    };
    let mut plan = fixed_plan(&sink(), NOTHING_NS, 0, &cost);
    plan.services = vec![plan.services[0].clone(); 2];
    plan
}

fn server(isolation: f64, values: &[(&str, f64)]) -> Config {
    let mut config = frictionless();
    // Wiping it between tenants takes next to nothing.
    let wiping = [
        ("accelerator.scratchpad_bytes", 1_024.0),
        ("accelerator.wipe_gb_per_s", 100_000.0),
        ("accelerator.initialise_gb_per_s", 100_000.0),
    ];
    set(&mut config, &wiping);
    set(&mut config, values);
    set(&mut config, &[("tenant.isolation", isolation)]);
    config
}

/// `count` requests of `service`, which is its tenant's alone, at `us`.
fn at(service: usize, us: u64, count: usize) -> Load {
    let times = ArrivalProcess::Trace(vec![Time::from_us(us); count]);
    Load::new(service, times, count as u64, 0).of_tenant(10 + service as u16)
}

fn times(outcome: &SimulationResult, service: usize) -> Vec<u64> {
    let latency = outcome.services[service].latency.iter();
    let mut times: Vec<u64> = latency.map(|time| time.as_ps() / 1_000_000).collect();
    times.sort_unstable();
    times
}

fn found(config: &Config, loads: &[Load]) -> [Vec<u64>; 2] {
    let outcome = run(config, &plan(), "ideal", loads, 1);
    assert!(outcome.totals.drained);
    [times(&outcome, 0), times(&outcome, 1)]
}

#[test]
fn a_tenant_with_a_share_does_not_wait_for_others_and_uses_no_elements_of_theirs() {
    let loads = [at(0, 1, 4), at(1, 2, 2)];
    let of = |isolation, pes| {
        let config = server(isolation, &[("accelerator.pes", pes)]);
        found(&config, &loads)
    };
    // Two elements serve all in order; or each tenant has one of them.
    assert_eq!(of(SHARED, 2.0), [vec![10, 10, 20, 20], vec![29, 29]]);
    assert_eq!(of(RESERVED, 2.0), [vec![10, 20, 30, 40], vec![10, 20]]);
    // Of three, the tenant with the lower number has two.
    assert_eq!(of(RESERVED, 3.0), [vec![10, 10, 20, 20], vec![10, 20]]);
}

#[test]
fn reserved_elements_stay_idle_while_other_work_waits() {
    // The other tenant comes when all is done: half of the elements do nothing until then.
    let loads = [at(0, 1, 8), at(1, 1_000, 1)];
    let of = |isolation| {
        let config = server(isolation, &[("accelerator.pes", 4.0)]);
        let outcome = run(&config, &plan(), "ideal", &loads, 1);
        assert_eq!(outcome.totals.element_busy, outcome.totals.element_work);
        let work = outcome.totals.element_work.as_ps() / 1_000_000;
        (times(&outcome, 0)[7], work)
    };
    let (shared, work) = of(SHARED);
    assert_eq!(
        of(RESERVED),
        (2 * shared, work),
        "the same work in twice the time"
    );
    // A tenant alone reserves all.
    let alone = |isolation| {
        let config = server(isolation, &[("accelerator.pes", 4.0)]);
        found(&config, &loads[..1])
    };
    assert_eq!(alone(RESERVED), alone(SHARED));
}

#[test]
fn a_flood_changes_nothing_for_another_tenant() {
    let poisson = |rate_rps| ArrivalProcess::Poisson { rate_rps };
    // Four elements of 10 us serve 400,000 a second.
    let mine = Load::new(0, poisson(100_000.0), 1_000, 0);
    let other = |rate| Load::new(1, poisson(rate), 2_000, 0).of_tenant(1);
    let of = |isolation, rate| {
        let config = server(isolation, &[]);
        let mut outcome = run(&config, &plan(), "ideal", &[mine.clone(), other(rate)], 3);
        let p99 = outcome.services[0].latency.percentile(99.0);
        (p99.unwrap(), outcome.services[0].latency.mean().unwrap())
    };
    assert!(of(SHARED, 4e6).0 > of(SHARED, 20_000.0).0 * 10);
    assert_eq!(of(RESERVED, 4e6), of(RESERVED, 20_000.0));
}

#[test]
fn entries_are_reserved_too() {
    // One entry and one overflow entry each: the third message of a tenant finds both taken, and
    // its core executes it. The other tenant's find room.
    let config = |isolation| {
        let values = [
            ("accelerator.pes", 2.0),
            ("accelerator.input_entries", 2.0),
            ("accelerator.overflow_entries", 2.0),
        ];
        server(isolation, &values)
    };
    let denied = |isolation| {
        let loads = [at(0, 1, 8), at(1, 2, 2)];
        let outcome = run(&config(isolation), &plan(), "ideal", &loads, 1);
        let of = |service: usize| {
            let fallbacks = &outcome.services[service].fallbacks;
            fallbacks.get(&Fallback::OverflowFull).copied().unwrap_or(0)
        };
        [of(0), of(1)]
    };
    // Shared: two run, two have entries, two are in the overflow area.
    assert_eq!(denied(SHARED), [2, 2]);
    assert_eq!(denied(RESERVED), [5, 0]);
}

#[test]
fn shares_that_cannot_be_are_refused() {
    let refused = |id: &str, values: &[(&str, f64)]| {
        simulate(&Run {
            config: &server(RESERVED, values),
            plan: &plan(),
            orchestrator: orchestrator(id).unwrap(),
            loads: &[at(0, 1, 1), at(1, 1, 1)],
            seed: 1,
        })
        .unwrap_err()
    };
    for (key, what) in [
        ("pes", "processing elements"),
        ("input_entries", "input entries"),
        ("output_entries", "output entries"),
    ] {
        let key = format!("accelerator.{key}");
        let error = refused("accelflow", &[(&key, 1.0)]);
        assert_eq!(
            error.refusal().unwrap().to_string(),
            format!(
                "tenant.isolation = reserved: must be shared, unless every accelerator has a \
                 processing element, an input entry and an output entry for each of the 2 tenants: \
                 TCP has 1 {what}"
            ),
        );
    }
    assert_eq!(
        refused("relief", &[]).refusal().unwrap().to_string(),
        "tenant.isolation = reserved: must be 'shared' with several tenants under relief, whose \
         accelerators have one common queue"
    );
}

#[test]
fn reserved_shares_lose_nothing_in_any_system() {
    for id in SYSTEMS.into_iter().filter(|id| *id != "relief") {
        let values = [
            ("tenant.isolation", RESERVED),
            ("accelerator.pes", 3.0),
            ("accelerator.input_entries", 3.0),
            ("accelerator.overflow_entries", 1.0),
            ("accelerator.output_entries", 2.0),
            ("accelerator.instances", 2.0),
        ];
        let mut config = Config::default();
        set(&mut config, &values);
        let poisson = |rate_rps| ArrivalProcess::Poisson { rate_rps };
        let loads = [
            Load::new(0, poisson(200_000.0), 300, 30),
            Load::new(1, poisson(900_000.0), 500, 50).of_tenant(1),
        ];
        let plan = {
            let mut plan = fixed_plan(
                &crate::common::uniq_id(),
                10_000.0,
                3_000,
                &crate::common::round_cost,
            );
            plan.services = vec![plan.services[0].clone(); 2];
            plan
        };
        let outcome = run(&config, &plan, id, &loads, 5);
        let totals = &outcome.totals;
        assert!(totals.drained, "{id}");
        assert_eq!(totals.population_ps, totals.latency_ps, "{id}");
        assert_eq!(totals.spent_ps, totals.latency_ps, "{id}");
        assert_eq!(
            totals.element_busy,
            totals.element_work + totals.element_stopped + totals.element_blocked,
            "{id}"
        );
        for stats in &outcome.services {
            assert_eq!(stats.completed, stats.arrived, "{id}");
        }
        for stats in &outcome.accelerators {
            assert!(stats.utilization <= stats.any_busy + 1e-12, "{id}");
            assert!(stats.any_busy <= 1.0, "{id}");
        }
    }
}
