//! Services that call services, on one server and on several: how long calls take, and what counts.

#![allow(clippy::unwrap_used)]

use accelflow_kernel::ConfidenceInterval;
use accelflow_sim::plan::{PhasePlan, Plan};
use accelflow_sim::stats::{Part, SimulationResult};
use accelflow_sim::{Config, Load, ServerResult, simulate_servers};
use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::WaitDistribution;
use accelflow_workload::services::Operation;
use accelflow_workload::sizes::{PayloadSizes, QuantileTable, SizeDistribution};

use crate::common::services::{
    CALL, FRONT, STOCK, apart, front, leaf, pair, plan_of, poisson, run, together,
};
use crate::common::{NOTHING_NS, SYSTEMS, frictionless, image, set};

fn outcomes(config: &Config, plan: &Plan, id: &str, loads: &[Load]) -> Vec<ServerResult> {
    simulate_servers(&run(config, plan, id, loads, 1)).unwrap()
}

/// The response time of a single request from outside.
fn response(config: &Config, plan: &Plan, id: &str, service: usize) -> Time {
    let servers = outcomes(config, plan, id, &[together(service, 1)]);
    let mut times = servers.iter().flat_map(|server| {
        assert!(server.outcome.totals.drained, "{id}");
        server.outcome.services[service].latency.iter()
    });
    times.next().unwrap()
}

/// Sorted response times of `service` from outside.
fn responses(servers: &[ServerResult], service: usize) -> Vec<Time> {
    let latencies = servers.iter().map(|s| &s.outcome.services[service].latency);
    let mut times: Vec<Time> = latencies.flat_map(|latency| latency.iter()).collect();
    times.sort_unstable();
    times
}

#[test]
fn an_idle_service_adds_its_response_time_in_the_place_of_the_wait() {
    let config = frictionless();
    let one_way = Time::from_us(7);
    for id in SYSTEMS {
        let without = apart(3_000.0, 20_000.0);
        let PhasePlan::Chains(calls) = &without.services[FRONT].phases[2] else {
            unreachable!()
        };
        let assumed = without.typical_wait(&calls[0], image().entry("T10").unwrap());
        let (alone, idle) = (
            response(&config, &without, id, FRONT),
            response(&config, &without, id, STOCK),
        );
        assert!(idle > Time::from_us(20), "{id}");
        let here = pair(3_000.0, 20_000.0);
        assert_eq!(
            response(&config, &here, id, FRONT) + assumed,
            alone + idle,
            "{id}"
        );
        let there = here.on_server(STOCK, 5).unwrap();
        assert_eq!(
            response(&config, &there, id, FRONT) + assumed,
            alone + idle,
            "{id}"
        );
        let far = there.with_one_way(WaitDistribution::constant(one_way));
        let expected = alone + idle + one_way * 2;
        assert_eq!(
            response(&config, &far, id, FRONT) + assumed,
            expected,
            "{id}"
        );
    }
}

#[test]
fn the_time_of_a_call_is_a_callers_time_on_other_servers() {
    let config = frictionless();
    let plan = pair(3_000.0, 20_000.0).on_server(STOCK, 1).unwrap();
    let [mine, theirs] = &outcomes(&config, &plan, "accelflow", &[together(FRONT, 1)])[..] else {
        unreachable!()
    };
    assert_eq!([mine.server, theirs.server], [0, 1]);
    assert_eq!(
        (&mine.services[..], &theirs.services[..]),
        (&[FRONT][..], &[STOCK][..])
    );
    let called = &theirs.outcome.services[STOCK].called;
    assert_eq!(called.latency.count(), 1);
    let spent = mine.outcome.services[FRONT].spent.of(Part::Remote);
    assert_eq!(Some(spent), called.latency.mean());
    assert_eq!(called.spent.total(), spent);
    let stats = &theirs.outcome.services[STOCK];
    assert_eq!(
        (stats.arrived, stats.completed, stats.latency.count()),
        (0, 0, 0)
    );
}

