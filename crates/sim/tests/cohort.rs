//! The software queues of the polling Cohort: when a core polls, and what happens when a queue is
//! full.

#![allow(clippy::unwrap_used)]

use accelflow_sim::Config;
use accelflow_sim::plan::Plan;
use accelflow_trace::source::seq;
use accelflow_trace::{Accel, templates};
use accelflow_units::{Bytes, Time};
use accelflow_workload::profile::RecordingOptions;
use accelflow_workload::services::{Chain, Phase, Service};
use accelflow_workload::sizes::{PayloadSizes, SizeDistribution};

use crate::common::{
    fixed_plan, frictionless, profile_on, responses, round_cost, run, set, together, uniq_id,
};

/// A message that passes TCP, Decr, RPC and LdB: TCP and Decr are a pair, and RPC and LdB. So one
/// hand-over needs the core, and the end.
fn one_hand_over() -> Plan {
    let mut library = templates().unwrap();
    let way = seq(&["TCP", "Decr", "RPC", "LdB"]).unwrap();
    library.register("pass", way).unwrap();
    let image = library.link().unwrap();
    let path = vec![Phase::one(Chain::new("pass"))];
    let service = Service::new("Pass", "Pass", path).unwrap();
    let options = RecordingOptions::default();
    let profile = profile_on(&image, &service, 0.001, 0, &options, &round_cost);
    let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(0)));
    let plan = Plan::new(&profile, &image, &sizes).unwrap();
    let pairs: Vec<_> = plan.links.pairs().collect();
    assert_eq!(pairs, [(Accel::Tcp, Accel::Decr), (Accel::Rpc, Accel::Ldb)]);
    plan
}

/// One core, switches of 1 us, looks of 20 ns, and 150 and 100 ns to take an entry and to add one.
fn one_core(values: &[(&str, f64)]) -> Config {
    let mut config = frictionless();
    let costs = [
        ("core.count", 1.0),
        ("core.context_switch_ns", 1_000.0),
        ("cohort.poll_ns", 20.0),
        ("cohort.pop_ns", 150.0),
        ("cohort.push_ns", 100.0),
    ];
    set(&mut config, &costs);
    set(&mut config, values);
    config
}

/// How much later the second of two requests that arrive together ends.
fn second_later(values: &[(&str, f64)]) -> Time {
    let two = responses(&one_core(values), &one_hand_over(), "cohort_polling", 2);
    two[1] - two[0]
}

/// To take an entry, to switch to its request's thread, to add one.
const HAND_OVER_NS: u64 = 150 + 1_000 + 100;

#[test]
fn a_core_with_other_work_looks_between_tasks_when_its_last_look_began_a_period_ago() {
    // The look that finds both begins 20 + 1,250 ns before the first hand-over ends.
    let never = second_later(&[("cohort.poll_period_ns", 1_271.0)]);
    assert_eq!(never, Time::from_ns(HAND_OVER_NS));
    let once = second_later(&[("cohort.poll_period_ns", 1_270.0)]);
    assert_eq!(once, Time::from_ns(HAND_OVER_NS + 1_000 + 20));
}

#[test]
fn work_that_finds_a_full_queue_is_taken_by_the_next_poll() {
    let rarely = ("cohort.poll_period_ns", 1e6);
    let both = second_later(&[rarely, ("cohort.queue_entries", 2.0)]);
    assert_eq!(both, Time::from_ns(HAND_OVER_NS));
    // The core has nothing else to do after the first, so it goes back to polling.
    let one = second_later(&[rarely, ("cohort.queue_entries", 1.0)]);
    assert_eq!(one, Time::from_ns(HAND_OVER_NS + 1_000 + 20));
}

#[test]
fn entries_are_handled_in_the_order_in_which_they_came() {
    // With one element each, requests come to the core one after the other.
    let config = one_core(&[("accelerator.pes", 1.0), ("cohort.poll_period_ns", 1e6)]);
    let plan = fixed_plan(&uniq_id(), 30_000.0, 0, &round_cost);
    let outcome = run(&config, &plan, "cohort_polling", &together(6), 1);
    let times: Vec<Time> = outcome.services[0].latency.iter().collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
}

#[test]
fn looks_take_time_from_cores_and_other_systems_have_none() {
    let plan = fixed_plan(&uniq_id(), 30_000.0, 0, &round_cost);
    let busy = |id: &str, period: f64| {
        let config = one_core(&[("cohort.poll_period_ns", period)]);
        run(&config, &plan, id, &together(20), 1)
            .orchestration
            .cores
    };
    let cohort = [1e6, 5_000.0, 0.0].map(|period| busy("cohort_polling", period));
    assert!(cohort[0] < cohort[1] && cohort[1] < cohort[2], "{cohort:?}");
    for id in ["cpu_centric", "relief", "accelflow"] {
        assert_eq!(busy(id, 0.0), busy(id, 1e6), "{id}");
    }
}
