//! Payload buffers: the addresses that the allocator hands out, and their effect on TLBs.

#![allow(clippy::unwrap_used)]

use accelflow_sim::plan::Plan;
use accelflow_sim::stats::DataStats;
use accelflow_sim::{Config, Load};
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;

use crate::common::{fixed_plan, frictionless, image, round_cost, run, set, together, uniq_id};

/// `count` requests of UniqId, each when the one before has long ended.
fn one_by_one(count: u64) -> Vec<Load> {
    let times = (1..=count).map(|ms| Time::from_us(1_000 * ms)).collect();
    vec![Load::new(0, ArrivalProcess::Trace(times), count, 0)]
}

fn data(config: &Config, bytes: u64, id: &str, loads: &[Load]) -> DataStats {
    let plan = fixed_plan(&uniq_id(), 10_000.0, bytes, &round_cost);
    run(config, &plan, id, loads, 1).data
}

#[test]
fn the_last_freed_buffer_is_used_next() {
    // LdB writes the result, Ser reads the payload of the reply, and TCP writes what it returns: to
    // pages that the first request has touched, in every system.
    for id in [
        "cpu_centric",
        "relief",
        "cohort",
        "cohort_polling",
        "direct",
        "accelflow",
        "ideal",
    ] {
        for bytes in [1_000, 20_000] {
            let mut config = frictionless();
            config.set("core.count", 1.0).unwrap();
            let of = |count| data(&config, bytes, id, &one_by_one(count));
            let (one, many) = (of(1), of(50));
            assert_eq!(many.tlb_lookups, 50 * one.tlb_lookups, "{id}");
            assert_eq!(many.tlb_misses, one.tlb_misses, "{id}, {bytes} B");
        }
    }
}

#[test]
fn requests_at_the_same_time_need_as_many_buffers() {
    // Half a page each, for the result and for what the reply is made of.
    let misses = |count| data(&frictionless(), 1_000, "accelflow", &together(count)).tlb_misses;
    assert_eq!(misses(1), 3, "one of LdB, of Ser and of TCP");
    let eight = misses(8);
    assert!(eight > 3 && eight <= 3 * 8, "{eight}");
}

#[test]
fn each_core_has_a_heap_unless_its_service_has_one() {
    // Requests that arrive after one another meet different cores.
    let misses = |heaps: f64| {
        let mut config = frictionless();
        set(
            &mut config,
            &[("core.balancing", 2.0), ("payload.heaps", heaps)],
        );
        data(&config, 1_000, "accelflow", &one_by_one(36)).tlb_misses
    };
    assert_eq!(misses(1.0), 3, "the page of the first request");
    assert!(misses(0.0) > 36, "a page of each core: {}", misses(0.0));
}

fn social() -> Plan {
    let image = image();
    let options = PaperOptions {
        tcp_cost: Time::from_us(7),
        ..PaperOptions::default()
    };
    let profile = Profile::paper(&social_network().unwrap(), &image, &options).unwrap();
    Plan::new(&profile, &image, &PayloadSizes::preset(SizePreset::Fleet)).unwrap()
}

/// All eight services at the paper's rate.
fn social_misses(values: &[(&str, f64)]) -> f64 {
    let mut config = Config::default();
    set(&mut config, values);
    let load = |service| {
        let arrivals = ArrivalProcess::Poisson { rate_rps: 13_400.0 };
        Load::new(service, arrivals, 2_000, 200)
    };
    let loads: Vec<Load> = (0..8).map(load).collect();
    let data = run(&config, &social(), "accelflow", &loads, 1).data;
    data.tlb_misses as f64 / data.tlb_lookups as f64
}

#[test]
fn a_tlb_reaches_the_buffers_in_use_with_large_pages_or_one_heap() {
    let of = |heaps, kib| social_misses(&[("payload.heaps", heaps), ("tlb.page_kib", kib)]);
    let [cores, services, large] = [(0.0, 4.0), (1.0, 4.0), (0.0, 2_048.0)].map(|(a, b)| of(a, b));
    println!("misses: {cores} with heaps of cores, {services} of services, {large} with 2 MiB");
    // 36 cores with buffers of eight services are more than 128 pages of 4 KiB.
    assert!(services < 0.7 && cores > services, "{services} {cores}");
    assert!(large < 0.01, "{large}");
}

/// Application logic of the eight services for each of their operations: what a core executes
/// beside an accelerator, which the rate of page faults is derived from.
#[test]
fn page_faults_are_those_of_the_default_costs() {
    let image = image();
    let options = PaperOptions {
        tcp_cost: Time::from_us(7),
        ..PaperOptions::default()
    };
    let profile = Profile::paper(&social_network().unwrap(), &image, &options).unwrap();
    let (mut logic, mut operations) = (0.0, 0.0);
    for service in profile.services() {
        logic += service.app_time().as_ns_f64();
        operations += service.operations().count() as f64;
    }
    let config = Config::default();
    let cycles = logic / operations * config.core.clock.as_hz() as f64 / 1e9;
    let faults = 0.13 * cycles;
    let stated = config.tlb.faults_per_million as f64;
    assert!(
        (stated - faults).abs() < 0.05 * faults,
        "{stated} for {faults}"
    );
}