/// Exponential quantiles with a mean of so many bytes, up to 1 in 100,000.
fn exponential(mean_bytes: f64) -> SizeDistribution {
    let tail = |step: u32| 10_f64.powf(-f64::from(step) / 100.0);
    let size = |beyond: f64| Bytes((-mean_bytes * beyond.ln()).round() as u64);
    let steps = (0..=500).map(|step| (1.0 - tail(step), size(tail(step))));
    let mut points: Vec<_> = steps.collect();
    points[0] = (0.0, Bytes(0));
    points.push((1.0, size(1e-5 / std::f64::consts::E)));
    SizeDistribution::Quantiles(QuantileTable::new(&points).unwrap())
}

/// What leaves M/M/1 is a Poisson process (Burke, 1956), so the second queue of two in a row is
/// M/M/1, too, and the mean response time is the sum of both.
#[test]
fn two_services_in_a_row_are_two_independent_queues() {
    const SERVICE_S: f64 = 10e-6;
    const UTILIZATION: f64 = 0.7;
    let mut config = frictionless();
    set(&mut config, &[("accelerator.pes", 1.0)]);
    // Each passes its element once: the caller's is Cmp, for its message to the callee; the
    // callee's is Decr, for its request.
    let cost = |service: &str, operation: &Operation| match (service, operation.accel) {
        ("Front", Accel::Cmp) => SERVICE_S * 1e9,
        ("Stock", Accel::Decr) => SERVICE_S * 1e9,
        _ => NOTHING_NS,
    };
    let mut shares = [0.0; Accel::COUNT];
    (shares[Accel::Cmp.index()], shares[Accel::Decr.index()]) = (1.0, 1.0);
    let services = [(front("T9+Cmp"), NOTHING_NS), (leaf("Stock"), NOTHING_NS)];
    let sizes = PayloadSizes::same(exponential(150.0));
    let plan = plan_of(&services, &sizes, Some(shares), &cost);
    let plan = plan.with_call(FRONT, CALL.0, CALL.1, STOCK).unwrap();
    let plan = plan.on_server(STOCK, 1).unwrap();
    let arrivals = ArrivalProcess::Poisson {
        rate_rps: UTILIZATION / SERVICE_S,
    };
    let loads = [Load::new(FRONT, arrivals, 22_000, 2_000)];
    let mut means = [Vec::new(), Vec::new()];
    for seed in 1..=12 {
        let servers = simulate_servers(&run(&config, &plan, "ideal", &loads, seed)).unwrap();
        let outside = &servers[0].outcome.services[FRONT].latency;
        let called = &servers[1].outcome.services[STOCK].called.latency;
        assert_eq!((outside.count(), called.count()), (20_000, 20_000));
        means[0].push(outside.mean_ps().unwrap() / 1e12);
        means[1].push(called.mean_ps().unwrap() / 1e12);
    }
    let each = SERVICE_S / (1.0 - UTILIZATION);
    for (means, expected) in means.iter().zip([2.0 * each, each]) {
        let interval = ConfidenceInterval::of(means).unwrap();
        assert!(
            interval.relative_half_width().unwrap() < 0.05,
            "{interval:?}"
        );
        let off = (interval.mean - expected).abs();
        assert!(
            off <= 1.5 * interval.half_width,
            "{interval:?}, expected {expected}"
        );
    }
}

#[test]
fn services_on_one_server_share_its_cores() {
    let mut config = frictionless();
    set(
        &mut config,
        &[("core.count", 1.0), ("core.time_slice_ns", 0.0)],
    );
    let services = [(front("T9"), 10_000.0), (leaf("Stock"), 10_000.0)];
    let none = PayloadSizes::same(SizeDistribution::Fixed(Bytes(0)));
    let apart = plan_of(&services, &none, None, &|_, _| NOTHING_NS);
    let together_plan = apart.with_call(FRONT, CALL.0, CALL.1, STOCK).unwrap();
    let split = together_plan.clone().on_server(STOCK, 1).unwrap();
    let last = |plan: &Plan| {
        let servers = outcomes(&config, plan, "ideal", &[together(FRONT, 2)]);
        responses(&servers, FRONT).pop().unwrap().as_us_f64()
    };
    // Two requests of 10 us before the call, 10 us in the callee and 10 us after it. On one core
    // all wait for each other; on two, the callee of the first runs beside the second.
    let (one, two) = (last(&together_plan), last(&split));
    assert!((one - 60.0).abs() < 0.1, "{one}");
    assert!((two - 40.0).abs() < 0.1, "{two}");
}

