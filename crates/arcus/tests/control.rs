//! The control plane: registers, profiles, admission, path selection, Algorithm 1, policies.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_arcus::control::{
    AdmissionRequest, Manager, Rate, RouteEntry, Runtime, ServiceClass, Traffic, Verdict,
    registers_for,
};
use accelflow_arcus::parameters::{compression, datapath, ipsec};
use accelflow_arcus::{
    Accelerator, Arrivals, Curve, Mechanism, Path, Platform, PlatformError, Settings, simulate,
    simulate_with,
};
use accelflow_shaping::Clock;
use accelflow_units::{Bandwidth, Bytes, Time};
use proptest::prelude::*;

fn request(name: &str, size: u64, gbit_per_s: f64) -> AdmissionRequest {
    let slo = Rate::GbitPerS(gbit_per_s);
    AdmissionRequest::new(name, "ipsec", Path::InlineRx, Bytes(size), slo)
}

fn manager() -> Manager {
    Manager::new(Platform::prototype(vec![ipsec()]))
}

proptest! {
    #[test]
    fn registers_keep_the_rate_and_never_lose_a_token(gbit in 0.05f64..900.0, largest in 1u64..70_000) {
        let registers = registers_for(Rate::GbitPerS(gbit), Bytes(largest), Clock::PAPER).unwrap();
        let rate = registers.gbit_per_s(Clock::PAPER.frequency());
        prop_assert!((rate / gbit - 1.0).abs() <= 1e-4, "{rate} for {gbit}");
        prop_assert_eq!(u64::from(registers.bucket()), u64::from(registers.refill()) + largest - 1);
        prop_assert!(registers.interval().0 >= 64);
    }

    #[test]
    fn slow_operations_are_as_precise(per_s in 0.1f64..10_000.0) {
        let registers = registers_for(Rate::OperationsPerS(per_s), Bytes(1), Clock::PAPER).unwrap();
        let rate = registers.tokens_per_s(Clock::PAPER.frequency());
        prop_assert!((rate / per_s - 1.0).abs() <= 1e-4, "{rate} for {per_s}");
    }
}

#[test]
fn operations_are_exact_and_impossible_rates_are_refused() {
    let rate = Rate::OperationsPerS(300e3);
    let registers = registers_for(rate, Bytes(4_096), Clock::PAPER).unwrap();
    assert_eq!(
        (
            registers.refill(),
            registers.bucket(),
            registers.interval().0
        ),
        (3, 3, 2_500)
    );
    for wrong in [0.0, -1.0, f64::NAN, 0.05, 1e13] {
        let error = registers_for(Rate::OperationsPerS(wrong), Bytes(1), Clock::PAPER).unwrap_err();
        assert!(error.to_string().starts_with("rate in tokens/s"), "{error}");
    }
}

