//! Costs that are known only once the work is done: charges, what is given back, and predictions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_shaping::{CostTable, Registers, TokenBucket};
use accelflow_units::{Bytes, Cycles, Time};
use proptest::collection::vec;
use proptest::prelude::*;

fn registers(refill: u64, bucket: u64, interval: u64) -> Registers {
    Registers::new(refill, bucket, interval).unwrap()
}

#[test]
fn refills_pay_debts_before_work_passes() {
    let mut bucket = TokenBucket::new(registers(10, 100, 10), Cycles(0));
    bucket.charge(150, Cycles(5));
    assert_eq!((bucket.tokens(Cycles(5)), bucket.debt(Cycles(5))), (0, 50));
    // Five refills pay the debt; then even what costs nothing may pass.
    assert!(!bucket.take(0, Cycles(49)).unwrap());
    assert_eq!(bucket.ready(0, Cycles(49)), Some(Cycles(50)));
    assert_eq!(bucket.ready(15, Cycles(49)), Some(Cycles(70)));
    assert!(bucket.take(0, Cycles(50)).unwrap());
    assert_eq!(bucket.tokens(Cycles(70)), 20);
}

#[test]
fn returned_tokens_pay_debts_first_and_never_overfill() {
    let mut bucket = TokenBucket::new(registers(1, 100, 1_000_000), Cycles(0));
    bucket.charge(130, Cycles(1));
    bucket.give_back(20, Cycles(1));
    assert_eq!(bucket.debt(Cycles(1)), 10);
    bucket.give_back(50, Cycles(1));
    assert_eq!((bucket.tokens(Cycles(1)), bucket.debt(Cycles(1))), (40, 0));
    bucket.give_back(1_000, Cycles(1));
    assert_eq!(bucket.tokens(Cycles(1)), 100);
}

#[test]
fn a_size_that_was_not_measured_is_predicted_from_the_nearest() {
    let mut costs = CostTable::default();
    assert_eq!(costs.predict(Bytes(1_000)), None);
    costs.learn(Bytes(1_000), Time::from_us(4));
    assert_eq!(costs.predict(Bytes(600)), Some(Time::from_us(4)));
    // Four times as large, four times as long; smaller ones as long.
    assert_eq!(costs.predict(Bytes(4_096)), Some(Time::from_us(16)));
    assert_eq!(costs.predict(Bytes(1)), Some(Time::from_us(4)));
    costs.learn(Bytes(4_000), Time::from_us(5));
    assert_eq!(costs.predict(Bytes(8_192)), Some(Time::from_us(10)));
    assert_eq!(costs.predict(Bytes(0)), Some(Time::from_us(4)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// However wrong predictions are, the service time of all requests stays below rate times time,
    /// plus one bucket and the requests in progress. A request is charged its service time when it
    /// ends.
    #[test]
    fn no_more_time_is_spent_than_the_rate_allows(
        refill in 1..50u64, bucket in 1..200u64, interval in 1..40u64,
        requests in vec((0..100u64, 0..400u64, 0..30u64), 1..60),
    ) {
        let mut tokens = TokenBucket::new(registers(refill, bucket, interval), Cycles(0));
        let (mut now, mut used) = (0, 0);
        for (predicted, actual, pause) in requests {
            let predicted = predicted.min(bucket);
            let begun = tokens.ready(predicted, Cycles(now)).unwrap();
            prop_assert!(tokens.take(predicted, begun).unwrap());
            let allowed = bucket + refill * (begun.0 / interval);
            prop_assert!(used + predicted <= allowed, "{used} + {predicted} > {allowed}");
            now = begun.0 + pause;
            match actual.checked_sub(predicted) {
                Some(more) => tokens.charge(more, Cycles(now)),
                None => tokens.give_back(predicted - actual, Cycles(now)),
            }
            used += actual;
        }
    }

    /// A prediction is never below the least or above what the largest measurement makes in
    /// proportion.
    #[test]
    fn predictions_stay_between_what_was_measured(
        measured in vec((1..65_536u64, 1..1_000_000u64), 1..40), size in 1..65_536u64,
    ) {
        let mut costs = CostTable::default();
        for &(bytes, ns) in &measured {
            costs.learn(Bytes(bytes), Time::from_ns(ns));
        }
        let predicted = costs.predict(Bytes(size)).unwrap().as_ps() as f64 / 1e3;
        let times = measured.iter().map(|(_, time)| *time as f64);
        let least = times.clone().fold(f64::INFINITY, f64::min);
        let most = measured.iter().map(|&(bytes, ns)| {
            ns as f64 * f64::max(1.0, size.next_power_of_two() as f64 / bytes.next_power_of_two() as f64)
        });
        let most = most.fold(0.0, f64::max);
        prop_assert!(predicted >= least - 1.0 && predicted <= most + 1.0, "{least} {predicted} {most}");
    }
}