#[test]
fn without_contention_servers_do_not_matter() {
    let mut config = frictionless();
    set(&mut config, &[("accelerator.pes", 64.0)]);
    for id in ["relief", "accelflow", "ideal"] {
        let one = pair(3_000.0, 20_000.0);
        let two = one.clone().on_server(STOCK, 1).unwrap();
        let loads = [poisson(FRONT, 2_000.0, 200), poisson(STOCK, 500.0, 50)];
        let all = |plan: &Plan, service| responses(&outcomes(&config, plan, id, &loads), service);
        for service in [FRONT, STOCK] {
            assert_eq!(all(&one, service), all(&two, service), "{id} {service}");
        }
    }
}

#[test]
fn a_call_times_out_and_its_late_response_has_no_effect() {
    for id in SYSTEMS {
        for server in [0, 1] {
            let mut config = frictionless();
            set(&mut config, &[("tcp.timeout_us", 10.0)]);
            let plan = pair(3_000.0, 20_000.0).on_server(STOCK, server).unwrap();
            let servers = outcomes(&config, &plan, id, &[together(FRONT, 3)]);
            let sum = |of: &dyn Fn(&SimulationResult) -> u64| -> u64 {
                servers.iter().map(|server| of(&server.outcome)).sum()
            };
            assert_eq!(sum(&|o| o.services[FRONT].timed_out), 3, "{id}");
            assert_eq!(sum(&|o| o.services[FRONT].completed), 0, "{id}");
            assert_eq!(sum(&|o| o.services[FRONT].calls.timed_out), 3, "{id}");
            assert_eq!(sum(&|o| o.services[FRONT].calls.answered), 0, "{id}");
            // The callee does not know.
            assert_eq!(sum(&|o| o.services[STOCK].called.completed), 3, "{id}");
        }
    }
}

#[test]
fn a_response_at_the_time_out_is_in_time() {
    let config = frictionless();
    let plan = pair(NOTHING_NS, 20_000.0);
    let idle = response(&config, &apart(NOTHING_NS, 20_000.0), "ideal", STOCK);
    let in_time = |timeout: Time| {
        let mut config = config.clone();
        config.tcp.timeout = timeout;
        let servers = outcomes(&config, &plan, "ideal", &[together(FRONT, 1)]);
        servers[0].outcome.services[FRONT].completed == 1
    };
    assert!(in_time(idle));
    assert_eq!(idle, Time::from_us(67));
    assert!(!in_time(Time::from_us(66)));
}

#[test]
fn slos_warm_up_tenants_and_counts_of_called_requests_are_apart() {
    let config = frictionless();
    let plan = pair(3_000.0, 20_000.0).on_server(STOCK, 1).unwrap();
    let arrivals = ArrivalProcess::Poisson { rate_rps: 1_000.0 };
    let front = Load::new(FRONT, arrivals.clone(), 30, 10).of_tenant(2);
    let mine = Load::new(STOCK, arrivals, 20, 5);
    let stock = |load: Load| load.of_tenant(4).within(Time::from_us(10));
    for (load, outside) in [(stock(Load::called(STOCK)), 0), (stock(mine), 20)] {
        let servers = outcomes(&config, &plan, "accelflow", &[front.clone(), load]);
        let stats = &servers[1].outcome.services[STOCK];
        let called = &stats.called;
        // Loads go on until all counted requests have arrived.
        let sent = servers[0].outcome.services[FRONT].calls.sent;
        assert!(stats.arrived >= outside && sent >= 30);
        assert_eq!((called.arrived, called.completed), (sent, sent));
        assert_eq!(called.latency.count(), 20, "those of measured requests");
        assert_eq!((called.with_slo, called.slo_missed), (20, 20));
        let measured = outside - outside / 4;
        assert_eq!((stats.with_slo, stats.slo_missed), (measured, measured));
        let tenants = servers
            .iter()
            .map(|server| server.outcome.tenants[0].tenant);
        assert_eq!(tenants.collect::<Vec<_>>(), [2, 4]);
        assert!(
            servers
                .iter()
                .all(|server| server.outcome.window > Time::ZERO)
        );
        assert_eq!(servers[0].outcome.window, servers[1].outcome.window);
    }
}