#[test]
fn a_flow_is_admitted_until_the_capacity_is_promised_and_again_when_it_is_free() {
    let mut manager = manager();
    assert_eq!(
        manager
            .register(request("one", 1_500, 10.0))
            .unwrap()
            .registers
            .refill()
            % 5,
        0
    );
    manager.register(request("two", 1_500, 15.0)).unwrap();
    let error = manager.register(request("three", 1_500, 10.0)).unwrap_err();
    let PlatformError::NotAdmitted { asked, left, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(*asked, 10.0);
    assert!((6.9..=7.1).contains(left), "32 - 25 Gbit/s: {left}");
    assert!(
        error
            .to_string()
            .contains("'three': an SLO of 10.000 Gbit/s on")
    );
    let fits = *left;
    manager.register(request("three", 1_500, fits)).unwrap();
    assert!(manager.register(request("four", 1_500, 1.0)).is_err());
    assert_eq!(manager.release("two").unwrap().request.name, "two");
    manager.register(request("four", 1_500, 10.0)).unwrap();
    assert_eq!(
        manager.release("two").unwrap_err(),
        PlatformError::UnknownFlow("two".to_owned())
    );
    let names: Vec<&str> = manager
        .flows()
        .iter()
        .map(|flow| flow.request.name.as_str())
        .collect();
    assert_eq!(names, ["one", "three", "four"]);
}

/// An accelerator whose messages of 16 KiB take 32 Gbit/s.
fn compressing(name: &str, gbit_per_s: f64, size: u64) -> AdmissionRequest {
    AdmissionRequest {
        accelerator: "compression".to_owned(),
        path: Path::FunctionCall,
        ..request(name, size, gbit_per_s)
    }
}

#[test]
fn what_is_admitted_does_not_depend_on_larger_or_smaller_promises() {
    let platform = Platform::prototype(vec![compression()]);
    // The same beside itself, beside smaller messages, and as the smaller ones.
    for (first, second) in [(16_384, 16_384), (16_384, 1_024), (1_024, 16_384)] {
        let mut manager = Manager::new(platform.clone());
        let all = manager.left(&compressing("b", 1.0, first)).unwrap();
        manager
            .register(compressing("a", 22.0 / 32.0 * all, first))
            .unwrap();
        let left = manager.left(&compressing("b", 1.0, second)).unwrap();
        assert!(left > 0.0, "{first} and {second}: {left}");
        let parts = [
            0.002, 0.01, 0.05, 0.2, 0.5, 0.8, 0.999, 1.001, 1.2, 2.0, 100.0,
        ];
        for part in parts {
            let mut manager = manager.clone();
            let admitted = manager
                .register(compressing("b", part * left, second))
                .is_ok();
            assert_eq!(admitted, part <= 1.0, "{part} of {left} Gbit/s");
        }
    }
    // Equal messages are as one flow of them.
    let mut manager = Manager::new(platform);
    let all = manager.left(&compressing("b", 1.0, 16_384)).unwrap();
    manager.register(compressing("a", 22.0, 16_384)).unwrap();
    let left = manager.left(&compressing("b", 1e9, 16_384)).unwrap();
    assert!((left / (all - 22.0) - 1.0).abs() < 0.01, "{left} of {all}");
}

#[test]
fn requests_without_sizes_and_contexts_without_rates_are_refused() {
    let mut manager = manager();
    for size in [0, (1 << 26) + 1] {
        let refused = manager
            .left(&request("a", size, 1.0))
            .unwrap_err()
            .to_string();
        assert!(refused.contains("size of a flow's messages"), "{refused}");
    }
    let idle = Traffic {
        route: RouteEntry::new(0, Path::InlineRx),
        size: Bytes(1_500),
        gbit_per_s: 0.0,
    };
    for flows in [&[][..], &[idle]] {
        let refused = manager.profiles().capacity_of(flows).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "rate of the flows in Gbit/s = 0: must be above 0 and finite"
        );
        assert_eq!(manager.profiles().load(flows).unwrap(), 0.0);
    }
}

#[test]
fn small_messages_are_counted_as_what_they_cost() {
    let mut manager = manager();
    // 4 of the 4.5 Gbit/s that 64 B can have: little is left for anyone.
    manager.register(request("small", 64, 4.0)).unwrap();
    let left = manager.left(&request("large", 1_500, 32.0)).unwrap();
    let curve = ipsec().curve;
    let [small, large] = [64, 1_500].map(|size| curve.gbit_per_s(Bytes(size)));
    let expected = (1.0 - 4.0 / small) * large;
    assert!((left / expected - 1.0).abs() < 0.1, "{left} for {expected}");
}

#[test]
fn what_is_left_does_not_depend_on_what_is_asked() {
    let mut manager = manager();
    let of = |manager: &mut Manager, class, asked| {
        let request = request_of("it", class, asked);
        manager.left(&request).unwrap()
    };
    for asked in [1e-3, 1.0, 32.0, 1e9] {
        let left = of(&mut manager, ServiceClass::OnDemand, asked);
        assert!((left / 32.0 - 1.0).abs() < 0.01, "{asked}: {left}");
        let left = of(&mut manager, ServiceClass::Reserved, asked);
        assert!((left / 30.0 - 1.0).abs() < 0.01, "{asked}: {left}");
    }
}

