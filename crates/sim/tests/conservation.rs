//! The laws that every run obeys, whatever the server, the load and the orchestrator.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use accelflow_sim::plan::Plan;
use accelflow_sim::stats::SimulationResult;
use accelflow_sim::{Config, Load};
use accelflow_trace::Accel;
use accelflow_units::Time;
use accelflow_workload::arrivals::{ArrivalProcess, Modulation};
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::services::{Counts, invocations};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;
use proptest::prelude::*;

use crate::common::{SYSTEMS, image, run};

/// The eight services, and what an invocation of each takes.
struct Social {
    plan: Plan,
    counts: Vec<Counts>,
}

impl Social {
    fn new(sizes: SizePreset) -> Social {
        let (image, services) = (image(), social_network().unwrap());
        let profile = Profile::paper(&services, &image, &PaperOptions::default()).unwrap();
        let count = |service| invocations(service, &image).unwrap();
        Social {
            plan: Plan::new(&profile, &image, &PayloadSizes::preset(sizes)).unwrap(),
            counts: services.iter().map(count).collect(),
        }
    }

    /// Checks all laws, and returns the outcome for more.
    fn check(&self, config: &Config, id: &str, loads: &[Load], seed: u64) -> SimulationResult {
        let outcome = run(config, &self.plan, id, loads, seed);
        every_request_ends_once(&outcome, loads);
        time_adds_up(&outcome);
        self.operations_add_up(&outcome, id);
        queues_hold(&outcome, config);
        shares_are_shares(&outcome);
        outcome
    }

    fn operations_add_up(&self, outcome: &SimulationResult, id: &str) {
        let totals = &outcome.totals;
        for accel in Accel::ALL {
            let parts = outcome.services.iter().zip(&self.counts);
            let expected: u64 = parts.map(|(s, c)| s.arrived * u64::from(c.of(accel))).sum();
            let (there, here) = (
                totals.on_accelerators[accel.index()],
                totals.on_cores[accel.index()],
            );
            assert_eq!(there + here, expected, "{id} {accel}");
            let share = here as f64 / expected.max(1) as f64;
            assert_eq!(
                totals.on_core_shares()[accel.index()],
                share,
                "{id} {accel}"
            );
            assert_eq!(
                there,
                outcome.accelerators[accel.index()].operations,
                "{id} {accel}"
            );
            if id == "non_acc" {
                assert_eq!(there, 0, "{accel}");
            } else if fallbacks(outcome) == 0 {
                assert_eq!(here, 0, "{id} {accel}");
            }
        }
        if fallbacks(outcome) > 0 {
            assert!(totals.on_cores.iter().sum::<u64>() > 0, "{id}");
        }
    }
}

fn fallbacks(outcome: &SimulationResult) -> u64 {
    let all = outcome
        .services
        .iter()
        .flat_map(|service| service.fallbacks.values());
    all.sum()
}

fn every_request_ends_once(outcome: &SimulationResult, loads: &[Load]) {
    for (index, stats) in outcome.services.iter().enumerate() {
        let mine = loads.iter().filter(|load| load.service == index);
        let (requests, warmup) = mine.fold((0, 0), |(requests, warmup), load| {
            (requests + load.requests, warmup + load.warmup)
        });
        // More than those that count may have kept up the load for other services.
        assert!(stats.arrived >= requests);
        assert_eq!(stats.completed, stats.arrived);
        assert_eq!(stats.latency.count() as u64, requests - warmup);
        assert!(stats.completed_in_window <= stats.arrived);
    }
    assert!(outcome.totals.drained);
}

fn time_adds_up(outcome: &SimulationResult) {
    let totals = &outcome.totals;
    assert_eq!(totals.population_ps, totals.latency_ps, "Little's law");
    assert_eq!(totals.spent_ps, totals.latency_ps, "parts of the path");
    for stats in &outcome.services {
        let sum: u64 = stats.latency.iter().map(Time::as_ps).sum();
        assert_eq!(stats.spent.total(), Time::from_ps(sum));
    }
    assert_eq!(
        totals.element_busy,
        totals.element_work + totals.element_stopped + totals.element_blocked
    );
}

fn queues_hold(outcome: &SimulationResult, config: &Config) {
    for (accel, stats) in Accel::ALL.into_iter().zip(&outcome.accelerators) {
        assert!(stats.peak_input <= config.accelerator.input_entries_of(accel));
    }
}

