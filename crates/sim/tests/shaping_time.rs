//! Tenants that are limited in accelerator time.

#![allow(clippy::unwrap_used)]

use accelflow_shaping::{Clock, FlowConfig, Registers, Unit};
use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::SimulationResult;
use accelflow_sim::{Config, Load, Run, SimError, simulate};
use accelflow_trace::Accel;
use accelflow_units::Time;
use accelflow_workload::arrivals::{ArrivalProcess, Modulation};
use accelflow_workload::services::{Chain, Operation, Phase, Service};

use crate::common::{
    ALL, NOTHING_NS, fixed_plan, frictionless, receive, round_cost, run, sink, together, uniq_id,
};

/// A service that receives a message of `bytes`, which takes TCP `us` on a core, and does nothing
/// else.
fn receives(bytes: u64, us: f64) -> Plan {
    let cost = move |operation: &Operation| match operation.accel {
        Accel::Tcp => us * 1e3,
        _ => NOTHING_NS,
    };
    fixed_plan(&sink(), NOTHING_NS, bytes, &cost)
}

/// Both services, as numbers 0 and 1.
fn beside(mut one: Plan, other: Plan) -> Plan {
    one.services.extend(other.services);
    one
}

fn limit(s_per_s: f64, burst_s: f64) -> Registers {
    Registers::for_accelerator_time(s_per_s, Some(burst_s), Clock::PAPER).unwrap()
}

fn config() -> Config {
    let mut config = frictionless();
    config
        .set("accelerator.overflow_entries", 65_536.0)
        .unwrap();
    config
}

fn poisson(rate_rps: f64) -> ArrivalProcess {
    ArrivalProcess::Poisson { rate_rps }
}

/// Ten times the rate for a tenth of the time, else nothing.
fn bursty(rate_rps: f64) -> ArrivalProcess {
    let modulation = Modulation::new(&[(10.0, 0.1), (0.0, 0.9)], Time::from_us(200));
    ArrivalProcess::Bursty {
        rate_rps,
        modulation: modulation.unwrap(),
    }
}

/// The accelerator time that one request of a service takes.
fn time_of_one(plan: &Plan, service: usize) -> Time {
    let arrivals = ArrivalProcess::Trace(vec![Time::from_us(1)]);
    let load = Load::new(service, arrivals, 1, 0).shaped_in_time(limit(1.0, 1.0));
    let outcome = run(&config(), plan, "accelflow", &[load], 1);
    outcome.tenants[0].accelerator_time
}

/// The accelerator time a second of all requests that ended in the measured window.
fn served_s_per_s(plan: &Plan, outcome: &SimulationResult) -> f64 {
    let of = |(number, service): (usize, &accelflow_sim::stats::ServiceStats)| {
        let window = service.measured.map(|(from, to)| (to - from).as_s_f64());
        let rate = service.completed_in_window as f64 / window.unwrap_or(1.0);
        rate * time_of_one(plan, number).as_s_f64()
    };
    outcome.services.iter().enumerate().map(of).sum()
}

#[test]
fn one_limit_holds_against_small_huge_bursty_and_mixed_floods() {
    let mixed = beside(receives(512, 2.0), receives(512, 40.0));
    for (what, plan, arrives) in [
        ("small", receives(64, 2.0), poisson as fn(f64) -> _),
        ("huge", receives(65_536, 60.0), poisson),
        ("bursty", receives(4_096, 10.0), bursty),
        // Requests of one size that take 20 times longer than others: predictions are always wrong.
        ("mixed", mixed, poisson),
    ] {
        let services = plan.services.len();
        let each: f64 = (0..services)
            .map(|service| time_of_one(&plan, service).as_s_f64())
            .sum();
        for share in [0.2, 1.5] {
            // All services together ask for three times what they may have.
            let rate = 3.0 * share / each;
            let load = |service| {
                let load = Load::new(service, arrives(rate), 12_000, 2_400);
                load.shaped_in_time(limit(share, 20.0 * each))
            };
            let loads: Vec<Load> = (0..services).map(load).collect();
            let outcome = run(&config(), &plan, "accelflow", &loads, 5);
            assert!(outcome.totals.drained);
            let served = served_s_per_s(&plan, &outcome);
            assert!(
                (served / share - 1.0).abs() < 0.01,
                "{what}: {served} of {share}"
            );
            let (spent, worked) = (
                outcome.tenants[0].accelerator_time,
                outcome.totals.element_work,
            );
            assert_eq!(spent, worked, "{what}");
        }
    }
}

#[test]
fn a_promise_holds_beside_another_tenant_whose_scratchpads_are_wiped() {
    let config = Config::default();
    for (bytes, us) in [(64, 4.0), (65_536, 60.0)] {
        let plan = beside(receives(bytes, us), receives(4_096, 30.0));
        let alone = |service: usize| {
            let load = Load::new(service, poisson(100.0), 400, 0);
            let load = load.shaped_in_time(limit(100.0, 1.0));
            let outcome = run(&config, &plan, "accelflow", &[load], 1);
            outcome.tenants[0].charged_time.as_s_f64() / 400.0
        };
        let (each, promised) = (alone(0), 0.5);
        // The flooder asks for three times its promise; the other tenant uses elements in between.
        let flooder = Load::new(0, poisson(3.0 * promised / each), 20_000, 4_000)
            .of_tenant(1)
            .shaped_in_time(limit(promised, 50.0 * each));
        let victim = Load::new(1, poisson(1.0 / alone(1)), 20_000, 0);
        let outcome = run(&config, &plan, "accelflow", &[flooder, victim], 7);
        let service = &outcome.services[0];
        let window = service
            .measured
            .map_or(1.0, |(from, to)| (to - from).as_s_f64());
        let got = service.completed_in_window as f64 / window * each / promised;
        assert!((got - 1.0).abs() < 0.03, "{bytes} B: {got} of the promise");
        // What others cost it is not on its bill.
        let tenant = outcome
            .tenants
            .iter()
            .find(|tenant| tenant.tenant == 1)
            .unwrap();
        assert!(
            tenant.accelerator_time > tenant.charged_time.scale(1.02),
            "{bytes} B"
        );
    }
}