#[test]
fn reserved_flows_keep_the_headroom_and_opportunistic_ones_cost_nothing() {
    let with = |class, rate| AdmissionRequest {
        class,
        ..request("it", 1_500, rate)
    };
    assert!(
        manager()
            .register(with(ServiceClass::OnDemand, 31.0))
            .is_ok()
    );
    assert!(
        manager()
            .register(with(ServiceClass::Reserved, 31.0))
            .is_err()
    );
    assert!(
        manager()
            .register(with(ServiceClass::Reserved, 29.5))
            .is_ok()
    );
    let mut manager = manager();
    manager.register(request("promised", 1_500, 31.0)).unwrap();
    manager
        .register(AdmissionRequest {
            class: ServiceClass::Opportunistic,
            ..request("rest", 1_500, 20.0)
        })
        .unwrap();
    assert!(manager.register(request("more", 1_500, 5.0)).is_err());
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    let mut manager = manager();
    let wrong = AdmissionRequest {
        accelerator: "gpu".to_owned(),
        ..request("it", 64, 1.0)
    };
    let text = manager.register(wrong).unwrap_err().to_string();
    assert_eq!(text, "flow 'it': accelerator = 'gpu': must be one of ipsec");
    for rate in [0.0, -1.0, f64::INFINITY] {
        let error = manager.register(request("it", 64, rate)).unwrap_err();
        assert!(error.to_string().starts_with("slo in Gbit/s"), "{error}");
    }
    let none = AdmissionRequest {
        slo: None,
        ..request("it", 64, 1.0)
    };
    assert_eq!(
        manager.register(none).unwrap_err().to_string(),
        "flow 'it': slo is left out: must be given for a flow of class on-demand"
    );
    manager.register(request("it", 1_500, 1.0)).unwrap();
    let again = manager.register(request("it", 1_500, 1.0)).unwrap_err();
    assert_eq!(again, PlatformError::DuplicateFlow("it".to_owned()));
    let burst = ServiceClass::ManagedBurst {
        factor: 0.5,
        allowance: Time::from_us(1),
        window: Time::from_us(2),
    };
    let error = manager
        .register(AdmissionRequest {
            class: burst,
            ..request("b", 64, 1.0)
        })
        .unwrap_err();
    assert!(
        error.to_string().starts_with("burst factor = 0.5"),
        "{error}"
    );
}

#[test]
fn large_messages_are_cut_where_the_accelerator_does_not_mind() {
    let mut manager = Manager::new(Platform::prototype(vec![datapath()]));
    let request = AdmissionRequest {
        accelerator: "datapath".to_owned(),
        path: Path::FunctionCall,
        ..request("large", 512 * 1_024, 20.0)
    };
    let status = manager.register(request).unwrap();
    // 8 ns of 2 KiB's 264 are 3.03 %, of 4 KiB's 520 are 1.5 %.
    assert_eq!(status.segment, Bytes(4_096));
}

/// Two equal accelerators under one name.
fn two_instances() -> Manager {
    Manager::new(Platform::prototype(vec![ipsec(), ipsec()]))
}

#[test]
fn the_route_with_most_left_is_taken() {
    let mut manager = two_instances();
    assert_eq!(manager.accelerators().len(), 1);
    let route = |manager: &mut Manager, name: &str, rate| {
        manager
            .register(request(name, 1_500, rate))
            .unwrap()
            .route
            .accelerator()
    };
    assert_eq!(route(&mut manager, "a", 10.0), Some(0));
    assert_eq!(route(&mut manager, "b", 20.0), Some(1));
    assert_eq!(route(&mut manager, "c", 15.0), Some(0));
    assert!(manager.register(request("d", 1_500, 15.0)).is_err());
}

#[test]
fn planned_slos_are_kept_where_turns_break_them() {
    let mut manager = manager();
    manager.register(request("vm1", 1_500, 10.0)).unwrap();
    manager.register(request("vm2", 512, 10.0)).unwrap();
    let settings = Settings::lasting(Time::from_us(2_000));
    let (flows, arcus) = manager.deploy(|_| Arrivals::Backlogged);
    let platform = Platform::prototype(vec![ipsec()]);
    let shaped = simulate(&platform, &flows, &arcus, &settings).unwrap();
    for flow in 0..2 {
        assert!(
            (shaped.gbit_per_s(flow) / 10.0 - 1.0).abs() < 0.01,
            "{}",
            shaped.gbit_per_s(flow)
        );
    }
    let turns = simulate(&platform, &flows, &Mechanism::NoShaping, &settings).unwrap();
    assert!(turns.gbit_per_s(1) < 8.0, "{}", turns.gbit_per_s(1));
}