fn shares_are_shares(outcome: &SimulationResult) {
    let mut shares = vec![
        outcome.core_utilization,
        outcome.manager_utilization,
        outcome.dma_utilization,
        outcome.data.busiest_link,
        outcome.data.busiest_crossing,
        outcome.data.llc_hit_ratio().unwrap_or(1.0),
    ];
    for stats in &outcome.accelerators {
        assert!(stats.utilization <= stats.any_busy + 1e-12);
        shares.extend([stats.utilization, stats.any_busy]);
    }
    for share in shares {
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
}

fn loads(services: &[usize], arrivals: &ArrivalProcess, requests: u64) -> Vec<Load> {
    let load = |&service: &usize| Load::new(service, arrivals.clone(), requests, requests / 10);
    services.iter().map(load).collect()
}

fn poisson(rate_rps: f64) -> ArrivalProcess {
    ArrivalProcess::Poisson { rate_rps }
}

fn bursty(rate_rps: f64) -> ArrivalProcess {
    let modulation = Modulation::alibaba(Time::from_us(500)).unwrap();
    ArrivalProcess::Bursty {
        rate_rps,
        modulation,
    }
}

#[test]
fn laws_hold_with_all_services_on_one_server() {
    let social = Social::new(SizePreset::Fleet);
    for id in SYSTEMS {
        for arrivals in [poisson(13_400.0), bursty(13_400.0)] {
            for seed in [1, 2, 3] {
                let all = loads(&[0, 1, 2, 3, 4, 5, 6, 7], &arrivals, 120);
                social.check(&Config::default(), id, &all, seed);
            }
        }
    }
}

#[test]
fn laws_hold_with_one_service_alone() {
    let social = Social::new(SizePreset::SocialNetwork);
    for id in SYSTEMS {
        for service in 0..8 {
            for arrivals in [poisson(13_400.0), bursty(13_400.0)] {
                let one = loads(&[service], &arrivals, 150);
                let outcome = social.check(&Config::default(), id, &one, 7);
                for (index, stats) in outcome.services.iter().enumerate() {
                    assert_eq!(stats.arrived > 0, index == service);
                }
            }
        }
    }
}

#[test]
fn a_manager_without_a_free_moment_is_busy_all_the_time() {
    let social = Social::new(SizePreset::SocialNetwork);
    let mut config = Config::default();
    config.set("relief.occupancy_ns", 1_500.0).unwrap();
    let outcome = social.check(
        &config,
        "per_acc_type_q",
        &loads(&[0], &poisson(30_000.0), 1_000),
        1,
    );
    assert!(
        (0.9..=1.0).contains(&outcome.manager_utilization),
        "{}",
        outcome.manager_utilization
    );
    assert!(outcome.saturated.is_some());
}

#[test]
fn an_overloaded_ensemble_falls_back_for_both_reasons() {
    let social = Social::new(SizePreset::SocialNetwork);
    let mut config = Config::default();
    for (key, value) in [
        ("accelerator.pes", 1.0),
        ("accelerator.input_entries", 2.0),
        ("accelerator.overflow_entries", 2.0),
    ] {
        config.set(key, value).unwrap();
    }
    let all = loads(&[0, 1, 2, 3, 4, 5, 6, 7], &poisson(13_400.0), 100);
    let outcome = social.check(&config, "accelflow", &all, 1);
    let reasons: BTreeSet<&str> = outcome
        .services
        .iter()
        .flat_map(|stats| stats.fallbacks.keys().map(|reason| reason.name()))
        .collect();
    assert_eq!(reasons, BTreeSet::from(["enqueue_denied", "overflow_full"]));
}

/// The accelerators that a chip does not have.
fn absent() -> impl Strategy<Value = Vec<Accel>> {
    prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::sample::subsequence(Accel::ALL.to_vec(), 1..=Accel::COUNT),
    ]
}

/// Servers so small that everything overflows, blocks and falls back.
fn small_server() -> impl Strategy<Value = Config> {
    let numbers = (
        1..=3_u32,
        1..=4_u32,
        1..=4_u32,
        0..=3_u32,
        1..=2_u32,
        1..=4_u32,
        prop::sample::select(vec![64_u32, 512, 2_048]),
        // One accelerator differs from the others: its place, its instances, -1 for theirs and 0
        // for none, and its sizes, 0 for theirs.
        (0..Accel::COUNT, -1..=3_i32, 0..=3_u32, 0..=3_u32),
        prop::sample::select(vec![0_u32, 1_000, 20_000]),
        // The most traces that run at once, or 0 for no limit, and where traces wait.
        (0..=5_u32, 0..=2_u32),
        absent(),
    );
    numbers.prop_map(
        |(
            pes,
            input,
            output,
            overflow,
            engines,
            cores,
            inline,
            own,
            slice,
            (limit, parking),
            absent,
        )| {
            let mut config = Config::default();
            for (key, value) in [
                ("accelerator.pes", pes),
                ("accelerator.input_entries", input),
                ("accelerator.output_entries", output),
                ("accelerator.overflow_entries", overflow),
                ("network.dma_engines", engines),
                ("core.count", cores),
                ("accelerator.inline_bytes", inline),
                ("core.time_slice_ns", slice),
                ("relief.queue_entries", 4 * input),
                ("tenant.max_traces", limit),
                ("tcp.parking", parking),
            ] {
                config.set(key, f64::from(value)).unwrap();
            }
            let (index, instances, pes, entries) = own;
            for (what, value) in [
                ("instances", f64::from(instances)),
                ("pes", f64::from(pes)),
                ("input_entries", f64::from(entries)),
                ("output_entries", f64::from(entries)),
            ] {
                let key = format!("{what}.{}", Accel::ALL[index]);
                config.set(&key, value).unwrap();
            }
            for accel in absent {
                config.set(&format!("instances.{accel}"), 0.0).unwrap();
            }
            config
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn laws_hold_on_any_small_server(
        config in small_server(),
        id in prop::sample::select(SYSTEMS.to_vec()),
        services in prop::sample::subsequence((0..8).collect::<Vec<usize>>(), 1..=8),
        rate_rps in prop::sample::select(vec![500.0, 5_000.0, 100_000.0]),
        seed in any::<u64>(),
    ) {
        let social = Social::new(SizePreset::Fleet);
        social.check(&config, id, &loads(&services, &poisson(rate_rps), 20), seed);
    }
}
