//! Single requests that a run keeps.

#![allow(clippy::unwrap_used)]

use accelflow_sim::plan::Plan;
use accelflow_sim::stats::{ServiceStats, SimulationResult};
use accelflow_sim::{Config, Load};
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;

use crate::common::{SYSTEMS, image, run};

const REQUESTS: u64 = 300;
const WARMUP: u64 = 30;

fn plan() -> Plan {
    let (image, services) = (image(), social_network().unwrap());
    let profile = Profile::paper(&services, &image, &PaperOptions::default()).unwrap();
    let sizes = PayloadSizes::preset(SizePreset::SocialNetwork);
    Plan::new(&profile, &image, &sizes).unwrap()
}

/// All services on one server, at most `most` samples of each.
fn sampled(plan: &Plan, id: &str, most: u64) -> SimulationResult {
    let rate_rps = 13_400.0;
    let load = |service| {
        let arrivals = ArrivalProcess::Poisson { rate_rps };
        Load::new(service, arrivals, REQUESTS, WARMUP).sampling(most)
    };
    let loads: Vec<Load> = (0..plan.services.len()).map(load).collect();
    run(&Config::default(), plan, id, &loads, 3)
}

fn in_order(times: impl Iterator<Item = Time>) -> Vec<Time> {
    let mut times: Vec<Time> = times.collect();
    times.sort_unstable();
    times
}

#[test]
fn samples_are_the_response_times_of_the_statistics() {
    let plan = plan();
    for id in SYSTEMS {
        for stats in sampled(&plan, id, u64::MAX).services {
            let sampled = in_order(stats.samples.iter().map(|sample| sample.response));
            assert_eq!(sampled, in_order(stats.latency.iter()), "{id}");
            for sample in &stats.samples {
                assert_eq!(sample.spent.total(), sample.response, "{id} {sample:?}");
                assert!((WARMUP..REQUESTS).contains(&sample.request), "{id}");
            }
        }
    }
}

#[test]
fn samples_change_nothing_else() {
    let plan = plan();
    for id in ["relief", "accelflow"] {
        let (with, without) = (sampled(&plan, id, 7), sampled(&plan, id, 0));
        assert_eq!(with.events, without.events);
        assert_eq!(with.totals, without.totals);
        for (with, without) in with.services.iter().zip(&without.services) {
            assert_eq!(with.latency, without.latency);
            assert_eq!(with.spent, without.spent);
            assert!(without.samples.is_empty());
        }
    }
}

#[test]
fn a_few_samples_are_evenly_spaced() {
    let plan = plan();
    let numbers = |stats: &ServiceStats| {
        let mut numbers: Vec<u64> = stats.samples.iter().map(|sample| sample.request).collect();
        numbers.sort_unstable();
        numbers
    };
    for most in [1, 7, 100, REQUESTS - WARMUP] {
        let every = (REQUESTS - WARMUP).div_ceil(most);
        for stats in sampled(&plan, "accelflow", most).services {
            let found = numbers(&stats);
            assert!(!found.is_empty() && found.len() as u64 <= most, "{most}");
            assert!(found.windows(2).all(|pair| pair[1] - pair[0] == every));
        }
    }
}

#[test]
fn requests_are_the_same_under_every_system() {
    let plan = plan();
    let arrivals = |id| {
        let mut found: Vec<(u64, Time)> = sampled(&plan, id, 50).services[0]
            .samples
            .iter()
            .map(|sample| (sample.request, sample.arrived))
            .collect();
        found.sort_unstable();
        found
    };
    let expected = arrivals("non_acc");
    for id in SYSTEMS {
        assert_eq!(arrivals(id), expected, "{id}");
    }
}
