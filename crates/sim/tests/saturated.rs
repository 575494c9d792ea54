//! When a server counts as saturated: requests that wait for others than its resources do not
//! count.

#![allow(clippy::unwrap_used)]

use accelflow_sim::plan::{Plan, Retry};
use accelflow_sim::stats::Saturation;
use accelflow_sim::{Config, Load, simulate_servers};
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::WaitDistribution;

use crate::common::services::{CALL, FRONT, STOCK, front, pair, run};
use crate::common::{fixed_plan, frictionless, round_cost, set};

/// The resource that limits the server of `FRONT`, with `rate_rps` requests per second.
fn saturated(config: &Config, plan: &Plan, id: &str, rate_rps: f64) -> Option<Saturation> {
    let load = Load::new(FRONT, ArrivalProcess::Poisson { rate_rps }, 2_000, 200);
    let servers = simulate_servers(&run(config, plan, id, &[load], 1)).unwrap();
    let own = servers.iter().find(|server| server.server == 0).unwrap();
    own.outcome.saturated.clone()
}

/// `FRONT`, whose remote side answers after `us`.
fn waiting(us: u64) -> Plan {
    let wait = WaitDistribution::constant(Time::from_us(us));
    let plan = fixed_plan(&front("T9"), 10_000.0, 0, &round_cost);
    plan.with_chain_waits(|_, _, trace| (trace == "T10").then(|| wait.clone()))
}

/// By Little's law, 20,000 requests per second with 100 ms each are 2,000 in the server. They keep
/// its two cores busy for 60 % of the time.
#[test]
fn waits_for_others_are_no_overload() {
    let retry = Retry {
        odds: 1.0,
        attempts: 2,
        backoff: Time::from_us(100_000),
    };
    let pauses = waiting(1).with_retry(0, CALL.0, CALL.1, retry).unwrap();
    let far = pair(10_000.0, 10_000.0).on_server(STOCK, 1).unwrap();
    let far = far.with_one_way(WaitDistribution::constant(Time::from_us(50_000)));
    let mut config = frictionless();
    set(&mut config, &[("core.count", 2.0)]);
    for (name, plan) in [
        ("remote", waiting(100_000)),
        ("pauses", pauses),
        ("far", far),
    ] {
        for id in ["non_acc", "relief", "accelflow"] {
            assert_eq!(saturated(&config, &plan, id, 20_000.0), None, "{name} {id}");
        }
    }
}

#[test]
fn as_many_requests_as_cores_are_no_overload() {
    // 300,000 requests per second with 2 x 250 us each keep 150 of 200 cores busy.
    let plan = fixed_plan(&front("T9"), 250_000.0, 0, &round_cost);
    let mut config = frictionless();
    set(&mut config, &[("core.count", 200.0)]);
    assert_eq!(saturated(&config, &plan, "non_acc", 300_000.0), None);
    set(&mut config, &[("core.count", 100.0)]);
    let found = saturated(&config, &plan, "non_acc", 300_000.0).unwrap();
    assert_eq!(found.cause, "cores");
}

#[test]
fn callers_of_requests_that_wait_for_cores_count() {
    // Of the 4,000 requests, 5 % are 200: about 120 called ones at the end, and their callers.
    let mut config = frictionless();
    set(&mut config, &[("core.count", 2.0)]);
    let found = saturated(&config, &pair(1_000.0, 60_000.0), "non_acc", 10_100.0).unwrap();
    assert_eq!(found.cause, "cores");
}

#[test]
fn work_that_waits_for_cores_is_an_overload_whatever_else_waits() {
    // Two cores serve fewer than 100,000 requests per second with 20 us of application logic each.
    let mut config = frictionless();
    set(&mut config, &[("core.count", 2.0)]);
    for wait_us in [0, 100_000] {
        let found = saturated(&config, &waiting(wait_us), "non_acc", 200_000.0).unwrap();
        assert_eq!(found.cause, "cores", "{wait_us}");
        assert!(found.waiting.1 > 100, "{found:?}");
    }
}
