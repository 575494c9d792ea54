//! Flows that are added while others run: they have their own place in every order of service.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_arcus::{
    Accelerator, Action, Arrivals, Controller, Counters, Curve, Flow, Mechanism, Order, Path,
    Platform, RunResult, Settings, simulate_with,
};
use accelflow_units::{Bandwidth, Bytes, Time};

/// Adds flows at the end of the first control period.
struct Late(Vec<Flow>);

impl Controller for Late {
    fn tick(&mut self, _now: Time, _period: Time, _counters: &[Counters]) -> Vec<Action> {
        let flows = std::mem::take(&mut self.0).into_iter();
        flows
            .map(|flow| Action::Add(Box::new(flow), None))
            .collect()
    }
}

/// A call of an accelerator, with a DMA engine of its own: the accelerator's queue orders the
/// flows.
fn call(engine: usize, arrivals: Arrivals) -> Flow {
    Flow::new(engine, Path::FunctionCall, Bytes(4_096), arrivals).by_engine(engine)
}

/// Runs flows under PANIC, some of them from the start and the others from the end of the warm-up.
fn run(first: &[Flow], late: &[Flow], order: Order) -> RunResult {
    let peak = Bandwidth::from_bytes_per_s(2_000_000_000).unwrap();
    let setup = Time::from_ns(50);
    let slow = Accelerator::new("slow", Curve::Saturating { setup, peak });
    let mut platform = Platform::prototype(vec![slow]);
    platform.dma.engines = 4;
    let settings = Settings {
        warmup: Time::from_us(100),
        ..Settings::lasting(Time::from_us(2_000))
    };
    let buffer = 4_096;
    let panic = Mechanism::Panic { order, buffer };
    let mut late = Late(late.to_vec());
    simulate_with(&platform, first, &panic, &settings, &mut late).unwrap()
}

#[test]
fn a_flow_that_comes_under_panic_is_served_by_its_own_priority() {
    let backlog = call(0, Arrivals::Backlogged).with_priority(3);
    let rare = call(1, Arrivals::Paced(Time::from_us(50))).with_priority(0);
    let late = |first: &[Flow], late: &[Flow]| {
        let result = run(first, late, Order::Priority);
        result.flows[1].latency(99.0).unwrap()
    };
    let from_the_start = late(&[backlog.clone(), rare.clone()], &[]);
    let added = late(&[backlog], &[rare]);
    // It waits for one message of the other flow, and not for its whole window of 16.
    assert!(from_the_start < Time::from_us(8), "{from_the_start}");
    assert!(added < Time::from_us(8), "{added} for {from_the_start}");
}

#[test]
fn flows_that_come_under_panic_get_rates_by_their_own_weights() {
    let flows = [1.0, 2.0, 3.0]
        .map(|weight| call(weight as usize, Arrivals::Backlogged).with_weight(weight));
    for present in [0, 1, 3] {
        let (first, late) = flows.split_at(present);
        let result = run(first, late, Order::WeightedFair);
        let rates = [0, 1, 2].map(|flow| result.gbit_per_s(flow));
        for (flow, weight) in flows.iter().zip(1_u32..) {
            let share = rates[flow.vm - 1] / rates[0];
            let weight = f64::from(weight);
            assert!((share / weight - 1.0).abs() < 0.05, "{present}: {rates:?}");
        }
    }
}

/// Orders actions at the end of the first control period.
struct Once(Vec<Action>);

impl Controller for Once {
    fn tick(&mut self, _now: Time, _period: Time, _counters: &[Counters]) -> Vec<Action> {
        std::mem::take(&mut self.0)
    }
}

#[test]
fn the_order_of_actions_at_one_time_does_not_matter() {
    let peak = Bandwidth::from_bytes_per_s(4_000_000_000).unwrap();
    let accelerator = |name: &str, setup| {
        let setup = Time::from_us(setup);
        Accelerator::new(name, Curve::Saturating { setup, peak })
    };
    // The second is idle until messages that wait for the first are routed to it.
    let platform = Platform::prototype(vec![accelerator("slow", 60), accelerator("fast", 1)]);
    let flow = |arrivals| Flow::new(0, Path::InlineRx, Bytes(1_000), arrivals);
    let route = Action::Route {
        flow: 0,
        accelerators: vec![1],
        engine: 0,
        path: Path::InlineRx,
    };
    let settings = Settings {
        warmup: Time::ZERO,
        control_period: Time::from_us(10),
        ..Settings::lasting(Time::from_us(100))
    };
    let messages = |actions: Vec<Action>| {
        let flows = [flow(Arrivals::Backlogged)];
        let mut once = Once(actions);
        let unshaped = Mechanism::NoShaping;
        let result = simulate_with(&platform, &flows, &unshaped, &settings, &mut once).unwrap();
        result.flows[0].latencies().count()
    };
    let add = Action::Add(Box::new(flow(Arrivals::Paced(Time::from_us(90)))), None);
    let after = messages(vec![add.clone(), route.clone()]);
    assert_eq!(messages(vec![route, add]), after);
    assert!(after > 50, "{after}");
}
