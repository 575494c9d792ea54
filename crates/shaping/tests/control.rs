//! The control plane of a server: what is admitted fits, what is left can be had, and rates add up.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_shaping::control::{
    ControlError, ControlPlane, ControlSettings, Counters, LatencySlo, Limit, Slo, Verdict,
};
use accelflow_units::{Bytes, Time};
use proptest::collection::vec;
use proptest::prelude::*;

const NAMES: [&str; 4] = ["a", "b", "c", ""];

const PERIOD: Time = Time::from_us(100_000);

fn plane(capacity: f64) -> ControlPlane {
    ControlPlane::new(ControlSettings::new(capacity), NAMES).unwrap()
}

fn within(slo: Slo, quantile: f64, us: u64) -> Slo {
    let within = Time::from_us(us);
    let latency = Some(LatencySlo { quantile, within });
    Slo { latency, ..slo }
}

/// A period in which a tenant sent more than it may: this many passed, and others wait.
fn flooding(requests: u64, request_us: u64) -> Counters {
    Counters {
        requests,
        time: Time::from_us(requests * request_us),
        waiting: 5,
        ..Counters::default()
    }
}

#[test]
fn a_promise_that_does_not_fit_is_refused_with_what_is_left() {
    let mut plane = plane(1.0);
    plane
        .promise(0, Slo::new(10_000.0, Time::from_us(50)))
        .unwrap();
    let refused = plane
        .promise(1, Slo::new(4_000.0, Time::from_us(100)))
        .unwrap_err();
    let ControlError::NotAdmitted {
        left,
        left_requests_per_s,
        limit,
        ..
    } = &refused
    else {
        panic!("{refused}");
    };
    assert!(
        (left - 0.3).abs() < 1e-9 && *limit == Limit::Capacity,
        "{refused}"
    );
    // What is left can be had, and no more.
    assert_eq!(*left_requests_per_s, 3_000.0);
    plane
        .promise(1, Slo::new(3_000.0, Time::from_us(100)))
        .unwrap();
    assert!(plane.promise(2, Slo::new(1.0, Time::from_us(1))).is_err());
    // A new promise replaces the old one, and one that is refused leaves it.
    assert!(
        plane
            .promise(1, Slo::new(3_001.0, Time::from_us(100)))
            .is_err()
    );
    assert!((plane.promised() - 0.8).abs() < 1e-9);
    assert!(plane.release(0) && !plane.release(0));
    plane
        .promise(1, Slo::new(8_000.0, Time::from_us(100)))
        .unwrap();
}

#[test]
fn a_promised_latency_bounds_what_else_may_be_promised() {
    let mut plane = plane(1.0);
    let slo = Slo::new(1_000.0, Time::from_us(100));
    // 99 % of such requests take 461 us on an idle core.
    let refused = plane.promise(0, within(slo, 0.99, 400)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "tenant 'a': latency of 99 % of the requests = 400 us: must be more than 460.517018 us, \
         their latency on idle accelerators",
    );
    // Within twice that at half load.
    plane.promise(0, within(slo, 0.99, 921)).unwrap();
    let refused = plane
        .promise(1, Slo::new(5_000.0, Time::from_us(100)))
        .unwrap_err();
    let text = refused.to_string();
    assert!(
        text.contains("at which 'a' still gets its promised latency"),
        "{text}"
    );
    plane
        .promise(1, Slo::new(3_900.0, Time::from_us(100)))
        .unwrap();
    plane.release(0);
    plane
        .promise(2, Slo::new(4_000.0, Time::from_us(100)))
        .unwrap();
}

#[test]
fn values_out_of_range_are_refused() {
    let refused = |capacity| {
        let plane = ControlPlane::new(ControlSettings::new(capacity), NAMES);
        plane.unwrap_err().to_string()
    };
    assert_eq!(
        refused(0.0),
        "control: capacity = 0: must be above 0 and at most 400 s of accelerator time per second"
    );
    let mut plane = plane(1.0);
    let mut text = |slo| plane.promise(0, slo).unwrap_err().to_string();
    let slo = Slo::new(0.0, Time::from_us(1));
    assert!(text(slo).starts_with("tenant 'a': requests_per_s = 0: must be above 0"));
    let slo = Slo {
        periods: 1.0,
        ..Slo::new(1.0, Time::from_us(1))
    };
    assert_eq!(
        text(slo),
        "tenant 'a': periods = 1: must be from 0.5 to below 1, as a share of all periods"
    );
    assert!(text(Slo::new(1.0, Time::ZERO)).contains("request time = 0 us: must be from 1 ns"));
}

