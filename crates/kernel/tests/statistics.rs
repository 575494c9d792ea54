//! The statistics, on numbers that can be checked by hand.

use accelflow_kernel::{BIN_ERROR, BusyTime, ConfidenceInterval, Samples, Stream, TimeAverage};
use accelflow_units::Time;
use proptest::prelude::*;

#[test]
fn an_empty_sample_has_no_statistics() {
    let mut samples = Samples::new();
    assert_eq!(
        (samples.mean(), samples.max(), samples.percentile(50.0)),
        (None, None, None)
    );
    assert_eq!(ConfidenceInterval::of(&[1.0]), None);
    assert_eq!(
        TimeAverage::new(Time::from_ns(3)).mean_at(Time::from_ns(3)),
        None
    );
    let busy = BusyTime::new(Time::ZERO);
    assert_eq!(busy.utilisation_at(Time::ZERO, 1), None);
    assert_eq!(busy.utilisation_at(Time::from_ns(1), 0), None);
}

#[test]
fn percentiles_are_of_the_nearest_rank() {
    let mut samples: Samples = (1..=1_000).rev().map(Time::from_ns).collect();
    for (percent, ns) in [
        (0.0, 1),
        (0.1, 1),
        (50.0, 500),
        (50.01, 501),
        (99.0, 990),
        (99.9, 999),
        (100.0, 1_000),
    ] {
        assert_eq!(
            samples.percentile(percent),
            Some(Time::from_ns(ns)),
            "{percent}"
        );
    }
    for percent in [-0.1, 100.1, f64::NAN] {
        assert_eq!(samples.percentile(percent), None, "{percent}");
    }
    assert_eq!(samples.mean_ps(), Some(500_500.0));
    assert_eq!(samples.max(), Some(Time::from_ns(1_000)));
    let mut twice = samples.clone();
    twice.merge(&samples);
    assert_eq!((twice.count(), twice.mean()), (2_000, samples.mean()));
}

proptest! {
    #[test]
    fn a_percentile_is_the_smallest_sample_that_enough_do_not_exceed(
        values in prop::collection::vec(0..50_u64, 1..200),
        percent in 0_u64..=100,
    ) {
        let mut samples: Samples = values.iter().copied().map(Time::from_ps).collect();
        let at_most = |limit| values.iter().filter(|&&value| value <= limit).count() as u64;
        let enough = |limit| at_most(limit) * 100 >= percent * values.len() as u64;
        let expected = values.iter().copied().filter(|&value| enough(value)).min().unwrap();
        prop_assert_eq!(samples.percentile(percent as f64), Some(Time::from_ps(expected)));
    }
}

#[test]
fn the_longest_are_a_share_of_all_in_falling_order() {
    let ns = |values: &[u64]| -> Vec<Time> {
        values.iter().map(|&value| Time::from_ns(value)).collect()
    };
    let mut samples: Samples = ns(&[3, 9, 1, 7, 5, 9]).into_iter().collect();
    assert_eq!(samples.longest(0.5), ns(&[9, 9, 7]));
    assert_eq!(samples.longest(0.51), ns(&[9, 9, 7, 5]));
    assert_eq!(samples.longest(2.0), ns(&[9, 9, 7, 5, 3, 1]));
    assert_eq!(samples.longest(0.0), ns(&[]));
    assert_eq!(Samples::new().longest(1.0), ns(&[]));
    assert_eq!(samples.count(), 6);
}

#[test]
fn a_level_is_averaged_over_the_time_it_held() {
    let mut queue = TimeAverage::new(Time::from_ns(10));
    queue.set(Time::from_ns(20), 3);
    queue.decrease(Time::from_ns(30));
    queue.increase(Time::from_ns(30));
    assert_eq!(queue.mean_at(Time::from_ns(40)), Some(2.0));
    assert_eq!(queue.integral_at(Time::from_ns(40)), 60_000);
    queue.restart(Time::from_ns(40));
    queue.set(Time::from_ns(41), 1);
    assert_eq!((queue.max(), queue.level()), (3, 1));
    assert_eq!(queue.mean_at(Time::from_ns(42)), Some(2.0));
}

