//! Requests with drawn facts and waits: the same under every orchestrator, and shorter after
//! errors.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use accelflow_sim::config::PARAMETERS;
use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::{Form, PhasePlan, Plan};
use accelflow_sim::stats::{Fallback, Operated, SimulationResult};
use accelflow_sim::{Config, Load, Run, simulate_logged};
use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{
    PaperOptions, Profile, RecordedRequest, Recording, RecordingOptions, RemoteWaits,
    timeouts_per_request,
};
use accelflow_workload::services::{Chain, FactOdds, Odds, Phase, Service};
use accelflow_workload::sizes::{PayloadSizes, SizeDistribution, SizePreset};
use accelflow_workload::suites::Suite;
use accelflow_workload::suites::social_network;

use crate::common::{ALL, image};

fn plan(services: &[Service], waits: RemoteWaits, sizes: &PayloadSizes) -> Plan {
    let options = PaperOptions {
        tcp_cost: Time::from_us(7),
        waits,
        ..PaperOptions::default()
    };
    let reference = social_network().unwrap();
    let profile = Profile::paper_like(services, &reference, &image(), &options).unwrap();
    Plan::new(&profile, &image(), sizes).unwrap()
}

fn only(suite: Suite, names: &[&str]) -> Vec<Service> {
    let mut services = suite.services().unwrap();
    services.retain(|service| names.contains(&service.name()));
    services
}

fn simulated(plan: &Plan, id: &str, requests: u64) -> (SimulationResult, Vec<Operated>) {
    let loads: Vec<Load> = (0..plan.services.len())
        .map(|service| {
            let arrivals = ArrivalProcess::Poisson { rate_rps: 2_000.0 };
            Load::new(service, arrivals, requests, 0)
        })
        .collect();
    simulate_logged(&Run {
        config: &Config::default(),
        plan,
        orchestrator: orchestrator(id).unwrap(),
        loads: &loads,
        seed: 5,
    })
    .unwrap()
}

/// What each request did, without when and where: (service, request) to its operations, sorted.
type Done = BTreeMap<(usize, u64), Vec<(usize, usize, usize, Accel)>>;

fn done(log: &[Operated]) -> Done {
    let mut done = Done::new();
    for it in log {
        let operations = done.entry((it.service, it.request)).or_default();
        operations.push((it.phase, it.chain, it.trace.index(), it.accel));
    }
    done.values_mut()
        .for_each(|operations| operations.sort_unstable());
    done
}

#[test]
fn a_request_does_the_same_under_every_orchestrator() {
    let sizes = PayloadSizes::preset(SizePreset::Fleet);
    for suite in [
        Suite::SocialNetwork,
        Suite::HotelReservation,
        Suite::TrainTicket,
    ] {
        let services = suite.services().unwrap();
        let odds = Config::default().facts.odds().unwrap();
        let waits = RemoteWaits::short().spread();
        let plan = plan(&services, waits, &sizes).with_odds(&odds);
        let of = |id: &str| {
            let (outcome, log) = simulated(&plan, id, 100);
            assert!(outcome.totals.drained, "{suite} {id}");
            let completed = outcome.services.iter().map(|service| service.completed);
            assert!(completed.min() >= Some(100), "{suite} {id}");
            done(&log)
        };
        let first = of(ALL[0]);
        for id in &ALL[1..] {
            // Those who are done first go on until all are, so runs differ in how many there are.
            for (key, operations) in of(id).iter().filter(|request| request.0.1 < 100) {
                assert_eq!(first[key], *operations, "{suite} {id} {key:?}");
            }
        }
    }
}