#[test]
fn a_missed_promise_cuts_the_rest_and_gives_it_back_slowly() {
    let mut plane = plane(1.0);
    plane
        .promise(0, Slo::new(4_000.0, Time::from_us(100)))
        .unwrap();
    let (promised, other) = (0, 1);
    let tick = |plane: &mut ControlPlane, of_promised: u64| {
        let mut counters = [Counters::default(); 4];
        counters[promised] = flooding(of_promised, 100);
        counters[other] = flooding(300, 100);
        plane.tick(PERIOD, &counters);
        plane.tenants()[other].shaped
    };
    for _ in 0..40 {
        tick(&mut plane, 400);
    }
    let before = plane.tenants()[other].shaped;
    // In use is what is promised, and one other tenant shares the rest.
    assert!((before - 0.4).abs() < 1e-6, "{before}");
    assert_eq!(plane.tenants()[promised].rate_verdict(), Verdict::TooShort);
    let after = tick(&mut plane, 200);
    assert!(after < 0.6 * before, "{before} {after}");
    let shaped = plane.tenants()[promised].shaped;
    assert!(shaped > 0.4 && shaped <= 0.42 + 1e-9, "{shaped}");
    assert_eq!(plane.tenants()[promised].missed, 1);
    for _ in 0..20 {
        // It gets what its shaper lets through, and so makes up for what it has not got.
        let passed = plane.tenants()[promised].shaped * 1_000.0;
        tick(&mut plane, passed.round() as u64);
    }
    let again = plane.tenants()[other].shaped;
    assert!((again / before - 1.0).abs() < 0.01, "{before} {again}");
    tick(&mut plane, 200);
    assert_eq!(plane.tenants()[promised].rate_verdict(), Verdict::Missed);
}

/// Ticks a plane with one promise while more requests wait. `passed` has the requests of each
/// period. Returns the missed periods after each, and the rate at the end.
fn flooded(slo: Slo, passed: impl IntoIterator<Item = u64>) -> (Vec<u64>, f64) {
    let mut plane = plane(1.0);
    plane.promise(0, slo).unwrap();
    let request_us = slo.time.as_us_f64() as u64;
    let mut tick = |requests| {
        let mut counters = [Counters::default(); 4];
        counters[0] = flooding(requests, request_us);
        plane.tick(PERIOD, &counters);
        plane.tenants()[0].missed
    };
    let missed = passed.into_iter().map(&mut tick).collect();
    (missed, plane.tenants()[0].shaped)
}

#[test]
fn a_period_that_cuts_a_request_misses_no_promise() {
    // Five are promised in each period.
    let slo = Slo::new(50.0, Time::from_us(100));
    let (missed, _) = flooded(slo, [4, 6, 4, 5, 3, 2, 5]);
    assert_eq!(missed, [0, 0, 0, 0, 1, 2, 2]);
}

#[test]
fn a_promise_below_a_request_a_period_is_judged_by_their_sum() {
    // Half a request is promised in each period.
    let slo = Slo::new(5.0, Time::from_us(20_000));
    let every = |periods: u64| (1..=200).map(move |period| u64::from(period % periods == 0));
    let (missed, shaped) = flooded(slo, every(2));
    assert_eq!(missed.last(), Some(&0));
    assert!((shaped - 0.1).abs() < 1e-9, "{shaped}");
    // With half of it, each of the 150 periods without a request is missed, but the first few.
    let (missed, shaped) = flooded(slo, every(4));
    assert!((140..=150).contains(&missed[199]), "{}", missed[199]);
    assert!((shaped - 0.105).abs() < 1e-9, "{shaped}");
}

#[test]
fn a_small_shortfall_that_lasts_is_missed() {
    // Nine of ten requests a period: the end of a period may cut one, but not every time.
    let (missed, _) = flooded(Slo::new(100.0, Time::from_us(100)), [9; 3]);
    assert_eq!(missed, [0, 1, 2]);
}

#[test]
fn late_requests_are_judged_by_the_promised_share() {
    let mut plane = plane(1.0);
    plane
        .promise(0, within(Slo::new(1_000.0, Time::from_us(10)), 0.99, 1_000))
        .unwrap();
    let mut period = |requests, late| {
        let mut counters = [Counters::default(); 4];
        counters[0] = Counters {
            requests,
            late,
            ..Counters::default()
        };
        plane.tick(PERIOD, &counters);
        (plane.tenants()[0].latency_verdict(), plane.eased())
    };
    assert_eq!(period(50, 0), (Verdict::TooShort, 1.0));
    assert_eq!(period(100, 1), (Verdict::Kept, 1.0));
    assert_eq!(period(50, 2), (Verdict::Missed, 0.5));
    assert_eq!(period(500, 0).0, Verdict::Kept);
}

#[test]
fn unused_promises_are_lent_and_kept_when_they_are_used_again() {
    let mut plane = plane(1.0);
    plane
        .promise(0, Slo::new(6_000.0, Time::from_us(100)))
        .unwrap();
    let mut counters = [Counters::default(); 4];
    counters[3] = flooding(100, 100);
    for _ in 0..60 {
        plane.tick(PERIOD, &counters);
    }
    // A quarter of what is promised stays free for a tenant that sends nothing.
    let lent = plane.tenants()[3].shaped;
    assert!((lent - 0.65).abs() < 1e-6, "{lent}");
    counters[0] = flooding(600, 100);
    for _ in 0..60 {
        plane.tick(PERIOD, &counters);
    }
    let lent = plane.tenants()[3].shaped;
    assert!((lent - 0.2).abs() < 1e-6, "{lent}");
}