fn run(
    manager: Manager,
    platform: &Platform,
    arrivals: fn(&str) -> Arrivals,
) -> (Runtime, Vec<f64>) {
    let settings = Settings {
        warmup: Time::from_us(2_000),
        control_period: Time::from_us(200),
        ..Settings::lasting(Time::from_us(8_000))
    };
    let (flows, arcus) = manager.deploy(|status| arrivals(&status.request.name));
    let mut runtime = Runtime::new(manager);
    let result = simulate_with(platform, &flows, &arcus, &settings, &mut runtime).unwrap();
    let rates = (0..flows.len())
        .map(|flow| result.gbit_per_s(flow))
        .collect();
    (runtime, rates)
}

#[test]
fn a_flow_that_misses_its_slo_moves_to_the_other_accelerator() {
    // The first instance is slower than its profile says: as if it had been profiled when it was
    // well.
    let peak = Bandwidth::from_bytes_per_s(5_000_000_000).unwrap();
    let of = |setup| {
        let setup = Time::from_ns(setup);
        Accelerator::new("ipsec", Curve::Saturating { setup, peak })
    };
    let mut manager = Manager::new(Platform::prototype(vec![of(0), of(0)]));
    manager.register(request("it", 1_500, 20.0)).unwrap();
    let ill = Platform::prototype(vec![of(900), of(0)]);
    let (runtime, rates) = run(manager, &ill, |_| Arrivals::Backlogged);
    assert_eq!(runtime.manager().flows()[0].route.accelerator(), Some(1));
    assert!((rates[0] / 20.0 - 1.0).abs() < 0.02, "{rates:?}");
    assert!(
        (1..=10).contains(&runtime.violations()),
        "{}",
        runtime.violations()
    );
}

#[test]
fn a_flow_within_its_slo_is_left_alone() {
    let mut manager = manager();
    manager.register(request("it", 1_500, 20.0)).unwrap();
    let before = manager.flows()[0].registers;
    let platform = Platform::prototype(vec![ipsec()]);
    let (runtime, rates) = run(manager, &platform, |_| Arrivals::Backlogged);
    assert_eq!(
        (runtime.violations(), runtime.manager().flows()[0].registers),
        (0, before)
    );
    assert!((rates[0] - 20.0).abs() < 0.05, "{rates:?}");
    let measured = runtime.manager().flows()[0].measured_gbit_per_s.unwrap();
    assert!((measured - 20.0).abs() < 0.2, "{measured}");
}

#[test]
fn an_opportunistic_flow_has_what_a_promised_one_leaves() {
    let rest = || AdmissionRequest {
        class: ServiceClass::Opportunistic,
        ..request("rest", 1_500, 30.0)
    };
    let nothing_hoped_for = || AdmissionRequest {
        slo: None,
        ..rest()
    };
    let platform = Platform::prototype(vec![ipsec()]);
    let busy: fn(&str) -> Arrivals = |_| Arrivals::Backlogged;
    let idle: fn(&str) -> Arrivals = |name| match name {
        "rest" => Arrivals::Backlogged,
        _ => Arrivals::Paced(Time::from_ns(1_200)), // 10 Gbit/s
    };
    // What it hopes for, if anything, is no limit.
    let little_hoped_for = || request_of("rest", ServiceClass::Opportunistic, 1.0);
    for (arrivals, rest, first, second) in [
        (busy, rest(), 20.0, 10.0),
        (idle, rest(), 10.0, 20.0),
        (idle, nothing_hoped_for(), 10.0, 20.0),
        (idle, little_hoped_for(), 10.0, 20.0),
    ] {
        let mut manager = manager();
        manager.register(request("promised", 1_500, 20.0)).unwrap();
        let status = manager.register(rest).unwrap();
        assert_eq!(status.slo_gbit_per_s(), None);
        let (_, rates) = run(manager, &platform, arrivals);
        assert!((rates[0] - first).abs() < 0.2, "{rates:?}");
        assert!((rates[1] - second).abs() < 0.6, "{rates:?}");
    }
}

fn request_of(name: &str, class: ServiceClass, gbit_per_s: f64) -> AdmissionRequest {
    AdmissionRequest {
        class,
        ..request(name, 1_500, gbit_per_s)
    }
}