#[test]
fn a_read_that_finds_nothing_ends_with_the_error_response() {
    let certain = |trace, field, p| FactOdds::none().with(trace, field, Odds::of(p)).unwrap();
    let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(1_000)));
    let login = plan(
        &only(Suite::SocialNetwork, &["Login"]),
        RemoteWaits::short(),
        &sizes,
    );
    let failing = login.clone().with_odds(&certain("T6", "found", 0.0));
    for id in ALL {
        let (outcome, log) = simulated(&failing, id, 20);
        let stats = &outcome.services[0];
        assert_eq!((stats.completed, stats.errors), (20, 20), "{id}");
        assert!(outcome.totals.drained, "{id}");
        // T1 5, T4 3, the miss in T5 6, T6 up to Dser 3, T6_error 4; no T2.
        assert_eq!(log.len(), 20 * 21, "{id}");
        let traces = log.iter().map(|entry| image().name(entry.trace).to_owned());
        assert_eq!(
            traces.filter(|name| name == "T6_error").count(),
            20 * 4,
            "{id}"
        );
        assert!(log.iter().all(|entry| entry.phase <= 2), "{id}");
        let (whole, _) = simulated(&login, id, 20);
        assert_eq!(whole.services[0].errors, 0, "{id}");
        let mean = |outcome: &SimulationResult| outcome.services[0].latency.mean().unwrap();
        assert!(mean(&outcome) < mean(&whole), "{id}");
    }
}

#[test]
fn one_of_several_parallel_errors_is_the_response_and_the_others_end() {
    let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(1_000)));
    let follow = plan(
        &only(Suite::SocialNetwork, &["Follow"]),
        RemoteWaits::short(),
        &sizes,
    );
    let odds = FactOdds::none()
        .with("T7", "exception", Odds::of(0.5))
        .unwrap();
    let plan = follow.with_odds(&odds);
    for id in ALL {
        let (outcome, log) = simulated(&plan, id, 400);
        let done = done(&log);
        let error = image().entry("T7_error").unwrap().index();
        let failed = |operations: &&Vec<(usize, usize, usize, Accel)>| {
            operations.iter().any(|operation| operation.2 == error)
        };
        let errors = done.values().filter(failed).count() as u64;
        assert_eq!(outcome.services[0].errors, errors, "{id}");
        assert_eq!(outcome.services[0].completed, 400, "{id}");
        // All of the three writes are answered; the path ends there exactly if one has failed.
        for operations in done.values() {
            let answered = operations
                .iter()
                .filter(|operation| operation.0 == 2 && operation.3 == Accel::Dser);
            assert_eq!(answered.count(), 3, "{id}");
            assert_eq!(
                operations.iter().any(|operation| operation.0 > 2),
                !failed(&operations),
                "{id}"
            );
        }
        // 7/8 of 400 within four standard deviations.
        assert!((323..=377).contains(&errors), "{id} {errors}");
    }
}

#[test]
fn waits_are_drawn_by_chain_and_request_and_constant_without_spread() {
    let services = only(Suite::SocialNetwork, &["CPost"]);
    let sizes = PayloadSizes::preset(SizePreset::Fleet);
    let plain = plan(&services, RemoteWaits::short(), &sizes);
    let spread = plan(&services, RemoteWaits::short().spread(), &sizes);
    let t10 = image().entry("T10").unwrap();
    let PhasePlan::Chains(chains) = &spread.services[0].phases[2] else {
        panic!("the third phase of CPost is four chains");
    };
    let wait = |chain: usize, seed, request| spread.wait(&chains[chain], t10, seed, request);
    assert_eq!(wait(0, 1, 7), wait(0, 1, 7));
    assert_ne!(wait(0, 1, 7), wait(1, 1, 7));
    assert_ne!(wait(0, 1, 7), wait(0, 1, 8));
    assert_ne!(wait(0, 1, 7), wait(0, 2, 7));
    assert_eq!(plain.wait(&chains[0], t10, 1, 7), Time::from_us(5));
}