#[test]
fn busy_time_counts_servers_and_charges() {
    let mut busy = BusyTime::new(Time::ZERO);
    busy.begin(Time::from_ns(0));
    busy.begin(Time::from_ns(5));
    busy.end(Time::from_ns(10));
    assert_eq!(busy.total_at(Time::from_ns(10)), Time::from_ns(15));
    assert_eq!(busy.utilisation_at(Time::from_ns(20), 2), Some(0.625));
    busy.restart(Time::from_ns(20));
    busy.end(Time::from_ns(22));
    busy.charge(Time::from_ns(4));
    assert_eq!(busy.total_at(Time::from_ns(30)), Time::from_ns(6));
    assert_eq!(busy.busy(), 0);
}

/// Mean 5, standard deviation 2.138, n = 8: 2.364624 * 2.13809 / sqrt(8).
#[test]
fn an_interval_is_students() {
    let interval = ConfidenceInterval::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
    assert_eq!(interval.mean, 5.0);
    assert!(
        (interval.half_width - 1.787_487).abs() < 1e-5,
        "{interval:?}"
    );
    assert!(interval.contains(6.78) && !interval.contains(6.8));
}

/// Of 2,000 intervals for a known mean, 95 % hold it (standard deviation 0.5 %).
#[test]
fn intervals_cover_as_often_as_they_say() {
    let mut stream = Stream::new(11, 0);
    let covering = (0..2_000)
        .filter(|_| {
            let sums: Vec<f64> = (0..10)
                .map(|_| (0..50).map(|_| stream.uniform()).sum())
                .collect();
            ConfidenceInterval::of(&sums).unwrap().contains(25.0)
        })
        .count();
    assert!((1_870..=1_930).contains(&covering), "{covering}");
}

/// Durations over nine decades.
fn wide() -> impl Strategy<Value = Vec<Time>> {
    let one = (0_u64..1 << 10, 0_u32..40);
    let one = one.prop_map(|(digits, doublings)| Time::from_ps(digits << doublings));
    prop::collection::vec(one, 1..300)
}

fn binned(times: &[Time]) -> Samples {
    let mut samples = Samples::binned();
    samples.extend(times.iter().copied());
    samples
}

/// Whether `found` stands for `exact`: half a picosecond is lost to rounding.
fn stands_for(found: Time, exact: Time) -> bool {
    let (found, exact) = (found.as_ps() as f64, exact.as_ps() as f64);
    (found - exact).abs() <= exact * BIN_ERROR + 0.5
}

proptest! {
    #[test]
    fn bins_are_as_exact_as_they_say(times in wide(), percent in 0.0..=100.0) {
        let mut exact: Samples = times.iter().copied().collect();
        let mut bins = binned(&times);
        prop_assert!(bins.is_binned() && !exact.is_binned());
        prop_assert_eq!(bins.count(), exact.count());
        prop_assert_eq!(bins.mean_ps(), exact.mean_ps());
        prop_assert_eq!(bins.max(), exact.max());
        let (found, truth) = (bins.percentile(percent), exact.percentile(percent));
        prop_assert!(stands_for(found.unwrap(), truth.unwrap()), "{found:?} for {truth:?}");
    }

    #[test]
    fn bins_of_two_runs_are_those_of_one(first in wide(), second in wide(), exact in any::<bool>()) {
        let mut merged = match exact {
            true => first.iter().copied().collect(),
            false => binned(&first),
        };
        merged.merge(&binned(&second));
        let all: Vec<Time> = first.iter().chain(&second).copied().collect();
        prop_assert_eq!(merged, binned(&all));
    }

    #[test]
    fn the_longest_bins_have_the_longest_samples(times in wide(), share in 0.0..=1.0) {
        let mut exact: Samples = times.iter().copied().collect();
        let longest = exact.longest(share);
        let bins = binned(&times).longest_bins(share);
        prop_assert!(exact.longest_bins(share).is_empty());
        prop_assert!(binned(&times).longest(share).is_empty());
        let singly = bins.iter().flat_map(|&(time, count)| std::iter::repeat_n(time, count as usize));
        let singly: Vec<Time> = singly.collect();
        prop_assert!(singly.len() >= longest.len());
        for (found, truth) in singly.iter().zip(&longest) {
            prop_assert!(stands_for(*found, *truth), "{found:?} for {truth:?}");
        }
    }
}
