//! One rate limiter: gates, bursts, rates, and registers that change.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_shaping::{Clock, Registers, ShapingError, TokenBucket};
use accelflow_units::{Cycles, Time};
use proptest::collection::vec;
use proptest::prelude::*;

fn registers(refill: u64, bucket: u64, interval: u64) -> Registers {
    Registers::new(refill, bucket, interval).unwrap()
}

fn any_registers() -> impl Strategy<Value = Registers> {
    (1..200u64, 1..200u64, 1..60u64).prop_map(|(r, b, i)| registers(r, b, i))
}

/// Spends each of `costs` in the first cycle that allows it; the cycles.
fn spend(bucket: &mut TokenBucket, costs: &[u64]) -> Vec<u64> {
    let mut cycle = Cycles(0);
    let spent = costs.iter().map(|&cost| {
        cycle = bucket.ready(cost, cycle).unwrap();
        assert!(bucket.take(cost, cycle).unwrap());
        cycle.0
    });
    spent.collect()
}

#[test]
fn a_refill_never_fills_beyond_the_bucket() {
    let mut bucket = TokenBucket::new(registers(1_024, 512, 1_000), Cycles(0));
    assert_eq!(bucket.tokens(Cycles(0)), 512);
    assert!(bucket.take(512, Cycles(0)).unwrap());
    assert_eq!(bucket.tokens(Cycles(999)), 0);
    assert_eq!(bucket.tokens(Cycles(1_000)), 512);
    assert_eq!(bucket.tokens(Cycles(9_999_999)), 512);
}

#[test]
fn the_timer_runs_on_while_the_bucket_is_full() {
    let mut bucket = TokenBucket::new(registers(10, 10, 100), Cycles(0));
    assert!(bucket.take(10, Cycles(199)).unwrap());
    assert!(!bucket.take(1, Cycles(199)).unwrap());
    assert!(bucket.take(10, Cycles(200)).unwrap());
}

#[test]
fn tokens_left_over_count_and_those_beyond_the_bucket_are_lost() {
    let mut bucket = TokenBucket::new(registers(10, 25, 4), Cycles(0));
    assert!(bucket.take(18, Cycles(0)).unwrap());
    let seen = [0, 3, 4, 8, 12].map(|cycle| bucket.tokens(Cycles(cycle)));
    assert_eq!(seen, [7, 7, 17, 25, 25]);
}

#[test]
fn a_smaller_bucket_loses_tokens_and_a_larger_one_does_not_make_any() {
    let mut bucket = TokenBucket::new(registers(10, 100, 50), Cycles(0));
    bucket.write(registers(10, 30, 50), Cycles(20));
    bucket.write(registers(10, 80, 50), Cycles(40));
    let seen = [19, 20, 40, 49, 50, 100].map(|cycle| bucket.tokens(Cycles(cycle)));
    assert_eq!(seen, [100, 30, 30, 30, 40, 50]);
    let coming: Vec<u32> = bucket.coming_registers().map(Registers::bucket).collect();
    assert_eq!(coming, [100, 30, 80]);
    assert!(bucket.take(50, Cycles(100)).unwrap());
    assert_eq!(bucket.registers(), registers(10, 80, 50));
}

#[test]
fn writing_does_not_restart_the_timer() {
    let mut bucket = TokenBucket::new(registers(10, 10, 100), Cycles(0));
    assert!(bucket.take(10, Cycles(0)).unwrap());
    for cycle in (10..100).step_by(10) {
        bucket.write(registers(10, 10, 100), Cycles(cycle));
    }
    assert_eq!(bucket.ready(10, Cycles(0)), Some(Cycles(100)));
    // The timer shows 60 when the interval becomes 40: the refill is due at once.
    let mut bucket = TokenBucket::new(registers(10, 10, 100), Cycles(0));
    assert!(bucket.take(10, Cycles(0)).unwrap());
    bucket.write(registers(4, 10, 40), Cycles(60));
    assert_eq!(bucket.ready(4, Cycles(0)), Some(Cycles(60)));
    assert_eq!(bucket.ready(8, Cycles(0)), Some(Cycles(100)));
}

#[test]
fn oversized_work_passes_only_if_a_larger_bucket_is_scheduled() {
    let mut bucket = TokenBucket::new(registers(10, 10, 5), Cycles(0));
    assert_eq!(bucket.ready(11, Cycles(0)), None);
    bucket.write(registers(10, 20, 5), Cycles(33));
    assert_eq!(bucket.ready(11, Cycles(0)), Some(Cycles(35)));
    assert_eq!(bucket.ready(21, Cycles(0)), None);
}

#[test]
fn cycles_do_not_run_backwards() {
    let mut bucket = TokenBucket::new(registers(1, 1, 1), Cycles(5));
    assert!(bucket.take(1, Cycles(7)).unwrap());
    let (at, now) = (Cycles(6), Cycles(7));
    assert_eq!(
        bucket.take(0, at),
        Err(ShapingError::CycleRunsBackwards { at, now })
    );
}

#[test]
fn the_far_end_of_time_is_no_overflow() {
    let most = u64::from(Registers::MAX);
    let mut bucket = TokenBucket::new(registers(1, most, most), Cycles(0));
    assert!(bucket.take(most, Cycles(0)).unwrap());
    assert_eq!(bucket.ready(most, Cycles(0)), Some(Cycles(most * most)));
    assert_eq!(
        bucket.ready(most, Cycles(u64::MAX - 1)),
        Some(Cycles(u64::MAX - 1))
    );
    assert!(bucket.take(most, Cycles(u64::MAX - 1)).unwrap());
    assert_eq!(bucket.ready(most, Cycles(u64::MAX - 1)), None);
}

