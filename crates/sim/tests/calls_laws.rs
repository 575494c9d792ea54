//! Services that call services: laws that hold in every system, comparisons, and refusals.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Mutex;

use accelflow_parameters::Refusal;
use accelflow_sim::compare::{Comparison, Placement, SystemResult, compare};
use accelflow_sim::orchestrators::{Orchestrator, orchestrator};
use accelflow_sim::plan::Plan;
use accelflow_sim::{Config, Load, SimError, simulate, simulate_logged};
use accelflow_sim::{simulate_servers, simulate_servers_watched};
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::WaitDistribution;
use accelflow_workload::services::{Chain, Phase, Service};
use accelflow_workload::sizes::{PayloadSizes, SizeDistribution, SizePreset};
use proptest::prelude::*;

use crate::common::services::{
    CALL, FRONT, STOCK, apart, call, front, leaf, pair, plan_of, poisson, run, together,
};
use crate::common::{NOTHING_NS, SYSTEMS, receive, round_cost, set};

/// What each operation of a run was on, in an order of its own.
fn operations(plan: &Plan, id: &str) -> Vec<String> {
    let (config, loads) = (Config::default(), [poisson(FRONT, 20_000.0, 40)]);
    let (outcome, log) = simulate_logged(&run(&config, plan, id, &loads, 3)).unwrap();
    assert!(outcome.totals.drained);
    let mut all: Vec<String> = log
        .iter()
        .map(|o| {
            format!(
                "{:?}",
                (
                    o.service, o.request, o.phase, o.chain, o.trace, o.accel, o.sizes
                )
            )
        })
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn called_requests_are_the_same_in_every_system_and_differ_from_each_other() {
    let services = [(front("T9"), 3_000.0), (leaf("Stock"), 3_000.0)];
    let sizes = PayloadSizes::preset(SizePreset::Fleet);
    let plan = plan_of(&services, &sizes, None, &|_, operation| {
        round_cost(operation)
    });
    let plan = plan.with_call(FRONT, CALL.0, CALL.1, STOCK).unwrap();
    let found = operations(&plan, SYSTEMS[0]);
    for id in &SYSTEMS[1..] {
        assert_eq!(operations(&plan, id), found, "{id}");
    }
    let (config, loads) = (Config::default(), [poisson(FRONT, 20_000.0, 40)]);
    let (_, log) = simulate_logged(&run(&config, &plan, "ideal", &loads, 3)).unwrap();
    let stock = log.iter().filter(|operated| operated.service == STOCK);
    let numbers: std::collections::BTreeSet<u64> = stock.map(|operated| operated.request).collect();
    assert_eq!(numbers.len(), 40);
    assert!(
        numbers.iter().all(|&number| number >= 1 << 63),
        "not those of outside requests"
    );
}

fn comparison<'c>(
    config: &'c Config,
    plan: &'c Plan,
    systems: &'c [&'static dyn Orchestrator],
    placement: Placement,
    threads: usize,
) -> Comparison<'c> {
    static NONE: BTreeMap<String, Time> = BTreeMap::new();
    static FACTORS: BTreeMap<String, f64> = BTreeMap::new();
    static UNSHAPED: BTreeMap<u16, accelflow_sim::Limits> = BTreeMap::new();
    const POISSON: ArrivalProcess = ArrivalProcess::Poisson { rate_rps: 5_000.0 };
    Comparison {
        config,
        plan,
        orchestrators: systems,
        placement,
        arrivals: &POISSON,
        own_arrivals: &[],
        rate_shares: &[1.0, 0.0, 0.5],
        requests: 200,
        warmup: 20,
        by_rate: true,
        tail_share: 0.0,
        samples: 5,
        binned: false,
        use_intervals: 6,
        slos: &NONE,
        slo_factor: Some(5.0),
        slo_factors: &FACTORS,
        tenants: &[],
        priorities: &[],
        shaping: &UNSHAPED,
        seed: 1,
        threads,
    }
}

