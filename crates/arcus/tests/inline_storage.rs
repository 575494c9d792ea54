//! The inline mode with storage: accelerators' results are shaped again before they are written
//! (section 4.1, "Inline mode (P2P)").

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_arcus::control::{AdmissionRequest, Manager, Rate, Runtime, STORAGE, ServiceClass};
use accelflow_arcus::parameters::{compression, sha1_hmac};
use accelflow_arcus::{
    Accelerator, Arrivals, Egress, Flow, Path, Platform, RunResult, Settings, StorageConfig,
    experiments, simulate, simulate_with,
};
use accelflow_shaping::Timing;
use accelflow_units::{Bytes, Time};
use proptest::prelude::*;

fn platform(accelerator: Accelerator) -> Platform {
    let mut platform = Platform::prototype(vec![accelerator]);
    platform.storage = Some(StorageConfig::paper(1));
    platform
}

fn writes(accelerator: &str, size: u64, per_s: f64) -> AdmissionRequest {
    let rate = Rate::OperationsPerS(per_s);
    AdmissionRequest::new("writes", accelerator, Path::StorageWrite, Bytes(size), rate)
}

fn run(manager: &Manager, platform: &Platform, arrivals: Arrivals, ms: u64) -> RunResult {
    let (flows, arcus) = manager.deploy(|_| arrivals);
    let settings = Settings::lasting(Time::from_us(1_000 * ms));
    simulate(platform, &flows, &arcus, &settings).unwrap()
}

/// The most completions within `window`.
fn most_within(result: &RunResult, window: Time) -> usize {
    let ends: Vec<Time> = result.flows[0]
        .completions
        .iter()
        .map(|done| done.at)
        .collect();
    let within = |first: usize| {
        let last = ends[first] + window;
        ends[first..].iter().take_while(|end| **end <= last).count()
    };
    (0..ends.len()).map(within).max().unwrap_or(0)
}

#[test]
fn bursts_pass_the_accelerator_and_reach_the_storage_at_the_promised_rate() {
    let platform = platform(compression());
    let per_s = 10e3;
    let request = AdmissionRequest {
        burst: 64,
        ..writes("compression", 4_096, per_s)
    };
    let every = Time::from_s_f64(64.0 / (0.5 * per_s));
    let bursts = Arrivals::Bursts { burst: 64, every };
    let of = |mut manager: Manager| {
        manager.register(request.clone()).unwrap();
        run(&manager, &platform, bursts, 400)
    };
    let once = of(Manager::new(platform.clone()).shaping_once());
    let twice = of(Manager::new(platform.clone()));
    // One millisecond has ten commands; acknowledgements jitter by the SSD's link.
    let window = Time::from_us(1_000);
    assert!(most_within(&once, window) > 40);
    assert!(
        most_within(&twice, window) <= 12,
        "{}",
        most_within(&twice, window)
    );
    // Both lose nothing.
    for result in [&once, &twice] {
        let flow = &result.flows[0];
        assert_eq!(flow.dropped, 0);
        let done = flow.before + flow.completions.len() as u64;
        assert_eq!(flow.arrived, done + flow.under_way);
        // At half the rate a burst ends before the next begins, on average.
        assert!(flow.under_way <= 4 * 64, "{}", flow.under_way);
    }
}

#[test]
fn the_second_shaper_adds_its_latency_to_paced_messages() {
    let platform = platform(compression());
    let request = writes("compression", 4_096, 10e3);
    let paced = Arrivals::Paced(Time::from_us(200));
    let of = |mut manager: Manager| {
        manager.register(request.clone()).unwrap();
        let result = run(&manager, &platform, paced, 50);
        result.flows[0].latencies().mean()
    };
    let once = of(Manager::new(platform.clone()).shaping_once()).unwrap();
    let twice = of(Manager::new(platform.clone())).unwrap();
    let timing = Timing::default();
    let cycle = Time::from_ns(4);
    let more = twice.saturating_sub(once);
    assert!(more >= timing.shaping_latency, "{more:?}");
    assert!(more <= timing.shaping_latency + cycle, "{more:?}");
}

#[test]
fn a_digest_is_one_result_of_a_message_in_segments() {
    // SHA-1's digest has 20 bytes.
    let egress = Egress::Fixed(Bytes(20));
    let platform = platform(Accelerator {
        egress,
        ..sha1_hmac()
    });
    let mut manager = Manager::new(platform.clone());
    let status = manager.register(writes("sha1-hmac", 65_536, 2e3)).unwrap();
    let results = status.results.unwrap();
    let bytes_per_s = results.tokens_per_s(Timing::default().clock.frequency());
    assert!(
        (bytes_per_s / (20.0 * 2e3) - 1.0).abs() < 1e-3,
        "{bytes_per_s}"
    );
    let result = run(&manager, &platform, Arrivals::Backlogged, 200);
    assert!(
        (result.per_s(0) / 2e3 - 1.0).abs() < 0.01,
        "{}",
        result.per_s(0)
    );
}