#[test]
fn registers_of_zero_or_of_more_than_32_bits_are_refused_by_name() {
    let refused = |r, b, i| Registers::new(r, b, i).unwrap_err();
    assert_eq!(refused(0, 1, 1), ShapingError::ZeroRefill);
    assert_eq!(refused(1, 0, 1), ShapingError::ZeroBucket);
    assert_eq!(refused(1, 1, 0), ShapingError::ZeroInterval);
    assert_eq!(
        refused(1, 1 << 32, 1).to_string(),
        "bucket = 4294967296: must be from 1 to 4294967295"
    );
    assert_eq!(Clock::from_hz(0), Err(ShapingError::ZeroClock));
    let hz = Clock::MAX_HZ + 1;
    assert_eq!(Clock::from_hz(hz), Err(ShapingError::FastClock { hz }));
}

proptest! {
    #[test]
    fn gates_are_tight(
        registers in any_registers(),
        costs in vec(1..400u64, 1..40),
        write in prop::option::of((any_registers(), 0..2_000u64)),
    ) {
        let mut bucket = TokenBucket::new(registers, Cycles(0));
        if let Some((later, at)) = write {
            bucket.write(later, Cycles(at));
        }
        let mut cycle = Cycles(0);
        for cost in costs {
            let Some(ready) = bucket.ready(cost, cycle) else {
                let last = bucket.coming_registers().last().unwrap();
                prop_assert!(u64::from(last.bucket()) < cost);
                continue;
            };
            if ready > cycle {
                prop_assert!(!bucket.take(cost, Cycles(ready.0 - 1)).unwrap());
            }
            prop_assert!(bucket.take(cost, ready).unwrap());
            cycle = ready;
        }
    }

    #[test]
    fn no_window_holds_more_than_the_bucket_and_its_refills(
        registers in any_registers(),
        shares in vec(0.0..1.0f64, 2..80),
    ) {
        let cost = |share: f64| 1 + (share * f64::from(registers.bucket() - 1)) as u64;
        let costs: Vec<u64> = shares.into_iter().map(cost).collect();
        let mut bucket = TokenBucket::new(registers, Cycles(0));
        let cycles = spend(&mut bucket, &costs);
        for first in 0..costs.len() {
            let mut sum = 0;
            for last in first..costs.len() {
                sum += costs[last];
                let window = cycles[last] - cycles[first] + 1;
                prop_assert!(sum <= registers.most_within(Cycles(window)));
                let per_interval = u64::from(registers.tokens_per_interval());
                let intervals = window.div_ceil(registers.interval().0);
                let bound = u64::from(registers.bucket()) + per_interval * intervals;
                prop_assert!(sum <= bound);
            }
        }
    }

    #[test]
    fn a_flow_with_enough_to_send_reaches_the_rate_exactly(registers in any_registers()) {
        // Tokens of 1 leave nothing over. The first burst is not part of the rate.
        let mut bucket = TokenBucket::new(registers, Cycles(0));
        prop_assert!(bucket.take(u64::from(registers.bucket()), Cycles(0)).unwrap());
        let per_interval = u64::from(registers.tokens_per_interval());
        let intervals = 20;
        let costs = vec![1; usize::try_from(per_interval * intervals).unwrap()];
        let cycles = spend(&mut bucket, &costs);
        prop_assert_eq!(cycles.last(), Some(&(intervals * registers.interval().0)));
        // The most that a window allows is also reached: by a burst just before a refill.
        let mut bucket = TokenBucket::new(registers, Cycles(0));
        let before = Cycles(registers.interval().0 - 1);
        prop_assert!(bucket.take(u64::from(registers.bucket()), before).unwrap());
        prop_assert!(bucket.take(per_interval, Cycles(before.0 + 1)).unwrap());
        let both = u64::from(registers.bucket()) + per_interval;
        prop_assert_eq!(registers.most_within(Cycles(2)), both);
    }

    #[test]
    fn a_bucket_with_room_for_a_remainder_loses_nothing(
        refill in 1..100u64,
        cost in 1..100u64,
        interval in 1..20u64,
    ) {
        let tokens = registers(refill, refill + cost - 1, interval);
        let mut bucket = TokenBucket::new(tokens, Cycles(0));
        let count = 200;
        let cycles = spend(&mut bucket, &vec![cost; count]);
        let missing = (count as u64 * cost).saturating_sub(u64::from(tokens.bucket()));
        prop_assert_eq!(*cycles.last().unwrap(), missing.div_ceil(refill) * interval);
    }

    #[test]
    fn edges_and_times_correspond(hz in 1..=Clock::MAX_HZ, cycle in 0..1_000_000u64) {
        let clock = Clock::from_hz(hz).unwrap();
        let edge = clock.edge(Cycles(cycle));
        prop_assume!(edge < Time::MAX);
        prop_assert_eq!(clock.begun(edge), Cycles(cycle));
        prop_assert_eq!(clock.next(edge), Cycles(cycle));
        let behind = Time::from_ps(edge.as_ps() + 1);
        prop_assert!(clock.next(behind) == Cycles(cycle + 1));
        if let Some(before) = edge.as_ps().checked_sub(1) {
            prop_assert!(clock.begun(Time::from_ps(before)) == Cycles(cycle - 1));
        }
    }
}
