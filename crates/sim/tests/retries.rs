//! Attempts of chains that fail, and chains that start again.

#![allow(clippy::unwrap_used)]

use accelflow_parameters::Refusal;
use accelflow_sim::plan::{PhasePlan, Plan, Retry};
use accelflow_sim::stats::{Part, SimulationResult};
use accelflow_sim::{Config, Load};
use accelflow_units::Time;
use accelflow_workload::profile::{PaperOptions, Profile, RecordingOptions, RemoteWaits};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;
use proptest::prelude::*;

use crate::common::services::{front, poisson};
use crate::common::{
    NOTHING_NS, SYSTEMS, fixed_plan, frictionless, image, profile, response, round_cost, run, set,
    uniq_id,
};

/// `Front` whose call is made up to `attempts` times.
fn retrying(app_ns: f64, odds: f64, attempts: u16, backoff_us: u64) -> Plan {
    let retry = Retry {
        odds,
        attempts,
        backoff: Time::from_us(backoff_us),
    };
    let plan = fixed_plan(&front("T9"), app_ns, 0, &round_cost);
    plan.with_retry(0, 2, 0, retry).unwrap()
}

#[test]
fn each_attempt_takes_a_pause_and_the_chain_again() {
    let app_ns = 3_000.0;
    let config = frictionless();
    for id in SYSTEMS {
        let with = |odds, attempts, backoff| {
            response(&config, &retrying(app_ns, odds, attempts, backoff), id)
        };
        let one = with(1.0, 1, 50);
        let chain = with(1.0, 2, 0) - one;
        assert_eq!(with(1.0, 2, 50), one + chain + Time::from_us(50), "{id}");
        assert_eq!(
            with(1.0, 4, 50),
            one + (chain + Time::from_us(50)) * 3,
            "{id}"
        );
        // Without failures it is as without attempts, and the chain is what the call adds.
        let never = with(0.0, 4, 50);
        assert_eq!(
            never,
            response(
                &config,
                &fixed_plan(&front("T9"), app_ns, 0, &round_cost),
                id
            ),
            "{id}"
        );
        let without = response(&config, &fixed_plan(&uniq_id(), app_ns, 0, &round_cost), id);
        assert_eq!(never, without + chain + Time::from_us(3), "{id}");
    }
}

#[test]
fn the_core_pays_for_each_start() {
    let config = |start: f64| {
        let mut config = frictionless();
        set(
            &mut config,
            &[
                ("core.enqueue_ns", start),
                ("core.context_switch_ns", 100.0),
            ],
        );
        config
    };
    let plan = |attempts| retrying(NOTHING_NS, 1.0, attempts, 1);
    let extra = |start| {
        let config = config(start);
        response(&config, &plan(2), "accelflow") - response(&config, &plan(1), "accelflow")
    };
    let [none, some] = [0.0, 40.0].map(extra);
    assert_eq!(some, none + Time::from_ns(40));
    let free = response(&frictionless(), &plan(2), "accelflow")
        - response(&frictionless(), &plan(1), "accelflow");
    assert_eq!(
        none,
        free + Time::from_ns(100),
        "the thread comes back to its core"
    );
}

#[test]
fn attempts_follow_the_geometric_distribution() {
    const REQUESTS: u64 = 20_000;
    for (odds, attempts) in [(0.3, 4), (0.05, 2), (0.5, 8)] {
        let plan = retrying(NOTHING_NS, odds, attempts, 10);
        let outcome = run(
            &Config::default(),
            &plan,
            "ideal",
            &[poisson(0, 5_000.0, REQUESTS)],
            1,
        );
        let stats = &outcome.services[0];
        let all = stats.arrived as f64;
        let found = (stats.arrived + stats.retries) as f64 / all;
        let given_up = f64::powi(odds, i32::from(attempts));
        let expected = (1.0 - given_up) / (1.0 - odds);
        // The number of attempts, cut off at the last, spreads less than the geometric
        // distribution.
        let error = odds.sqrt() / (1.0 - odds) / all.sqrt();
        assert!((found - expected).abs() < 3.0 * error, "{found} {expected}");
        let error = (given_up * (1.0 - given_up) / all).sqrt();
        let found = stats.gave_up as f64 / all;
        assert!((found - given_up).abs() < 3.0 * error, "{found} {given_up}");
        assert_eq!(
            (stats.errors, stats.completed),
            (stats.gave_up, stats.arrived)
        );
    }
}

#[test]
fn failures_are_the_same_in_every_system() {
    let plan = retrying(3_000.0, 0.4, 3, 20);
    let counts = |id| {
        let outcome = run(
            &Config::default(),
            &plan,
            id,
            &[poisson(0, 10_000.0, 300)],
            5,
        );
        let stats = &outcome.services[0];
        (stats.retries, stats.gave_up, stats.errors)
    };
    let expected = counts(SYSTEMS[0]);
    assert!(expected.0 > 100 && expected.1 > 5, "{expected:?}");
    for id in &SYSTEMS[1..] {
        assert_eq!(counts(id), expected, "{id}");
    }
}

