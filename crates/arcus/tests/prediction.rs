//! Violations that the runtime predicts, and buckets for bursts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_arcus::control::{
    AdmissionRequest, Availability, Manager, Rate, Runtime, ServiceClass, registers_for,
    registers_for_bursts,
};
use accelflow_arcus::parameters::ipsec;
use accelflow_arcus::{Action, Controller, Counters, Path, Platform};
use accelflow_shaping::Clock;
use accelflow_units::{Bytes, Time};
use proptest::prelude::*;

const PERIOD: Time = Time::from_us(100);

/// A flow of 10 Gbit/s on one of two accelerators.
fn runtime(ahead: u32) -> Runtime {
    let mut manager = Manager::new(Platform::prototype(vec![ipsec(), ipsec()]));
    let slo = Rate::GbitPerS(10.0);
    let request = AdmissionRequest::new("it", "ipsec", Path::InlineRx, Bytes(1_500), slo);
    manager.register(request).unwrap();
    Runtime::new(manager).predicting(ahead)
}

/// The first period after which the flow is moved, if it gets these parts of its SLO.
fn moved(runtime: &mut Runtime, rates: impl Fn(u32) -> f64) -> Option<u32> {
    (0..40).find(|period| {
        let counted = Counters {
            messages: 1,
            bytes: Bytes((rates(*period) * 125_000.0) as u64),
            waiting: 8,
        };
        let now = PERIOD * u64::from(period + 1);
        let actions = runtime.tick(now, PERIOD, &[counted]);
        actions
            .iter()
            .any(|action| matches!(action, Action::Route { .. }))
    })
}

#[test]
fn a_falling_rate_is_acted_on_before_it_breaks_the_promise() {
    let falling = |period| 1.02 - 0.004 * f64::from(period);
    let mut late = runtime(0);
    let violated = moved(&mut late, falling).unwrap();
    assert_eq!((late.violations(), late.predicted_violations()), (1, 0));
    let mut early = runtime(5);
    let predicted = moved(&mut early, falling).unwrap();
    assert_eq!((early.violations(), early.predicted_violations()), (0, 1));
    assert!(predicted + 3 <= violated, "{predicted} and {violated}");
}

#[test]
fn a_rate_that_does_not_fall_is_left_alone() {
    for rates in [
        |_| 1.0,
        |period| [1.0, 0.995][period as usize % 2],
        |period| 0.995 + 0.001 * f64::from(period),
    ] {
        let mut runtime = runtime(5);
        assert_eq!(moved(&mut runtime, rates), None);
        assert_eq!(runtime.predicted_violations(), 0);
    }
}

#[test]
fn only_a_promised_rate_gets_the_bucket_of_its_periods() {
    let bucket = |class, availability| {
        let mut manager = Manager::new(Platform::prototype(vec![ipsec()]));
        let slo = Rate::GbitPerS(10.0);
        let request = AdmissionRequest {
            class,
            availability,
            ..AdmissionRequest::new("it", "ipsec", Path::InlineRx, Bytes(1_500), slo)
        };
        manager.register(request).unwrap().registers.bucket()
    };
    let periods = Some(Availability {
        percent: 99.0,
        period: Time::from_us(10_000),
    });
    let promised = |availability| bucket(ServiceClass::OnDemand, availability);
    // 1 % of a period's 8,333 messages.
    assert!(promised(periods) > promised(None) + 80 * 1_500);
    let without = |availability| bucket(ServiceClass::Opportunistic, availability);
    assert_eq!(without(periods), without(None));
}

proptest! {
    /// A bucket for bursts has the rate of one without, and the tokens of as many messages.
    #[test]
    fn a_burst_costs_room_and_no_rate(
        gbit_per_s in 0.1..100.0f64,
        size in 64..9_000u64,
        burst in 1..64u32,
    ) {
        let rate = Rate::GbitPerS(gbit_per_s);
        let single = registers_for(rate, Bytes(size), Clock::PAPER).unwrap();
        let several = registers_for_bursts(rate, Bytes(size), burst, Clock::PAPER).unwrap();
        prop_assert_eq!(single.refill(), several.refill());
        prop_assert_eq!(single.interval(), several.interval());
        let more = u64::from(burst - 1) * size;
        prop_assert_eq!(u64::from(several.bucket()), u64::from(single.bucket()) + more);
    }
}
