//! Random streams and request attributes: pinned bits, moments, independence.

use accelflow_kernel::{ConfidenceInterval, Stream, attribute, attribute_unit};
use accelflow_units::Time;

/// The interval of the means of 100 batches of draws.
fn interval(draws: usize, mut draw: impl FnMut() -> f64) -> ConfidenceInterval {
    let batch = draws / 100;
    let means: Vec<f64> = (0..100)
        .map(|_| (0..batch).map(|_| draw()).sum::<f64>() / batch as f64)
        .collect();
    ConfidenceInterval::of(&means).expect("100 observations")
}

#[test]
fn a_stream_is_its_seed_and_number() {
    let bits = |seed, stream| {
        let mut stream = Stream::new(seed, stream);
        [(); 8].map(|()| stream.bits())
    };
    assert_eq!(bits(1, 2), bits(1, 2));
    let all: std::collections::HashSet<_> = (0..30)
        .flat_map(|seed| (0..30).map(move |stream| (seed, stream)))
        .collect();
    let distinct: std::collections::HashSet<_> = all
        .iter()
        .flat_map(|&(seed, stream)| bits(seed, stream))
        .collect();
    assert_eq!(distinct.len(), 900 * 8);
}

/// Results that were published for a seed must stay reproducible: these bits may never change.
/// An independent program computed them from the definitions in the documentation; its platform's
/// logarithm put the sum at ...402C, two units of the last place away.
#[test]
fn the_bits_are_pinned() {
    let mut stream = Stream::new(1, 0);
    assert_eq!(stream.bits(), 0x79B5_934E_8167_BBE7);
    assert_eq!(stream.uniform().to_bits(), 0x3FCC_D499_35FD_8AA4);
    let total: f64 = (0..100_000).map(|_| stream.exponential(1.0)).sum();
    assert_eq!(total.to_bits(), 0x40F8_3C02_81EF_402E);
    assert_eq!(attribute(1, 2, 3), 0x1981_09F2_B20D_CF03);
}

#[test]
fn uniform_numbers_are_uniform() {
    let mut stream = Stream::new(3, 0);
    assert!(interval(1_000_000, || stream.uniform()).contains(0.5));
    assert!(interval(1_000_000, || stream.uniform().powi(2)).contains(1.0 / 3.0));
    assert!(
        (0..1_000_000)
            .map(|_| stream.uniform())
            .all(|u| (0.0..1.0).contains(&u))
    );
}

/// Chi-squared over the 24 values below 24: 23 degrees of freedom, 0.001 quantile at 49.7.
#[test]
fn integers_below_n_are_unbiased() {
    let mut stream = Stream::new(4, 0);
    let mut counts = [0_u32; 24];
    for _ in 0..240_000 {
        counts[stream.below(24) as usize] += 1;
    }
    let chi: f64 = counts
        .iter()
        .map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4)
        .sum();
    assert!(chi < 49.7, "{chi}");
    assert_eq!(stream.below(0), 0);
    assert_eq!(stream.below(1), 0);
    // Two thirds of 2^64: taking bits modulo n would give the lower half twice as often.
    let n = u64::MAX / 3 * 2;
    let low = interval(100_000, || f64::from(u8::from(stream.below(n) < n / 2)));
    assert!(low.contains(0.5), "{low:?}");
}

#[test]
fn exponential_numbers_have_the_moments_and_the_tail() {
    let mut stream = Stream::new(5, 0);
    assert!(interval(2_000_000, || stream.exponential(3.0)).contains(3.0));
    assert!(interval(2_000_000, || stream.exponential(1.0).powi(2)).contains(2.0));
    for quantile in [0.01, 0.5, 1.0, 4.0, 7.697, 9.0_f64] {
        let beyond = interval(4_000_000, || {
            f64::from(u8::from(stream.exponential(1.0) > quantile))
        });
        assert!(
            beyond.contains((-quantile).exp()),
            "beyond {quantile}: {beyond:?}"
        );
    }
    let mean = Time::from_us(2);
    let drawn = interval(1_000_000, || stream.exponential_time(mean).as_us_f64());
    assert!(drawn.contains(2.0));
}

#[test]
fn bernoulli_takes_any_probability() {
    let mut stream = Stream::new(6, 0);
    assert!(interval(1_000_000, || f64::from(u8::from(stream.bernoulli(0.3)))).contains(0.3));
    for _ in 0..1_000 {
        assert!(!stream.bernoulli(0.0) && !stream.bernoulli(-1.0) && !stream.bernoulli(f64::NAN));
        assert!(stream.bernoulli(1.0));
    }
}

#[test]
fn attributes_are_uniform_over_requests_and_over_indices() {
    let mut request = 0;
    let over_requests = interval(1_000_000, || {
        request += 1;
        attribute_unit(9, request, 0)
    });
    let mut index = 0;
    let over_indices = interval(1_000_000, || {
        index += 1;
        attribute_unit(9, 0, index)
    });
    assert!(over_requests.contains(0.5) && over_indices.contains(0.5));
}

/// One changed bit of seed, request or index changes half of the result's bits.
#[test]
fn attributes_avalanche() {
    for bit in 0..64 {
        let flipped = 1_u64 << bit;
        for argument in 0..3 {
            let changed: u32 = (0..2_000)
                .map(|n| {
                    let with = |yes| if yes { flipped } else { 0 };
                    let (seed, request, index) = (
                        with(argument == 0),
                        n ^ with(argument == 1),
                        with(argument == 2),
                    );
                    (attribute(0, n, 0) ^ attribute(seed, request, index)).count_ones()
                })
                .sum();
            // 128,000 fair coins: the standard deviation is 179.
            assert!(
                changed.abs_diff(64_000) < 800,
                "argument {argument}, bit {bit}: {changed}"
            );
        }
    }
}