#[test]
fn each_attempt_waits_for_a_message_of_its_own() {
    let options = RecordingOptions {
        waits: RemoteWaits::social_network().spread(),
        ..RecordingOptions::default()
    };
    let profile = profile(&front("T9"), NOTHING_NS, 0, &options, &round_cost);
    let plan = Plan::new(&profile, &image(), &PayloadSizes::preset(SizePreset::Fleet)).unwrap();
    let remote = |attempts| {
        let retry = Retry {
            odds: 1.0,
            attempts,
            backoff: Time::ZERO,
        };
        let plan = plan.clone().with_retry(0, 2, 0, retry).unwrap();
        let outcome = run(
            &Config::default(),
            &plan,
            "ideal",
            &[poisson(0, 10.0, 1)],
            1,
        );
        outcome.services[0].spent.of(Part::Remote)
    };
    let [one, two, three] = [1, 2, 3].map(remote);
    assert!(two > one && three > two);
    assert_ne!(two - one, one);
    assert_ne!(three - two, two - one);
}

#[test]
fn impossible_attempts_are_refused() {
    let good = Retry {
        odds: 0.5,
        attempts: 2,
        backoff: Time::ZERO,
    };
    let message = |phase, retry| -> String {
        let plan = fixed_plan(&front("T9"), NOTHING_NS, 0, &round_cost);
        let result: Result<Plan, Refusal> = plan.with_retry(0, phase, 0, retry);
        result.unwrap_err().to_string()
    };
    let ends = "must not be set in the first or the last phase, which receive the request and send the response once";
    assert_eq!(
        message(0, good),
        format!("services.Front.path[0][0].retry is given: {ends}")
    );
    assert_eq!(
        message(4, good),
        format!("services.Front.path[4][0].retry is given: {ends}")
    );
    assert_eq!(
        message(1, good),
        "services.Front.path[1] = 0: must be a chain, but this phase is application logic and has none"
    );
    for odds in [-0.1, 1.5, f64::NAN] {
        let found = message(2, Retry { odds, ..good });
        assert!(
            found.starts_with("services.Front.path[2][0].retry.odds = "),
            "{found}"
        );
        assert!(
            found.ends_with(": must be a probability from 0 to 1"),
            "{found}"
        );
    }
    for attempts in [0, 65] {
        assert_eq!(
            message(2, Retry { attempts, ..good }),
            format!(
                "services.Front.path[2][0].retry.attempts = {attempts}: must be a whole number from 1 to 64"
            )
        );
    }
}

/// The eight services, whose chains between the first and the last phase may all fail.
fn social(odds: f64) -> Plan {
    let services = social_network().unwrap();
    let profile = Profile::paper(&services, &image(), &PaperOptions::default()).unwrap();
    let mut plan = Plan::new(&profile, &image(), &PayloadSizes::preset(SizePreset::Fleet)).unwrap();
    for service in 0..plan.services.len() {
        let phases = plan.services[service].phases.clone();
        let inner = phases
            .iter()
            .enumerate()
            .skip(1)
            .take(phases.len().saturating_sub(2));
        for (phase, what) in inner {
            let PhasePlan::Chains(chains) = what else {
                continue;
            };
            for chain in 0..chains.len() {
                let retry = Retry {
                    odds,
                    attempts: 3,
                    backoff: Time::from_us(5),
                };
                plan = plan.with_retry(service, phase, chain, retry).unwrap();
            }
        }
    }
    plan
}

fn laws(outcome: &SimulationResult) {
    assert!(outcome.totals.drained);
    assert_eq!(
        outcome.totals.population_ps, outcome.totals.latency_ps,
        "Little's law"
    );
    for stats in &outcome.services {
        assert_eq!(stats.arrived, stats.completed + stats.timed_out);
        assert!(stats.errors <= stats.gave_up);
    }
    assert!(outcome.services.iter().any(|stats| stats.retries > 0));
    assert!(outcome.services.iter().any(|stats| stats.gave_up > 0));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_request_ends_once(
        id in prop::sample::select(SYSTEMS.to_vec()),
        sizes in (1..=3_u32, 1..=4_u32, 0..=3_u32, 1..=4_u32),
        limit in 0..=3_u32,
        timeout_us in prop::sample::select(vec![10.0, 1e7]),
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
        let plan = social(0.5);
        let loads: Vec<Load> = (0..8).map(|service| poisson(service, 5_000.0, 15)).collect();
        let outcome = run(&config, &plan, id, &loads, seed);
        laws(&outcome);
        if timeout_us == 1e7 {
            let totals = &outcome.totals;
            prop_assert_eq!(totals.spent_ps, totals.latency_ps);
        }
    }
}
