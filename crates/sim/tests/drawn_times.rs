//! Times that are drawn for each request: of application logic, and of messages between servers.

#![allow(clippy::unwrap_used)]

use accelflow_sim::plan::Plan;
use accelflow_sim::{Config, Load, ServerResult, simulate_servers};
use accelflow_units::Time;
use accelflow_workload::profile::WaitDistribution;

use crate::common::services::{CALL, FRONT, STOCK, apart, pair, poisson, run, together};
use crate::common::{SYSTEMS, frictionless};

/// Response times of the requests to `service` from outside, in the order of their ends.
fn responses(config: &Config, plan: &Plan, id: &str, load: Load) -> Vec<Time> {
    let (service, loads) = (load.service, [load]);
    let servers = simulate_servers(&run(config, plan, id, &loads, 1)).unwrap();
    let of = |server: &ServerResult| {
        assert!(server.outcome.totals.drained, "{id}");
        server.outcome.services[service].latency.iter().collect()
    };
    servers
        .iter()
        .flat_map(|server| -> Vec<Time> { of(server) })
        .collect()
}

fn mean_us(times: &[Time]) -> f64 {
    times.iter().map(|time| time.as_ns_f64()).sum::<f64>() / times.len() as f64 / 1e3
}

/// The share of `times` up to `limit_us`.
fn share_up_to(times: &[Time], limit_us: f64) -> f64 {
    let below = times
        .iter()
        .filter(|time| time.as_ns_f64() <= limit_us * 1e3);
    below.count() as f64 / times.len() as f64
}

/// Requests that never meet.
fn rare(service: usize, requests: u64) -> Load {
    poisson(service, 20.0, requests)
}

/// The plan in which the application logic of `STOCK` is drawn from `times`.
fn with_stock(plan: Plan, times: &WaitDistribution) -> Plan {
    plan.with_application_times(|service, phase| {
        (service == "Stock" && phase == 1).then(|| times.clone())
    })
}

#[test]
fn a_constant_distribution_changes_nothing() {
    let constant = WaitDistribution::constant(Time::from_us(20));
    for id in SYSTEMS {
        let fixed = apart(3_000.0, 20_000.0);
        let drawn = with_stock(fixed.clone(), &constant);
        let found = |plan| responses(&Config::default(), plan, id, poisson(STOCK, 200_000.0, 300));
        assert_eq!(found(&drawn), found(&fixed), "{id}");
    }
}

#[test]
fn application_times_have_the_moments_of_their_distribution() {
    let config = frictionless();
    let none = apart(3_000.0, 1_000.0);
    let log_normal = WaitDistribution::log_normal(Time::from_us(40), 0.8);
    let points = [(0.0, 10), (0.5, 20), (1.0, 100)].map(|(p, us)| (p, Time::from_us(us)));
    let table = WaitDistribution::of_quantiles(&points).unwrap();
    for id in ["accelflow", "non_acc"] {
        let alone = responses(&config, &none, id, together(STOCK, 1))[0] - Time::from_us(1);
        let own = |times: &WaitDistribution| -> Vec<Time> {
            let plan = with_stock(none.clone(), times);
            let all = responses(&config, &plan, id, rare(STOCK, 4_000));
            all.into_iter().map(|time| time - alone).collect()
        };
        let found = own(&log_normal);
        // exp(0.64 / 2) times the median; the standard error of 4,000 is 1.5 % of the mean.
        let (mean, expected) = (mean_us(&found), 40.0 * 0.32_f64.exp());
        assert!((mean / expected - 1.0).abs() < 0.06, "{id}: {mean}");
        for (factor, share) in [(-1.0_f64, 0.1587), (0.0, 0.5), (1.0, 0.8413)] {
            let below = share_up_to(&found, 40.0 * (0.8 * factor).exp());
            assert!((below - share).abs() < 0.03, "{id}: {below} of {share}");
        }
        let found = own(&table);
        assert!(
            (mean_us(&found) - 37.5).abs() < 1.7,
            "{id}: {}",
            mean_us(&found)
        );
        assert!((share_up_to(&found, 20.0) - 0.5).abs() < 0.03, "{id}");
        assert!((share_up_to(&found, 60.0) - 0.75).abs() < 0.03, "{id}");
    }
}

#[test]
fn drawn_times_are_the_same_in_every_system() {
    let times = WaitDistribution::log_normal(Time::from_us(40), 0.8);
    let config = frictionless();
    let none = apart(3_000.0, 1_000.0);
    let own = |id: &str| {
        let alone = responses(&config, &none, id, together(STOCK, 1))[0] - Time::from_us(1);
        let plan = with_stock(none.clone(), &times);
        let all = responses(&config, &plan, id, rare(STOCK, 50));
        let mut own: Vec<Time> = all.into_iter().map(|time| time - alone).collect();
        own.sort_unstable();
        own
    };
    let first = own(SYSTEMS[0]);
    assert!(first.windows(2).any(|pair| pair[0] != pair[1]));
    for id in &SYSTEMS[1..] {
        assert_eq!(own(id), first, "{id}");
    }
}

#[test]
fn both_messages_of_a_call_between_servers_take_their_time() {
    let config = frictionless();
    let here = pair(3_000.0, 20_000.0);
    let there = here.clone().on_server(STOCK, 1).unwrap();
    let one_way = WaitDistribution::log_normal(Time::from_us(30), 0.5);
    let far = there.clone().with_one_way(one_way.clone());
    let only_chain = there
        .clone()
        .with_chain_one_way(FRONT, CALL.0, CALL.1, one_way.clone())
        .unwrap();
    let expected_us = 2.0 * one_way.mean().as_ns_f64() / 1e3;
    for id in ["accelflow", "relief", "non_acc"] {
        let near = responses(&config, &there, id, together(FRONT, 1))[0];
        let mut found = responses(&config, &far, id, rare(FRONT, 3_000));
        let added = mean_us(&found) - near.as_ns_f64() / 1e3;
        assert!((added / expected_us - 1.0).abs() < 0.04, "{id}: {added}");
        let mut of_chain = responses(&config, &only_chain, id, rare(FRONT, 3_000));
        found.sort_unstable();
        of_chain.sort_unstable();
        assert_eq!(of_chain, found, "{id}");
        let on_one = here.clone().with_one_way(one_way.clone());
        let fixed = responses(&config, &on_one, id, rare(FRONT, 50));
        assert!(
            fixed.iter().all(|time| *time == fixed[0]),
            "{id}: on one server"
        );
    }
}