#[test]
fn comparisons_simulate_what_is_called_on_any_number_of_threads() {
    let services = [
        (front("T9"), 3_000.0),
        (leaf("Stock"), 20_000.0),
        (leaf("Other"), 5_000.0),
    ];
    let sizes = PayloadSizes::preset(SizePreset::Fleet);
    let plan = plan_of(&services, &sizes, None, &|_, operation| {
        round_cost(operation)
    });
    let plan = plan.with_call(FRONT, CALL.0, CALL.1, STOCK).unwrap();
    let systems: Vec<_> = ["accelflow", "relief"]
        .map(|id| orchestrator(id).unwrap())
        .into();
    let config = Config::default();
    for placement in Placement::ALL {
        let results = |threads| -> Vec<SystemResult> {
            let comparison = comparison(&config, &plan, &systems, placement, threads);
            let last = Mutex::new((0, 0));
            let progress = |ended, all| {
                *last.lock().unwrap() = (ended, all);
                true
            };
            let results = compare(&comparison, &progress).unwrap().unwrap();
            // Clients send 200 requests to Front and half as many to Other, for each system.
            assert_eq!(last.into_inner().unwrap(), (600, 600));
            results
        };
        let found = results(1);
        assert_eq!(found, results(2));
        for system in &found {
            let [front, stock, other] = &system.services[..] else {
                unreachable!()
            };
            let names = [front, stock, other].map(|result| result.service.as_str());
            assert_eq!(names, ["Front", "Stock", "Other"]);
            assert_eq!(stock.completed, 0);
            assert_eq!((stock.mean, stock.percentiles), (None, [None; 3]));
            // Clients never call Stock, so that its rates are known.
            assert_eq!(stock.offered_rps, Some(0.0));
            assert_eq!(stock.throughput_rps, Some(0.0));
            assert!(front.offered_rps.is_some_and(|rate| rate > 0.0));
            assert_eq!((front.samples.len(), stock.samples.len()), (5, 0));
            assert_eq!(stock.called.arrived, front.calls.sent);
            assert!(front.mean.unwrap() > stock.called.mean.unwrap());
            assert_eq!(other.called.arrived, 0);
            // An SLO of five times the time on idle servers, the callee's included.
            assert!(front.within.unwrap() > stock.within.unwrap());
            assert_eq!(stock.called.slo.0, 180);
        }
    }
}

#[test]
fn a_stopped_run_of_several_servers_has_no_outcome() {
    let config = Config::default();
    let plan = pair(3_000.0, 20_000.0).on_server(STOCK, 1).unwrap();
    let loads = [poisson(FRONT, 10_000.0, 20_000)];
    let watch = accelflow_sim::Watch::default();
    let run = run(&config, &plan, "ideal", &loads, 1);
    assert!(simulate_servers_watched(&run, &watch).unwrap().is_some());
    assert!(watch.ended.load(std::sync::atomic::Ordering::Relaxed) > 0);
    watch.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(simulate_servers_watched(&run, &watch).unwrap().is_none());
}

#[test]
fn impossible_calls_are_refused() {
    let message = |result: Result<Plan, Refusal>| result.unwrap_err().to_string();
    let plan = || pair(NOTHING_NS, NOTHING_NS);
    let cases = [
        (
            plan().with_call(FRONT, 2, 0, 9),
            "services.Front.path[2][0].calls = 9: must be the index of a service, from 0 to 1",
        ),
        (
            plan().with_call(7, 2, 0, STOCK),
            "service = 7: must be the index of a service, from 0 to 1",
        ),
        (
            plan().with_call(FRONT, 8, 0, STOCK),
            "services.Front.path = 8: must be the index of a phase, from 0 to 4",
        ),
        (
            plan().with_call(FRONT, 2, 3, STOCK),
            "services.Front.path[2] = 3: must be the index of a chain, from 0 to 0",
        ),
        (
            plan().with_call(FRONT, 1, 0, STOCK),
            "services.Front.path[1] = 0: must be a chain, but this phase is application logic and has none",
        ),
        (
            plan().with_call(FRONT, 0, 0, STOCK),
            "services.Front.path[0][0].calls = 'Stock': must not be set, as no trace of the chain waits for an answer (T9 and T11 do)",
        ),
        (
            plan().with_call(FRONT, 2, 0, FRONT),
            "services.Front.path[2][0].calls = 'Front': must be a service that does not call Front, directly or through others",
        ),
        (
            plan().on_server(FRONT, 5_000),
            "services.Front.server = 5000: must be a whole number from 0 to 4095",
        ),
        (
            plan().on_server(4, 0),
            "service = 4: must be the index of a service, from 0 to 1",
        ),
    ];
    for (result, expected) in cases {
        assert_eq!(message(result), expected);
    }
    let services = ["A", "B", "C"].map(|name| {
        let path = front("T9").path().to_vec();
        (Service::new(name, "Get", path).unwrap(), NOTHING_NS)
    });
    let none = PayloadSizes::same(SizeDistribution::Fixed(Bytes(0)));
    let plan = plan_of(&services, &none, None, &|_, _| NOTHING_NS);
    let plan = plan
        .with_call(0, 2, 0, 1)
        .unwrap()
        .with_call(1, 2, 0, 2)
        .unwrap();
    assert_eq!(
        message(plan.with_call(2, 2, 0, 0)),
        "services.C.path[2][0].calls = 'A': must be a service that does not call C, directly or through others"
    );
}