#[test]
fn messages_are_smaller_between_compression_and_decompression() {
    let services = only(Suite::SocialNetwork, &["CPost"]);
    let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(1_000)));
    let plan = plan(&services, RemoteWaits::short(), &sizes);
    let PhasePlan::Chains(chains) = &plan.services[0].phases[2] else {
        panic!("the third phase of CPost is four chains");
    };
    let chain = &chains[0];
    let message = chain.message(0, 1, 1);
    let sizes = |trace: &str, accel, compressed| {
        let form = Form {
            compressed,
            ratio: 2.36,
        };
        let at = image().entry(trace).unwrap();
        let it = chain.operation(at, accel, false, message, form).unwrap();
        (it.input.get(), it.output.get())
    };
    assert_eq!(sizes("T9+Cmp", Accel::Cmp, false), (1_000, 424));
    assert_eq!(sizes("T9+Cmp", Accel::Ser, true), (424, 424));
    assert_eq!(sizes("T10", Accel::Dcmp, true), (424, 1_000));
    assert_eq!(sizes("T10", Accel::Ldb, false), (1_000, 1_000));
}

#[test]
fn compression_makes_transfers_shorter_in_the_whole_run() {
    let services = only(Suite::SocialNetwork, &["CPost"]);
    let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(2_000)));
    let plan = plan(&services, RemoteWaits::short(), &sizes);
    let response = |ratio| {
        let mut config = Config::default();
        config.set("payload.compression_ratio", ratio).unwrap();
        crate::common::response(&config, &plan, "accelflow")
    };
    assert!(response(2.0) < response(1.0));
    assert!(response(4.0) < response(2.0));
}

/// A parameter, and the fields that it decides: trace, field, and the odds of 1 where the most
/// common path has 1 and 0.
type Case = (&'static str, Vec<(&'static str, &'static str, f64, f64)>);

#[test]
fn every_parameter_of_facts_decides_its_fields() {
    let at = |trace, field, one: f64, zero: f64| (trace, field, one, zero);
    let form = |trace| at(trace, "compressed", 0.75, 0.25);
    let cases: [Case; 6] = [
        ("facts.cache_miss", vec![at("T5", "hit", 0.75, 1.0)]),
        (
            "facts.cache_miss_where_common",
            vec![at("T5", "hit", 1.0, 0.75)],
        ),
        ("facts.not_found", vec![at("T6", "found", 0.75, 0.75)]),
        (
            "facts.write_exception",
            vec![at("T7", "exception", 0.25, 0.25)],
        ),
        (
            "facts.rpc_exception",
            vec![at("T10", "exception", 0.25, 0.25)],
        ),
        (
            "facts.other_form",
            vec![
                form("T1"),
                form("T5"),
                form("T6"),
                form("T10"),
                form("T12"),
                at("T6", "c_compressed", 0.75, 0.25),
            ],
        ),
    ];
    let keys = || {
        let keys = PARAMETERS.parameters().map(|parameter| parameter.key);
        keys.filter(|key| key.starts_with("facts."))
    };
    assert!(keys().eq(cases.iter().map(|case| case.0).collect::<Vec<_>>()));
    for (key, fields) in cases {
        let mut config = Config::default();
        for key in keys() {
            config.set(key, 0.0).unwrap();
        }
        config.set(key, 0.25).unwrap();
        let odds = config.facts.odds().unwrap();
        for (trace, field, where_one, where_zero) in fields {
            let expected = Odds {
                where_one,
                where_zero,
            };
            assert_eq!(
                odds.of(trace, field),
                Some(expected),
                "{key} {trace}.{field}"
            );
        }
    }
}

/// Reads of two keys at the same time, both of which hit or both of which miss.
fn two_reads() -> (Service, Recording) {
    let read = |hit| {
        let read = Chain::new("T4").with("T5", "hit", hit);
        let found = read.with("T6", "found", 1).with("T6", "c_compressed", 0);
        let form = ["T5", "T6"].into_iter();
        form.fold(found, |facts, trace| facts.with(trace, "compressed", 0))
            .with("T7", "exception", 0)
    };
    let path = vec![
        crate::common::receive(0),
        Phase::Cpu,
        Phase::Traces(vec![read(1), read(1)]),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    let service = Service::new("TwoReads", "ReadPosts", path).unwrap();
    let request = |count, hit: i64| {
        let said = |hit| [("T5".to_owned(), [("hit".to_owned(), hit)].into())].into();
        let none = vec![Default::default()];
        RecordedRequest {
            count,
            facts: vec![
                none.clone(),
                vec![],
                vec![said(hit), said(hit)],
                vec![],
                none,
            ],
        }
    };
    let mut recording =
        crate::common::recording(&service, 10_000.0, 1_000, &crate::common::round_cost);
    recording.services[0].requests = vec![request(3, 1), request(1, 0)];
    (service, recording)
}

#[test]
fn each_request_is_like_one_that_was_recorded_under_every_orchestrator() {
    let (service, recording) = two_reads();
    let options = RecordingOptions::default();
    let services = [service];
    let profile = Profile::from_recording(&recording, &services, &image(), &options).unwrap();
    let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(1_000)));
    let common = Plan::new(&profile, &image(), &sizes).unwrap();
    let plan = common.clone().with_recorded_facts(&profile).unwrap();
    let first = done(&simulated(&plan, ALL[0], 400).1);
    // T1 5, T2 4; a read that hits: T4 3, T5 4; one that misses T4 3, T5 6, T6 7, T7 4.
    let hits = first
        .values()
        .filter(|operations| operations.len() == 9 + 2 * 7)
        .count();
    let misses = first
        .values()
        .filter(|operations| operations.len() == 9 + 2 * 20)
        .count();
    assert_eq!(
        (first.len(), hits + misses),
        (400, 400),
        "never one of each"
    );
    // Of 400 with a share of 3/4, 300 and four standard deviations of 8.7.
    assert!((265..=335).contains(&hits), "{hits}");
    for id in &ALL[1..] {
        assert_eq!(done(&simulated(&plan, id, 400).1), first, "{id}");
    }
    let all_hit = done(&simulated(&common, ALL[0], 400).1);
    assert!(
        all_hit
            .values()
            .all(|operations| operations.len() == 9 + 2 * 7)
    );
}