#[test]
fn tokens_that_come_back_while_a_large_trace_waits_are_not_lost() {
    // Small traces are paid in full before they take less; the large ones take ten buckets.
    let plan = beside(receives(512, 2.0), receives(400_000, 2_000.0));
    let large = time_of_one(&plan, 1).as_s_f64();
    let small = time_of_one(&plan, 0).as_s_f64();
    let share = 0.5;
    let both = |service, rate: f64, count| {
        let load = Load::new(service, poisson(rate), count, count / 5);
        load.shaped_in_time(limit(share, large / 10.0))
    };
    let loads = [both(0, share / small, 30_000), both(1, share / large, 30)];
    let outcome = run(&config(), &plan, "accelflow", &loads, 5);
    let served = served_s_per_s(&plan, &outcome);
    assert!((served / share - 1.0).abs() < 0.03, "{served} of {share}");
}

#[test]
fn a_trace_passes_when_what_others_of_its_size_took_is_paid() {
    let plan = receives(1_000, 40.0);
    let took_ns = time_of_one(&plan, 0).as_ps().div_ceil(1_000);
    // Tokens for two, and about a hundredth of one each 10 us.
    let refill = took_ns / 100 + 7;
    let registers = Registers::new(refill, 2 * took_ns, 2_500).unwrap();
    let waits_ns = |count: usize| {
        let mut times = vec![Time::from_us(1)];
        times.extend(vec![Time::from_us(20_005); count - 1]);
        let arrivals = ArrivalProcess::Trace(times);
        let load = Load::new(0, arrivals, count as u64, 0).shaped_in_time(registers);
        let outcome = run(&config(), &plan, "accelflow", &[load], 1);
        assert!(outcome.totals.drained);
        assert_eq!(outcome.tenants[0].shaped, count as u64);
        outcome.tenants[0].shaping_time.as_ps() / 1_000
    };
    // The first is the measurement: nothing is predicted for it, and it pays afterwards. 20 ms
    // later the bucket is full again; two pass, a cycle of 4 ns apart.
    assert_eq!(waits_ns(3), 36 + 36 + 40);
    // The fourth waits for its tokens: refills are at 20,010 us, 20,020 us and so on.
    let refills = took_ns.div_ceil(refill);
    assert_eq!(waits_ns(4), 36 + 36 + 40 + (refills * 10_000 - 5_000 + 36));
}

#[test]
fn a_limit_that_is_never_reached_only_adds_the_shaper() {
    let plan = fixed_plan(&uniq_id(), NOTHING_NS, 500, &round_cost);
    let load = Load::new(0, poisson(200_000.0), 2_000, 0);
    let latencies = |load: Load| {
        let outcome = run(&config(), &plan, "accelflow", &[load], 2);
        let latencies: Vec<Time> = outcome.services[0].latency.iter().collect();
        (latencies, outcome.tenants[0].shaping_time)
    };
    let most = u64::from(Registers::MAX);
    let all = FlowConfig::new(Unit::Operations, Registers::new(most, most, 1).unwrap());
    let wide = latencies(load.clone().shaped_in_time(limit(400.0, 4.0)));
    assert_eq!(wide, latencies(load.clone().shaped(all)));
    // With both, a trace pays for both.
    let slow = FlowConfig::new(Unit::Operations, Registers::new(1, 4, 500).unwrap());
    let both = load.clone().shaped_in_time(limit(400.0, 4.0)).shaped(slow);
    assert_eq!(latencies(both), latencies(load.clone().shaped(slow)));
    let both = load.clone().shaped_in_time(limit(0.01, 1e-6)).shaped(all);
    assert!(latencies(both).1 > wide.1 * 100);
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
    fixed_plan(&service, NOTHING_NS, 700, &round_cost)
}

#[test]
fn every_operation_is_accounted_to_its_trace_on_every_system() {
    for id in ALL.into_iter().filter(|id| *id != "non_acc") {
        for most in [0.0, 1.0] {
            let mut config = frictionless();
            config.set("tenant.max_traces", most).unwrap();
            let tight = limit(0.05, 1e-6);
            let loads = [together(3)[0].clone().shaped_in_time(tight)];
            let outcome = run(&config, &calls(3), id, &loads, 1);
            assert!(outcome.totals.drained, "{id}");
            let tenant = outcome.tenants[0];
            assert_eq!(tenant.shaped, 24, "{id}");
            let worked = outcome.totals.element_work;
            assert!(worked > Time::ZERO);
            assert_eq!(tenant.accelerator_time, worked, "{id}");
        }
    }
}

#[test]
fn loads_of_one_tenant_share_one_limit() {
    let plan = beside(receives(64, 1.0), receives(64, 1.0));
    let load = |service| Load::new(service, poisson(1e4), 100, 0).of_tenant(3);
    let loads = [load(0).shaped_in_time(limit(0.5, 0.1)), load(1)];
    let refused = simulate(&Run {
        config: &frictionless(),
        plan: &plan,
        orchestrator: orchestrator("accelflow").unwrap(),
        loads: &loads,
        seed: 1,
    });
    assert_eq!(refused.unwrap_err(), SimError::ShapingDiffers(3));
}