#[test]
fn a_promise_by_size_follows_what_requests_take_while_there_is_room() {
    let mut plane = plane(1.0);
    let by_size = Slo {
        size: Some(Bytes(1_000)),
        ..Slo::new(4_000.0, Time::from_us(100))
    };
    plane.promise(0, by_size).unwrap();
    plane
        .promise(1, Slo::new(3_000.0, Time::from_us(100)))
        .unwrap();
    let mut takes = |us| {
        let mut counters = [Counters::default(); 4];
        counters[0].request_time = Some(Time::from_us(us));
        plane.tick(PERIOD, &counters);
        plane.tenants()[0].promised()
    };
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}");
    near(takes(120), 0.48);
    // There is no room for more, and never is it less than what was admitted.
    near(takes(200), 0.48);
    near(takes(50), 0.4);
}

/// What an operator or a period does.
#[derive(Clone, Debug)]
enum Event {
    Promise(usize, Slo),
    Release(usize),
    Period(Vec<Counters>),
}

fn any_slo() -> impl Strategy<Value = Slo> {
    let latency = proptest::option::of((0.5..0.999, 10..100_000u64));
    (1.0..50_000.0, 1..500u64, any::<bool>(), latency).prop_map(|(rate, us, sized, latency)| {
        let slo = Slo {
            size: sized.then_some(Bytes(100)),
            ..Slo::new(rate, Time::from_us(us))
        };
        latency.map_or(slo, |(quantile, us)| within(slo, quantile, us))
    })
}

fn any_counters() -> impl Strategy<Value = Counters> {
    let time = proptest::option::of(1..1_000u64);
    (0..10_000u64, 0..1_000_000u64, 0..100u64, 0..3usize, time).prop_map(
        |(requests, us, late, waiting, time)| Counters {
            requests,
            time: Time::from_us(us),
            late: late.min(requests),
            waiting,
            request_time: time.map(Time::from_us),
        },
    )
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0..4usize, any_slo()).prop_map(|(tenant, slo)| Event::Promise(tenant, slo)),
        (0..4usize).prop_map(Event::Release),
        vec(any_counters(), 4).prop_map(Event::Period),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is asked and whatever happens, promises fit the capacity, promised rates do, and
    /// the rest gets no more than what promised tenants leave.
    #[test]
    fn admitted_promises_never_exceed_the_capacity(
        capacity in 0.1..8.0, events in vec(any_event(), 1..40),
    ) {
        let mut plane = plane(capacity);
        for event in events {
            match event {
                Event::Promise(tenant, slo) => {
                    let before = plane.promised();
                    if plane.promise(tenant, slo).is_err() {
                        prop_assert_eq!(plane.promised(), before);
                    }
                }
                Event::Release(tenant) => {
                    plane.release(tenant);
                }
                Event::Period(counters) => plane.tick(PERIOD, &counters),
            }
            let (most, _) = plane.largest_use();
            let room = most * (1.0 + 1e-9);
            prop_assert!(most <= 0.8 * capacity * (1.0 + 1e-9) && plane.promised() <= room);
            let promised = plane.tenants().iter().filter(|tenant| tenant.slo.is_some());
            for tenant in promised.clone() {
                prop_assert!(tenant.shaped >= tenant.promised() * (1.0 - 1e-9));
            }
            let shaped: f64 = promised.map(|tenant| tenant.shaped).sum();
            prop_assert!(shaped <= room, "{shaped} of {most}");
            for tenant in plane.tenants().iter().filter(|tenant| tenant.slo.is_none()) {
                let least = capacity * 0.001;
                prop_assert!(tenant.shaped > 0.0 && tenant.shaped <= room.max(least));
            }
        }
    }

    /// What a refusal says is left can be had, and a request a second more cannot.
    #[test]
    fn the_reported_remainder_can_be_admitted(
        capacity in 0.1..8.0, first in any_slo(), second in any_slo(),
    ) {
        let mut plane = plane(capacity);
        let _ = plane.promise(0, first);
        let refused = plane.promise(1, second);
        if let Err(ControlError::NotAdmitted { left_requests_per_s: left, .. }) = refused {
            let of = |rate| Slo { requests_per_s: rate, ..second };
            if left > 0.0 {
                plane.promise(1, of(left)).unwrap();
            }
            prop_assert!(plane.promise(1, of(left + 1.0)).is_err());
        }
    }
}

#[test]
fn parameters_are_those_that_the_plane_has() {
    let faults = accelflow_shaping::control::PARAMETERS.faults(|| ControlSettings::new(1.0));
    assert_eq!(faults, Vec::<String>::new());
}