#[test]
fn facts_cannot_be_taken_from_a_recording_without_requests() {
    let (service, mut recording) = two_reads();
    recording.services[0].requests.clear();
    let options = RecordingOptions::default();
    let profile = Profile::from_recording(&recording, &[service], &image(), &options).unwrap();
    let sizes = PayloadSizes::preset(SizePreset::Fleet);
    let plan = Plan::new(&profile, &image(), &sizes).unwrap();
    let error = plan.with_recorded_facts(&profile).unwrap_err();
    assert_eq!(
        error.to_string(),
        "service TwoReads: requests is left out: must be in the recording, as they hold the values that branches test"
    );
}

#[test]
fn time_outs_are_as_frequent_as_the_closed_form_says() {
    // At a time-out of a few waits, where they are common; the formula is the one that gives the
    // rate at a time-out of seconds, where they are not.
    let services = social_network().unwrap();
    let waits = RemoteWaits::social_network().spread();
    let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(1_000)));
    let plan = plan(&services, waits.clone(), &sizes);
    for timeout_us in [300.0, 400.0] {
        let mut config = Config::default();
        config.set("tcp.timeout_us", timeout_us).unwrap();
        let requests = 1_500;
        let loads: Vec<Load> = (0..services.len())
            .map(|service| {
                let arrivals = ArrivalProcess::Poisson { rate_rps: 2_000.0 };
                Load::new(service, arrivals, requests, 0)
            })
            .collect();
        let outcome = crate::common::run(&config, &plan, "accelflow", &loads, 3);
        let timeout = Time::from_ns_f64(timeout_us * 1e3);
        for (service, stats) in services.iter().zip(&outcome.services) {
            let name = service.name();
            let each = timeouts_per_request(service, &image(), &waits, timeout).unwrap();
            let found = stats.fallbacks.get(&Fallback::TimedOut).copied();
            let found = found.unwrap_or(0) as f64;
            let ended = (stats.completed + stats.timed_out) as f64;
            // The time-outs of a request are at most as spread as as many independent events.
            let (mean, four) = (each * ended, 4.0 * (each * ended).sqrt());
            assert!((found - mean).abs() <= four, "{name}: {found} of {mean}");
        }
    }
}
