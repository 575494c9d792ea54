//! Hand-overs that fall back to an idle core because it is sooner.

#![allow(clippy::unwrap_used)]

use accelflow_sim::plan::Plan;
use accelflow_sim::stats::{Fallback, SimulationResult};
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

/// A service that receives a message, decrypts it for 10 us on an accelerator, and does nothing
/// else.
fn plan(speedup: f64) -> Plan {
    let cost = |operation: &Operation| match operation.accel {
        Accel::Decr => 10_000.0 * speedup,
        _ => NOTHING_NS,
    };
    fixed_plan(&sink(), NOTHING_NS, 0, &cost)
}

/// `count` requests at once where Decr has one element.
fn outcome(values: &[(&str, f64)], speedup: f64, count: u64) -> SimulationResult {
    let mut config = frictionless();
    set(&mut config, &[("accelerator.pes", 1.0)]);
    set(&mut config, &[("speedup.Decr", speedup)]);
    set(&mut config, values);
    let outcome = run(&config, &plan(speedup), "accelflow", &together(count), 1);
    assert!(outcome.totals.drained);
    outcome
}

const SOONER: (&str, f64) = ("accelerator.fallback", 1.0);

#[test]
fn an_idle_core_takes_what_would_wait_for_longer() {
    assert_eq!(whole_us(&outcome(&[], 1.0, 3)), [10, 20, 30]);
    assert_eq!(whole_us(&outcome(&[SOONER], 1.0, 3)), [10, 10, 10]);
    // One core takes one of them, and is not idle for the next.
    let one_core = [SOONER, ("core.count", 1.0)];
    assert_eq!(whole_us(&outcome(&one_core, 1.0, 3)), [10, 10, 20]);
}

#[test]
fn a_slower_core_takes_only_what_it_ends_sooner() {
    // The core takes 40 us, so four may be ahead of an operation that waits: it ends at 40 as well.
    assert_eq!(whole_us(&outcome(&[], 4.0, 6)), [10, 20, 30, 40, 50, 60]);
    assert_eq!(
        whole_us(&outcome(&[SOONER], 4.0, 6)),
        [10, 20, 30, 40, 40, 40]
    );
    // A context switch of 15 us is part of the core's time.
    let switch = [SOONER, ("core.context_switch_ns", 15_000.0)];
    let times = whole_us(&outcome(&switch, 4.0, 7));
    assert_eq!(times, [10, 20, 30, 40, 50, 55, 55]);
}

/// Answers come 1 ms after the requests, and are sent by a TCP at which more traces wait for other
/// answers than it has elements.
#[test]
fn traces_that_wait_for_messages_are_not_ahead() {
    let plan = crate::parking::plan();
    let count = |values: &[(&str, f64)]| {
        let mut config = frictionless();
        set(
            &mut config,
            &[("tcp.parking", 1.0), ("accelerator.pes", 1.0)],
        );
        set(&mut config, values);
        let times = (10..30).map(|tenths| Time::from_ns(100 * tenths)).collect();
        let load = Load::new(0, ArrivalProcess::Trace(times), 20, 0);
        let outcome = run(&config, &plan, "accelflow", &[load], 1);
        outcome.services[0]
            .fallbacks
            .get(&Fallback::CoreSooner)
            .copied()
    };
    assert_eq!(count(&[SOONER]), None);
}

#[test]
fn the_reason_is_counted() {
    let found = |values| outcome(values, 4.0, 6).services[0].fallbacks.clone();
    assert!(found(&[]).is_empty());
    assert_eq!(found(&[SOONER]), [(Fallback::CoreSooner, 2)].into());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Every operation is done once, on an accelerator or on a core.
    #[test]
    fn falling_back_sooner_loses_nothing(
        pes in 1..=2_u32,
        instances in 1..=2_u32,
        entries in 1..=3_u32,
        id in prop::sample::select(SYSTEMS.to_vec()),
        seed in any::<u64>(),
    ) {
        let mut config = Config::default();
        set(&mut config, &[
            SOONER,
            ("accelerator.pes", f64::from(pes)),
            ("accelerator.instances", f64::from(instances)),
            ("accelerator.input_entries", f64::from(entries)),
            ("accelerator.overflow_entries", f64::from(entries)),
        ]);
        let plan = fixed_plan(&crate::common::uniq_id(), 5_000.0, 3_000, &round_cost);
        let arrivals = ArrivalProcess::Poisson { rate_rps: 900_000.0 };
        let outcome = run(&config, &plan, id, &[Load::new(0, arrivals, 90, 9)], seed);
        check_conservation(&outcome, 9);
    }
}