#[test]
fn impossible_runs_are_refused() {
    let config = Config::default();
    let split = pair(NOTHING_NS, NOTHING_NS).on_server(STOCK, 1).unwrap();
    let error =
        |plan: &Plan, loads: &[Load]| simulate(&run(&config, plan, "ideal", loads, 1)).unwrap_err();
    let found = error(&split, &[together(FRONT, 1)]);
    assert_eq!(found, SimError::SeveralServers(2));
    let nobody = error(
        &apart(NOTHING_NS, NOTHING_NS),
        &[together(FRONT, 1), Load::called(STOCK)],
    );
    assert_eq!(
        nobody.to_string(),
        "service Stock: load: must have arrivals, since no service that receives requests calls it"
    );
    let none = error(
        &pair(NOTHING_NS, NOTHING_NS),
        &[together(FRONT, 1), poisson(STOCK, 1.0, 0)],
    );
    assert_eq!(
        none.to_string(),
        "service Stock: requests = 0: must be more than its 0 warm-up requests; increase the \
         number of requests or the rate of the service"
    );
    let caller = error(&pair(NOTHING_NS, NOTHING_NS), &[Load::called(FRONT)]);
    assert_eq!(caller, SimError::NeverCalled("Front".to_owned()));
    // The callee alone is on one server.
    assert!(simulate(&run(&config, &split, "ideal", &[together(STOCK, 1)], 1)).is_ok());
}

/// A chain of services `A` to `C`, each calling the next twice at once.
fn deep(servers: [usize; 3]) -> Plan {
    let path = vec![
        receive(0),
        Phase::Cpu,
        Phase::parallel(2, &call("T9")),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    let service = |name| (Service::new(name, "Get", path.clone()).unwrap(), 2_000.0);
    let services = [service("A"), service("B"), (leaf("C"), 2_000.0)];
    let sizes = PayloadSizes::preset(SizePreset::Fleet);
    let mut plan = plan_of(&services, &sizes, None, &|_, operation| {
        round_cost(operation)
    });
    for (caller, chain) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        plan = plan.with_call(caller, 2, chain, caller + 1).unwrap();
    }
    for (service, server) in servers.into_iter().enumerate() {
        plan = plan.on_server(service, server).unwrap();
    }
    plan.with_one_way(WaitDistribution::constant(Time::from_us(2)))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_call_is_answered_or_times_out(
        servers in prop::array::uniform3(0..3_usize),
        id in prop::sample::select(SYSTEMS.to_vec()),
        sizes in (1..=3_u32, 2..=6_u32, 0..=3_u32, 1..=4_u32),
        limit in 0..=3_u32,
        timeout_us in prop::sample::select(vec![20.0, 200.0, 1e7]),
        rate_rps in prop::sample::select(vec![1_000.0, 50_000.0]),
        seed in any::<u64>(),
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
        let plan = deep(servers);
        let loads = [poisson(0, rate_rps, 40).within(Time::from_us(400)), poisson(2, rate_rps, 20)];
        let outcomes = simulate_servers(&run(&config, &plan, id, &loads, seed)).unwrap();
        let mut used = servers.to_vec();
        used.sort_unstable();
        used.dedup();
        prop_assert_eq!(outcomes.iter().map(|server| server.server).collect::<Vec<_>>(), used);
        let of = |service: usize| {
            let server = outcomes.iter().find(|o| o.server == servers[service]);
            &server.unwrap().outcome.services[service]
        };
        for server in &outcomes {
            let totals = &server.outcome.totals;
            prop_assert!(totals.drained);
            prop_assert_eq!(totals.population_ps, totals.latency_ps);
        }
        for service in 0..3 {
            let (stats, called) = (of(service), &of(service).called);
            prop_assert_eq!(stats.arrived, stats.completed + stats.timed_out);
            prop_assert_eq!(called.arrived, called.completed + called.timed_out);
            prop_assert_eq!(stats.calls.sent, stats.calls.answered + stats.calls.timed_out);
            let sent = if service == 0 { 0 } else { of(service - 1).calls.sent };
            prop_assert_eq!(called.arrived, sent);
            if timeout_us == 1e7 {
                prop_assert_eq!(stats.calls.timed_out, 0);
                let all = stats.arrived + called.arrived;
                prop_assert_eq!(stats.calls.sent, if service == 2 { 0 } else { 2 * all });
            }
        }
    }
}