#[test]
fn only_routes_through_accelerators_to_the_storage_are_shaped_twice() {
    let platform = platform(compression());
    let mut manager = Manager::new(platform);
    let of = |name: &str, accelerator: &str, path| {
        let rate = Rate::OperationsPerS(2e3);
        AdmissionRequest::new(name, accelerator, path, Bytes(4_096), rate)
    };
    let mut twice = |request| manager.register(request).unwrap().results.is_some();
    assert!(twice(of("a", "compression", Path::StorageWrite)));
    assert!(!twice(of("b", STORAGE, Path::StorageWrite)));
    assert!(!twice(of("c", "compression", Path::StorageRead)));
    assert!(!twice(of("d", "compression", Path::FunctionCall)));
}

#[test]
fn both_shapers_of_an_opportunistic_writer_follow_the_rest() {
    let platform = platform(compression());
    let mut manager = Manager::new(platform.clone());
    let request = AdmissionRequest {
        slo: None,
        class: ServiceClass::Opportunistic,
        ..writes("compression", 4_096, 1.0)
    };
    manager.register(request).unwrap();
    // The tenant with the promise comes later and takes a part of the storage.
    let reads = Rate::OperationsPerS(500e3);
    let reads = AdmissionRequest::new("reads", STORAGE, Path::StorageRead, Bytes(4_096), reads);
    let (flows, arcus) = manager.deploy(|_| Arrivals::Backlogged);
    let settings = Settings::lasting(Time::from_us(100_000));
    let come = accelflow_arcus::control::Command::Register(Box::new(reads), Arrivals::Backlogged);
    let mut runtime = Runtime::new(manager).at(Time::from_us(20_000), come);
    let result = simulate_with(&platform, &flows, &arcus, &settings, &mut runtime).unwrap();
    let status = &runtime.manager().flows()[0];
    let clock = Timing::default().clock.frequency();
    let results = status.results.unwrap().gbit_per_s(clock);
    let Egress::Ratio(ratio) = platform.accelerators[0].egress else {
        panic!("a ratio");
    };
    let expected = status.shaped_gbit_per_s * ratio;
    assert!(
        (results / expected - 1.0).abs() < 2e-3,
        "{results} {expected}"
    );
    assert!(
        result.flows[0].under_way < 2_000,
        "{}",
        result.flows[0].under_way
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// With the promised rate at both shapers, no result piles up between them.
    #[test]
    fn a_backlogged_writer_gets_its_rate(per_s in 2e3..14e3f64, kib in 1_u64..16, burst in 1_u32..64) {
        let platform = platform(compression());
        let mut manager = Manager::new(platform.clone());
        let request = AdmissionRequest { burst, ..writes("compression", kib << 10, per_s) };
        prop_assume!(manager.register(request).is_ok());
        let result = run(&manager, &platform, Arrivals::Backlogged, 400);
        let messages = 0.4 * per_s;
        let given = result.per_s(0) / per_s;
        prop_assert!((given - 1.0).abs() < 0.002 + 2.0 / messages, "{}", given);
    }
}

#[test]
fn the_neighbour_reads_faster_if_results_are_shaped() {
    let report = experiments::run("inline_storage", 1).unwrap().unwrap();
    let of = |key: &str| {
        let found = report.rows.iter().find(|row| row.key == key);
        found.unwrap().ours
    };
    assert!(of("arcus.inline_storage.reads_p99_twice_over_once.Arcus") < 0.8);
    let served = ["shaped_once", "shaped_twice"]
        .map(|how| of(&format!("arcus.inline_storage.writes_served.{how}")));
    assert!((served[0] / served[1] - 1.0).abs() < 0.05, "{served:?}");
}

#[test]
fn other_mechanisms_ignore_the_second_shaper() {
    let platform = platform(compression());
    let mut manager = Manager::new(platform.clone());
    manager.register(writes("compression", 4_096, 2e3)).unwrap();
    let (flows, _) = manager.deploy(|_| Arrivals::Backlogged);
    let plain: Vec<Flow> = flows
        .iter()
        .map(|flow| Flow {
            results: None,
            ..flow.clone()
        })
        .collect();
    let settings = Settings::lasting(Time::from_us(5_000));
    let none = accelflow_arcus::Mechanism::NoShaping;
    let run = |flows: &[Flow]| simulate(&platform, flows, &none, &settings).unwrap();
    assert_eq!(run(&flows), run(&plain));
}
