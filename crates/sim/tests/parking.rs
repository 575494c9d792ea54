//! Traces that wait for a message: which systems keep them in a queue, and at what cost.

#![allow(clippy::unwrap_used)]

use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::{Fallback, SimulationResult};
use accelflow_sim::{Config, Load};
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::services::{Chain, Phase, Service};

use crate::common::{NOTHING_NS, SYSTEMS, fixed_plan, frictionless, receive, run, set};

/// A write, whose answer takes 5 us, and nothing else that takes time.
pub(crate) fn plan() -> Plan {
    let write = Chain::new("T8").with("T7", "exception", 0);
    let path = vec![
        receive(0),
        Phase::Cpu,
        Phase::one(write),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    let service = Service::new("StoreP", "StorePost", path).unwrap();
    fixed_plan(&service, NOTHING_NS, 0, &|_| NOTHING_NS)
}

/// Eight requests, of which each waits before the next comes, and queues of `entries`.
fn eight(id: &str, parking: f64, entries: f64, values: &[(&str, f64)]) -> SimulationResult {
    let mut config: Config = frictionless();
    let queues = [
        ("tcp.parking", parking),
        ("accelerator.input_entries", entries),
        ("accelerator.overflow_entries", 0.0),
        ("relief.queue_entries", entries),
    ];
    set(&mut config, &queues);
    set(&mut config, values);
    let times = (10..18).map(|tenths| Time::from_ns(100 * tenths)).collect();
    let load = Load::new(0, ArrivalProcess::Trace(times), 8, 0);
    run(&config, &plan(), id, &[load], 1)
}

/// Whether queues of four are too short, though those of sixteen are not.
fn four_entries_are_too_few(id: &str, parking: f64) -> bool {
    let full = |entries| {
        let outcome = eight(id, parking, entries, &[]);
        assert!(outcome.totals.drained, "{id}");
        assert_eq!(outcome.services[0].completed, 8, "{id}");
        outcome.services[0]
            .fallbacks
            .contains_key(&Fallback::OverflowFull)
    };
    assert!(!full(16.0), "{id}");
    full(4.0)
}

/// Whether the accelerators of a system keep traces that wait for a message.
fn parks(id: &str) -> bool {
    let system = orchestrator(id).unwrap();
    system.properties(&Config::default()).parks
}

#[test]
fn waiting_traces_occupy_an_entry_in_systems_that_keep_them() {
    for id in &SYSTEMS[1..] {
        let parks = parks(id);
        let found = [0.0, 1.0, 2.0].map(|parking| four_entries_are_too_few(id, parking));
        assert_eq!(found, [parks, true, false], "{id}");
    }
}

#[test]
fn without_traces_nothing_waits_in_a_queue() {
    let with_traces = SYSTEMS.map(|id| (id, parks(id)));
    for (id, parks) in with_traces {
        let before_direct = [
            "non_acc",
            "cpu_centric",
            "relief",
            "cohort",
            "cohort_polling",
            "per_acc_type_q",
        ];
        assert_eq!(parks, !before_direct.contains(&id), "{id}");
    }
}

#[test]
fn an_entry_is_free_again_when_the_message_does_not_come() {
    for id in &SYSTEMS[1..] {
        for entries in [2.0, 16.0] {
            let late = [
                ("tcp.timeout_us", 1.0),
                ("accelerator.overflow_entries", 2.0),
            ];
            let outcome = eight(id, 1.0, entries, &late);
            assert!(outcome.totals.drained, "{id}");
            assert_eq!(outcome.services[0].timed_out, 8, "{id}");
        }
    }
}

#[test]
fn a_message_moves_its_waiting_trace_up_from_the_overflow_area() {
    for id in &SYSTEMS[1..] {
        let outcome = eight(id, 1.0, 2.0, &[("accelerator.overflow_entries", 64.0)]);
        assert!(outcome.totals.drained, "{id}");
        assert_eq!(outcome.services[0].completed, 8, "{id}");
        let fallbacks = &outcome.services[0].fallbacks;
        assert!(!fallbacks.contains_key(&Fallback::OverflowFull), "{id}");
    }
}

#[test]
fn traces_that_wait_for_their_tenants_limit_leave_room_for_those_that_run() {
    for id in &SYSTEMS[1..] {
        for (limit, overflow) in [(1.0, 2.0), (1.0, 64.0), (5.0, 2.0), (5.0, 64.0)] {
            let few = [
                ("tenant.max_traces", limit),
                ("accelerator.overflow_entries", overflow),
            ];
            let outcome = eight(id, 1.0, 2.0, &few);
            assert!(outcome.totals.drained, "{id}, {few:?}");
            assert_eq!(outcome.services[0].completed, 8, "{id}, {few:?}");
        }
    }
}
