//! Accelerators that do the operations of others when they are idle.

#![allow(clippy::unwrap_used)]

use accelflow_sim::plan::Plan;
use accelflow_sim::stats::SimulationResult;
use accelflow_sim::{Config, Load};
use accelflow_trace::Accel;
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::services::Operation;
use proptest::prelude::*;

use crate::common::{
    NOTHING_NS, SYSTEMS, check_conservation, fixed_plan, frictionless, round_cost, run, set, sink,
    together, whole_us,
};

/// A service that receives a message, which takes `slow` 10 us, and does nothing else.
fn plan(slow: Accel) -> Plan {
    let cost = |operation: &Operation| match operation.accel {
        accel if accel == slow => 10_000.0,
        _ => NOTHING_NS,
    };
    fixed_plan(&sink(), NOTHING_NS, 0, &cost)
}

/// `count` requests at once where each accelerator has one element.
fn outcome(slow: Accel, reuse: f64, speed: f64, count: u64) -> SimulationResult {
    let mut config = frictionless();
    let values = [
        ("accelerator.pes", 1.0),
        ("accelerator.reuse", reuse),
        ("accelerator.reuse_speed", speed),
    ];
    set(&mut config, &values);
    let outcome = run(&config, &plan(slow), "accelflow", &together(count), 1);
    assert!(outcome.totals.drained);
    outcome
}

#[test]
fn idle_accelerators_take_what_finds_no_free_element() {
    let of = |reuse, speed, count| whole_us(&outcome(Accel::Decr, reuse, speed, count));
    assert_eq!(of(0.0, 1.0, 3), [10, 20, 30]);
    assert_eq!(of(1.0, 1.0, 3), [10, 10, 10]);
    // At half of the speed, the first is done by Decr itself.
    assert_eq!(of(1.0, 0.5, 3), [10, 20, 20]);
    // Seven accelerators but TCP and LdB do one each, and Decr the one that finds none free.
    assert_eq!(of(1.0, 1.0, 8), [10, 10, 10, 10, 10, 10, 10, 20]);
}

#[test]
fn connections_and_cores_are_not_for_others() {
    for accel in [Accel::Tcp, Accel::Ldb] {
        for reuse in [0.0, 1.0] {
            assert_eq!(
                whole_us(&outcome(accel, reuse, 1.0, 3)),
                [10, 20, 30],
                "{accel}"
            );
        }
    }
}

#[test]
fn operations_count_where_they_are_done() {
    let of = |reuse| {
        let outcome = outcome(Accel::Decr, reuse, 1.0, 3);
        assert_eq!(outcome.totals.on_accelerators[Accel::Decr.index()], 3);
        let all: u64 = outcome
            .accelerators
            .iter()
            .map(|accel| accel.operations)
            .sum();
        assert_eq!(all, 3 * 5);
        let done = |accel: Accel| outcome.accelerators[accel.index()].operations;
        [Accel::Decr, Accel::Encr, Accel::Tcp].map(done)
    };
    assert_eq!(of(0.0), [3, 0, 3]);
    let [decr, encr, tcp] = of(1.0);
    assert!(decr < 3 && encr > 0 && tcp == 3, "{decr} {encr} {tcp}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Every operation is done once, wherever, and elements are busy for their work and waits.
    #[test]
    fn reuse_loses_nothing(
        pes in 1..=3_u32,
        instances in 1..=2_u32,
        entries in 1..=3_u32,
        isolation in 0..=1_u32,
        speed in prop::sample::select(vec![0.3, 1.0]),
        id in prop::sample::select(SYSTEMS.to_vec()),
        seed in any::<u64>(),
    ) {
        let tenants = if id == "relief" || pes < 2 || entries < 2 { 1 } else { 1 + isolation as u16 };
        let mut config = Config::default();
        set(&mut config, &[
            ("accelerator.reuse", 1.0),
            ("accelerator.reuse_speed", speed),
            ("accelerator.pes", f64::from(pes)),
            ("accelerator.instances", f64::from(instances)),
            ("accelerator.input_entries", f64::from(entries)),
            ("accelerator.output_entries", f64::from(entries)),
            ("accelerator.overflow_entries", f64::from(entries)),
            ("tenant.isolation", f64::from(isolation)),
        ]);
        let mut plan = fixed_plan(&crate::common::uniq_id(), 5_000.0, 3_000, &round_cost);
        plan.services = vec![plan.services[0].clone(); 2];
        let arrivals = |rate_rps| ArrivalProcess::Poisson { rate_rps };
        let loads = [
            Load::new(0, arrivals(400_000.0), 60, 6),
            Load::new(1, arrivals(900_000.0), 90, 9).of_tenant(tenants - 1),
        ];
        let outcome = run(&config, &plan, id, &loads, seed);
        check_conservation(&outcome, 9);
        let totals = &outcome.totals;
        let busy = totals.element_work + totals.element_stopped + totals.element_blocked;
        prop_assert_eq!(totals.element_busy, busy);
        let done: u64 = outcome.accelerators.iter().map(|accel| accel.operations).sum();
        prop_assert_eq!(done, totals.on_accelerators.iter().sum::<u64>());
        prop_assert!(outcome.accelerators.iter().all(|accel| accel.any_busy <= 1.0 && accel.utilization <= accel.any_busy + 1e-12));
        prop_assert!(outcome.services.iter().all(|service| service.completed == service.arrived && service.latency.iter().all(|time| time > Time::ZERO)));
    }
}
