//! The rate limiters that section 4.2 weighs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_shaping::algorithms::{Algorithm, Limiter};
use accelflow_units::{Bandwidth, Bytes, Time};
use proptest::prelude::*;

/// 1 byte a nanosecond; bursts of 1,000.
fn limiter(algorithm: Algorithm) -> Limiter {
    let rate = Bandwidth::from_bytes_per_s(1_000_000_000).unwrap();
    Limiter::new(algorithm, rate, Bytes(1_000))
}

fn released(algorithm: Algorithm, messages: &[(u64, u64)]) -> Vec<f64> {
    let mut limiter = limiter(algorithm);
    let each = messages.iter();
    each.map(|(at, size)| {
        let passed = limiter.release(Time::from_ns(*at), Bytes(*size));
        passed.as_ns_f64()
    })
    .collect()
}

#[test]
fn a_burst_passes_at_once_but_for_the_leaky_bucket() {
    let burst = [(0, 500), (0, 500), (0, 500)];
    assert_eq!(released(Algorithm::TokenBucket, &burst), [0.0, 0.0, 500.0]);
    assert_eq!(
        released(Algorithm::LeakyBucket, &burst),
        [0.0, 500.0, 1_000.0]
    );
    assert_eq!(
        released(Algorithm::FixedWindow, &burst),
        [0.0, 0.0, 1_000.0]
    );
    assert_eq!(released(Algorithm::SlidingLog, &burst), [0.0, 0.0, 1_000.0]);
}

#[test]
fn a_fixed_window_lets_twice_the_burst_pass_around_its_end() {
    let around = [(900, 500), (900, 500), (1_000, 500), (1_000, 500)];
    let passed = released(Algorithm::FixedWindow, &around);
    assert_eq!(passed, [900.0, 900.0, 1_000.0, 1_000.0]);
    let passed = released(Algorithm::SlidingLog, &around);
    assert_eq!(passed, [900.0, 900.0, 1_900.0, 1_900.0]);
}

#[test]
fn only_the_log_grows_with_the_messages() {
    for algorithm in Algorithm::ALL {
        let mut limiter = limiter(algorithm);
        for _ in 0..100 {
            limiter.release(Time::ZERO, Bytes(10));
        }
        let logs = algorithm == Algorithm::SlidingLog;
        assert_eq!(limiter.state_bytes() > 16, logs, "{algorithm:?}");
    }
}

proptest! {
    #[test]
    fn work_passes_in_order_at_the_rate_and_never_early(
        messages in proptest::collection::vec((0u64..3_000, 1u64..1_000), 1..80),
    ) {
        let mut at = 0;
        let messages: Vec<(u64, u64)> = messages
            .into_iter()
            .map(|(pause, size)| {
                at += pause / 10;
                (at, size)
            })
            .collect();
        for algorithm in Algorithm::ALL {
            let passed = released(algorithm, &messages);
            prop_assert!(passed.windows(2).all(|pair| pair[0] <= pair[1]));
            for (first, (came, _)) in passed.iter().zip(&messages) {
                prop_assert!(*first >= *came as f64);
            }
            // From any message to any other: the rate and a burst, or two where windows meet.
            let bursts = if algorithm == Algorithm::FixedWindow { 2.0 } else { 1.0 };
            for from in 0..passed.len() {
                let mut bytes = 0.0;
                for to in from..passed.len() {
                    bytes += messages[to].1 as f64;
                    let time = passed[to] - passed[from];
                    let most = match algorithm {
                        Algorithm::TokenBucket => time + 1_000.0,
                        Algorithm::LeakyBucket => time + messages[to].1 as f64,
                        _ => ((time / 1_000.0).floor() + bursts) * 1_000.0,
                    };
                    prop_assert!(bytes <= most + 1e-6, "{algorithm:?}: {bytes} in {time}");
                }
            }
        }
    }
}
