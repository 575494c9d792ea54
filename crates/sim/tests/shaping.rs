//! Tight gates for tenants behind ARCUS's traffic shaper.

#![allow(clippy::unwrap_used)]

use accelflow_shaping::{FlowConfig, Registers, Splitting, Unit};
use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::{Config, Load, Run, SimError, simulate};
use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::services::{Chain, Operation, Phase, Service};

use crate::common::{
    ALL, NOTHING_NS, fixed_plan, frictionless, receive, response, round_cost, run, sink, together,
};

fn slow(accel: Accel) -> impl Fn(&Operation) -> f64 {
    move |operation| match operation.accel {
        it if it == accel => 10_000.0,
        _ => NOTHING_NS,
    }
}

/// `count` services that receive a message, which takes TCP 10 us, and do nothing else.
fn sinks(count: usize) -> Plan {
    let mut plan = fixed_plan(&sink(), NOTHING_NS, 0, &slow(Accel::Tcp));
    plan.services = vec![plan.services[0].clone(); count];
    plan
}

/// Receives, calls `count` others at once, and answers.
fn calls(count: usize) -> Plan {
    let rpc = Chain::new("T9")
        .with("T10", "exception", 0)
        .with("T10", "compressed", 0);
    let path = vec![
        receive(0),
        Phase::Cpu,
        Phase::parallel(count, &rpc),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    let service = Service::new("CPost", "ComposePost", path).unwrap();
    fixed_plan(&service, NOTHING_NS, 0, &round_cost)
}

fn with(values: &[(&str, f64)]) -> Config {
    let mut config = frictionless();
    for (key, value) in values {
        config.set(key, *value).unwrap();
    }
    config
}

/// A token is one of `unit`; a cycle takes 4 ns.
fn limiter(unit: Unit, refill: u64, bucket: u64, interval: u64) -> FlowConfig {
    FlowConfig::new(unit, Registers::new(refill, bucket, interval).unwrap())
}

/// What shaping adds to the response times of `count` requests at 1 us, in ns.
fn shaped_ns(flow: FlowConfig, count: u64) -> Vec<u64> {
    let config = with(&[("accelerator.pes", 64.0)]);
    let single = response(&config, &sinks(1), "ideal");
    let loads = [together(count)[0].clone().shaped(flow)];
    let outcome = run(&config, &sinks(1), "ideal", &loads, 1);
    assert!(outcome.totals.drained);
    let latencies = outcome.services[0].latency.iter();
    let mut added: Vec<Time> = latencies.map(|latency| latency - single).collect();
    added.sort_unstable();
    let tenant = outcome.tenants[0];
    assert_eq!((tenant.shaped, tenant.started), (count, count));
    assert_eq!(tenant.shaping_time, added.iter().copied().sum());
    added.iter().map(|time| time.as_ps() / 1_000).collect()
}

/// How long `count` requests of `bytes` at 1 us were in the shaper, all together, in ns.
fn in_shaper_ns(flow: FlowConfig, bytes: u64, count: u64) -> u64 {
    let plan = fixed_plan(&sink(), NOTHING_NS, bytes, &slow(Accel::Tcp));
    let loads = [together(count)[0].clone().shaped(flow)];
    let outcome = run(&frictionless(), &plan, "ideal", &loads, 1);
    assert!(outcome.totals.drained);
    outcome.tenants[0].shaping_time.as_ps() / 1_000
}

#[test]
fn a_shaped_trace_starts_with_its_token_and_not_a_refill_later() {
    // A trace passes each cycle, and starts 36 ns later; refills are at 10 us, 20 us and so on.
    let operations = |bucket, interval| {
        let flow = limiter(Unit::Operations, 1, bucket, interval);
        shaped_ns(flow, 5)
    };
    assert_eq!(operations(5, 2_500), [36, 40, 44, 48, 52]);
    assert_eq!(operations(4, 2_500), [36, 40, 44, 48, 9_036]);
    assert_eq!(operations(3, 2_500), [36, 40, 44, 9_036, 19_036]);
    assert_eq!(operations(3, 2_501), [36, 40, 44, 9_040, 19_044]);
    // Refills of 251 cycles are just behind the arrivals, those of 250 with them.
    assert_eq!(operations(1, 250)[1], 1_036);
    assert_eq!(operations(1, 251)[1], 40);
}

#[test]
fn a_token_can_be_a_byte() {
    let bytes = |bucket| in_shaper_ns(limiter(Unit::Bytes, 1_000, bucket, 2_500), 1_000, 4);
    assert_eq!(bytes(4_000), 36 + 40 + 44 + 48);
    assert_eq!(bytes(3_999), 36 + 40 + 44 + 9_036);
    // A trace starts when all of its input has been paid for, here in 4 pieces or 3.
    let pieces = FlowConfig {
        splitting: Splitting::segments(Bytes(300), Bytes(0)).unwrap(),
        ..limiter(Unit::Bytes, 300, 300, 2_500)
    };
    assert_eq!(in_shaper_ns(pieces, 901, 1), 29_036);
    assert_eq!(in_shaper_ns(pieces, 900, 1), 19_036);
}

#[test]
fn every_start_of_a_shaped_tenant_passes_its_shaper() {
    for id in ALL.into_iter().filter(|id| *id != "non_acc") {
        for limit in [0.0, 1.0] {
            let config = with(&[("tenant.max_traces", limit)]);
            let flow = limiter(Unit::Operations, 1, 1, 250);
            let loads = [together(2)[0].clone().shaped(flow)];
            let outcome = run(&config, &calls(3), id, &loads, 1);
            let tenant = outcome.tenants[0];
            // T1, T9 and T10 of each call, T2.
            assert_eq!((tenant.shaped, tenant.started), (16, 16), "{id}");
            // A token each microsecond, after the first.
            let end = outcome.services[0].latency.iter().max().unwrap();
            assert!(end >= Time::from_us(15), "{id}: {end}");
            let totals = &outcome.totals;
            assert!(limit == 0.0 || tenant.peak_running == 1);
            assert_eq!(totals.element_busy, totals.element_work, "{id}");
            assert_eq!(outcome.services[0].completed, 2);
            assert!(totals.drained, "{id}");
        }
    }
}

#[test]
fn a_shaped_flood_has_its_rate_and_leaves_the_rest_to_others() {
    let plan = sinks(2);
    let poisson = |rate_rps| ArrivalProcess::Poisson { rate_rps };
    let mine = Load::new(0, poisson(50_000.0), 4_000, 400);
    let flood = Load::new(1, poisson(1_200_000.0), 96_000, 9_600).of_tenant(7);
    let config = with(&[("accelerator.overflow_entries", 65_536.0)]);
    let found = |loads: &[Load]| {
        let mut outcome = run(&config, &plan, "accelflow", loads, 3);
        assert!(outcome.totals.drained);
        let p99 = outcome.services[0].latency.percentile(99.0).unwrap();
        let of = &outcome.services[1];
        let window = of.measured.map(|(from, to)| (to - from).as_s_f64());
        let rate = of.completed_in_window as f64 / window.unwrap_or(1.0);
        (p99.as_us_f64(), rate)
    };
    let (alone, _) = found(std::slice::from_ref(&mine));
    let (flooded, _) = found(&[mine.clone(), flood.clone()]);
    assert!(flooded > 100.0 * alone, "{flooded} {alone}");
    for (refill, rate) in [(1, 100_000.0), (4, 400_000.0)] {
        let flow = limiter(Unit::Operations, refill, 4, 2_500);
        let (p99, had) = found(&[mine.clone(), flood.clone().shaped(flow)]);
        // Elements that change tenants are wiped and initialised: 1.31 us at each of five.
        assert!(p99 < alone + 5.0 * 1.31 + 0.3, "{p99} {alone}");
        assert!((had / rate - 1.0).abs() < 0.01, "{had} {rate}");
    }
}

#[test]
fn a_shaped_flood_has_the_requests_that_it_was_promised() {
    // Each request is two traces: a message, and a response.
    let path = vec![receive(0), Phase::Cpu, Phase::one(Chain::new("T2"))];
    let service = Service::new("UniqId", "UniqueId", path).unwrap();
    let plan = fixed_plan(&service, NOTHING_NS, 0, &round_cost);
    let promised = 100_000.0;
    // A trace each 5 us, for 5 times the requests.
    let flow = limiter(Unit::Operations, 1, 16, 1_250);
    let arrivals = ArrivalProcess::Poisson {
        rate_rps: 500_000.0,
    };
    let load = Load::new(0, arrivals, 20_000, 2_000).shaped(flow);
    let share = |order: f64| {
        let config = with(&[("tenant.shaping_order", order)]);
        let outcome = run(&config, &plan, "accelflow", std::slice::from_ref(&load), 1);
        assert!(outcome.totals.drained);
        assert_eq!(outcome.tenants[0].shaped, 2 * 20_000);
        let of = &outcome.services[0];
        let window = of.measured.map(|(from, to)| (to - from).as_s_f64());
        of.completed_in_window as f64 / window.unwrap_or(1.0) / promised
    };
    // In the order of asking, first traces of later requests take the tokens.
    let asking = share(0.0);
    assert!(asking < 0.5, "{asking}");
    let begun_first = share(1.0);
    assert!((begun_first - 1.0).abs() < 0.02, "{begun_first}");
}

#[test]
fn a_shaped_trace_has_the_tokens_of_both_limits() {
    let both = |requests: FlowConfig, bytes: FlowConfig| {
        let bytes = FlowConfig {
            splitting: Splitting::segments(Bytes(4_000), Bytes(0)).unwrap(),
            ..bytes.and(requests.registers)
        };
        in_shaper_ns(bytes, 1_000, 4)
    };
    let operations = |bucket| limiter(Unit::Operations, 1, bucket, 2_500);
    let bytes = |bucket| limiter(Unit::Bytes, 1_000, bucket, 2_500);
    assert_eq!(both(operations(4), bytes(4_000)), 36 + 40 + 44 + 48);
    assert_eq!(both(operations(3), bytes(4_000)), 36 + 40 + 44 + 9_036);
    let three = FlowConfig {
        splitting: Splitting::segments(Bytes(1_000), Bytes(0)).unwrap(),
        ..bytes(3_000).and(operations(4).registers)
    };
    assert_eq!(in_shaper_ns(three, 1_000, 4), 36 + 40 + 44 + 9_036);
}

#[test]
fn work_larger_than_a_bucket_is_refused() {
    let plan = fixed_plan(&sink(), NOTHING_NS, 1_000, &slow(Accel::Tcp));
    let refused = |loads: &[Load]| {
        let run = Run {
            config: &frictionless(),
            plan: &plan,
            orchestrator: orchestrator("accelflow").unwrap(),
            loads,
            seed: 1,
        };
        simulate(&run).unwrap_err()
    };
    let load = together(1)[0].clone().of_tenant(3);
    let small = limiter(Unit::Bytes, 1_000, 999, 2_500);
    let error = refused(&[load.clone().shaped(small)]);
    assert!(matches!(error, SimError::Shaping { tenant: 3, .. }));
    let both = [load.clone().shaped(small), load];
    assert_eq!(refused(&both), SimError::ShapingDiffers(3));
}
