//! Tight gates for output dispatchers: how long one is busy, and what it waits for.

#![allow(clippy::unwrap_used)]

use accelflow_sim::Config;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::Part;
use accelflow_units::Time;
use accelflow_workload::services::{Chain, Phase, Service};

use crate::common::{
    fixed_plan, frictionless, receive, responses, round_cost, run, set, sink, together,
};

const UNTIL_CONFIRMED: f64 = 1.0;
const INSTRUCTIONS: f64 = 0.0;

/// T1 without payload, whose five operations take 1 us each.
fn five_operations() -> Plan {
    fixed_plan(&sink(), 1.0, 0, &|_| 1_000.0)
}

/// 10 ns for the instructions of a dispatcher, 100 ns for a transfer.
fn dispatched(busy: f64) -> Config {
    let mut config = frictionless();
    set(
        &mut config,
        &[
            ("dispatcher.plain", 24.0),
            ("network.dma_setup_ns", 100.0),
            ("dispatcher.busy", busy),
        ],
    );
    config
}

/// How much later than the first the second of two requests has its response that arrive
/// together.
fn apart(config: &Config, plan: &Plan, id: &str) -> Time {
    let times = responses(config, plan, id, 2);
    times[1] - times[0]
}

#[test]
fn a_dispatcher_is_busy_until_the_engine_confirms_the_transfer() {
    let plan = five_operations();
    let waiting = dispatched(UNTIL_CONFIRMED);
    // Each of five operations, its instructions and its transfer.
    let alone = responses(&waiting, &plan, "accelflow", 1);
    assert_eq!(alone, [Time::from_ns(5 * (1_000 + 10 + 100))]);
    // Both results are there at once. From the first dispatcher on, one is 110 ns behind.
    let three = responses(&waiting, &plan, "accelflow", 3);
    let behind = |number: u64| alone[0] + Time::from_ns(110) * number;
    assert_eq!(three, [behind(0), behind(1), behind(2)]);
    // A dispatcher that is free when its instructions end lets it follow after 10.
    let free = dispatched(INSTRUCTIONS);
    assert_eq!(apart(&free, &plan, "accelflow"), Time::from_ns(10));
    // Without decisions by dispatchers nothing waits for them.
    assert_eq!(apart(&waiting, &plan, "ideal"), Time::ZERO);
    assert_eq!(apart(&waiting, &plan, "per_acc_type_q"), Time::ZERO);
}

#[test]
fn waiting_behind_a_transfer_is_time_of_the_dispatcher_and_the_transfer_is_not() {
    let plan = five_operations();
    let spent = |busy| {
        let outcome = run(&dispatched(busy), &plan, "accelflow", &together(2), 1);
        let spent = outcome.services[0].spent;
        let dispatchers = outcome.orchestration.dispatchers;
        [
            spent.of(Part::Dispatcher),
            spent.of(Part::Communication),
            dispatchers,
        ]
    };
    let ns = |times: [u64; 3]| times.map(Time::from_ns);
    // Two times five dispatches and transfers; one waits for the other's, at TCP alone.
    assert_eq!(spent(UNTIL_CONFIRMED), ns([100 + 110, 1_000, 10 * 110]));
    assert_eq!(spent(INSTRUCTIONS), ns([100 + 10, 1_000, 10 * 10]));
}

#[test]
fn work_of_the_manager_occupies_no_dispatcher() {
    // Direct leaves Dser's branch to the manager and a core, for 1 us. The second result is there
    // 110 ns after the first, and is decided on by another core.
    let mut config = dispatched(UNTIL_CONFIRMED);
    set(&mut config, &[("core.interrupt_ns", 1_000.0)]);
    let plan = five_operations();
    let alone = responses(&config, &plan, "direct", 1);
    assert_eq!(alone, [Time::from_ns(5 * (1_000 + 10 + 100) + 1_000)]);
    assert_eq!(apart(&config, &plan, "direct"), Time::from_ns(110));
}

#[test]
fn the_transformation_engine_keeps_its_dispatcher() {
    // T1 of compressed data: Dser transforms 1,000 B, at 1 GB/s one after the other.
    let service = Service::new("Sink", "Receive", vec![receive(1)]).unwrap();
    let plan = fixed_plan(&service, 1.0, 1_000, &|_| 1_000.0);
    let mut config = frictionless();
    let without = responses(&config, &plan, "accelflow", 1)[0];
    for (rate, ns) in [(1.0, 1_000), (2.0, 500)] {
        set(&mut config, &[("dispatcher.transform_gb_per_s", rate)]);
        let both = responses(&config, &plan, "accelflow", 2);
        assert_eq!(both[0], without + Time::from_ns(ns));
        let wait = both[1] - both[0];
        // The other's payload comes later over the same links, and need not wait for that.
        assert!(wait >= Time::from_ns(ns), "{wait:?}");
        assert!(wait < Time::from_ns(ns + 60), "{wait:?}");
    }
}

#[test]
fn dispatchers_share_the_ports_of_the_trace_memory() {
    // Both requests write to a database by TCPs of their own, whose dispatchers look for T7 at
    // the same time: 100 ns, and 10 ns of instructions.
    let write = Chain::new("T8").with("T7", "exception", 0);
    let path = vec![
        receive(0),
        Phase::Cpu,
        Phase::one(write),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    let service = Service::new("StoreP", "StorePost", path).unwrap();
    let plan = fixed_plan(&service, 10_000.0, 0, &round_cost);
    let found = |instances: f64, ports: f64, latency_ns: f64| {
        let mut config = frictionless();
        set(
            &mut config,
            &[
                ("dispatcher.load_atm", 24.0),
                ("dispatcher.busy", INSTRUCTIONS),
                ("instances.TCP", instances),
                ("atm.ports", ports),
                ("atm.latency_ns", latency_ns),
            ],
        );
        responses(&config, &plan, "accelflow", 2)
    };
    let none = found(2.0, 1.0, 0.0);
    let after = |ns: [u64; 2]| ns.map(|ns| none[0] + Time::from_ns(ns)).to_vec();
    assert_eq!(none, after([0, 0]));
    assert_eq!(found(2.0, 2.0, 100.0), after([100, 100]));
    assert_eq!(found(2.0, 1.0, 100.0), after([100, 200]));
    // One dispatcher reads one after the other, whatever there is, and executes between.
    assert_eq!(found(1.0, 2.0, 0.0), after([0, 10]));
    assert_eq!(found(1.0, 2.0, 100.0), after([100, 210]));
}