#[test]
fn opportunistic_flows_share_what_is_left_and_none_is_refused() {
    let mut manager = manager();
    manager.register(request("promised", 1_500, 20.0)).unwrap();
    for name in ["one", "two"] {
        let rest = AdmissionRequest {
            slo: None,
            ..request_of(name, ServiceClass::Opportunistic, 1.0)
        };
        manager.register(rest).unwrap();
    }
    let platform = Platform::prototype(vec![ipsec()]);
    let (_, rates) = run(manager, &platform, |_| Arrivals::Backlogged);
    for (rate, expected) in rates.iter().zip([20.0, 5.0, 5.0]) {
        assert!((rate / expected - 1.0).abs() < 0.03, "{rates:?}");
    }
    let mut full = self::manager();
    full.register(request("promised", 1_500, 31.9)).unwrap();
    full.register(request_of("rest", ServiceClass::Opportunistic, 1.0))
        .unwrap();
    let (_, rates) = run(full, &platform, |_| Arrivals::Backlogged);
    assert!((rates[0] / 31.9 - 1.0).abs() < 0.01, "{rates:?}");
}

#[test]
fn a_verdict_is_on_what_the_run_can_show() {
    let platform = Platform::prototype(vec![ipsec()]);
    let verdict = |size, gbit_per_s, us, peak: u64| {
        let mut manager = manager();
        manager.register(request("it", size, gbit_per_s)).unwrap();
        let mut platform = platform.clone();
        let peak = Bandwidth::from_bytes_per_s(peak * 125_000_000).unwrap();
        let setup = Time::ZERO;
        platform.accelerators[0].curve = Curve::Saturating { setup, peak };
        let (flows, arcus) = manager.deploy(|_| Arrivals::Backlogged);
        let settings = Settings::lasting(Time::from_us(us));
        let result = simulate(&platform, &flows, &arcus, &settings).unwrap();
        manager.flows()[0].verdict(&result, 0)
    };
    assert_eq!(verdict(1_500, 10.0, 2_000, 32), Verdict::Kept);
    assert_eq!(verdict(1_500, 10.0, 2_000, 7), Verdict::Below);
    // Two messages of 1 MiB, where 10 Gbit/s are 2.4.
    assert_eq!(verdict(1 << 20, 10.0, 2_000, 9), Verdict::TooShort);
    assert_eq!(verdict(1 << 20, 10.0, 2_000, 32), Verdict::TooShort);
    assert_eq!(verdict(1 << 20, 10.0, 100_000, 32), Verdict::Kept);
    assert_eq!(verdict(1 << 20, 10.0, 100_000, 7), Verdict::Below);
}

#[test]
fn a_flow_that_sent_nothing_was_due_nothing() {
    let platform = Platform::prototype(vec![ipsec()]);
    let mut manager = manager();
    manager.register(request("rare", 1_500, 10.0)).unwrap();
    let (flows, arcus) = manager.deploy(|_| Arrivals::Poisson(Time::from_ns(1 << 40)));
    let settings = Settings::lasting(Time::from_us(2_000));
    let result = simulate(&platform, &flows, &arcus, &settings).unwrap();
    assert_eq!(result.flows[0].arrived, 0);
    assert_eq!(manager.flows()[0].verdict(&result, 0), Verdict::Kept);
}

#[test]
fn periods_without_length_are_not_missed() {
    let platform = Platform::prototype(vec![ipsec()]);
    let mut manager = manager();
    manager.register(request("it", 1_500, 10.0)).unwrap();
    let (flows, _) = manager.deploy(|_| Arrivals::Poisson(Time::from_us(2)));
    let settings = Settings::lasting(Time::from_us(500));
    let result = simulate(&platform, &flows, &Mechanism::NoShaping, &settings).unwrap();
    let missed = manager.flows()[0].missed_periods(&result, 0, Time::ZERO);
    assert_eq!(missed, 0);
}

#[test]
fn a_managed_burst_ends_with_its_allowance() {
    let class = |allowance| ServiceClass::ManagedBurst {
        factor: 2.0,
        allowance: Time::from_us(allowance),
        window: Time::from_us(4_000),
    };
    let platform = Platform::prototype(vec![ipsec()]);
    let rate = |allowance| {
        let mut manager = manager();
        manager
            .register(AdmissionRequest {
                class: class(allowance),
                ..request("it", 1_500, 10.0)
            })
            .unwrap();
        run(manager, &platform, |_| Arrivals::Backlogged).1[0]
    };
    // 10 Gbit/s, and 20 for the allowed share of the window.
    assert!((rate(0) - 10.0).abs() < 0.05);
    let half = rate(2_000);
    assert!((half - 15.0).abs() < 0.6, "{half}");
    let always = rate(4_000);
    assert!((always - 20.0).abs() < 0.6, "{always}");
}
