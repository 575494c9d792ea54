//! Arrival processes: rates, burstiness against closed forms, order, determinism, refusals.

use accelflow_kernel::{ConfidenceInterval, Stream};
use accelflow_units::Time;
use accelflow_workload::arrivals::{
    ASSUMED_DWELL, ArrivalProcess, Arrivals, ArrivalsError, Modulation, RateTable,
};

const RATE_RPS: f64 = 13_400.0;

fn alibaba() -> Modulation {
    Modulation::alibaba(ASSUMED_DWELL).expect("a valid dwell time")
}

fn poisson() -> ArrivalProcess {
    ArrivalProcess::Poisson { rate_rps: RATE_RPS }
}

fn bursty(modulation: Modulation) -> ArrivalProcess {
    ArrivalProcess::Bursty {
        rate_rps: RATE_RPS,
        modulation,
    }
}

fn arrivals(process: ArrivalProcess, seed: u64) -> Arrivals {
    Arrivals::new(process, Stream::new(seed, 0)).expect("a valid process")
}

/// The number of arrivals in each of `windows` successive windows.
fn counts(process: ArrivalProcess, seed: u64, window: Time, windows: usize) -> Vec<f64> {
    let mut counts = vec![0.0; windows];
    for at in arrivals(process, seed) {
        match counts.get_mut((at.as_ps() / window.as_ps()) as usize) {
            Some(count) => *count += 1.0,
            None => break,
        }
    }
    counts
}

/// Over twenty seeds of `windows` windows: the interval of the mean count, and that of the
/// variance around `mean` over `mean`.
fn dispersion(
    process: &ArrivalProcess,
    window: Time,
    windows: usize,
) -> (ConfidenceInterval, ConfidenceInterval) {
    let mean = RATE_RPS * window.as_s_f64();
    let (means, ratios): (Vec<f64>, Vec<f64>) = (0..20)
        .map(|seed| {
            let counts = counts(process.clone(), seed, window, windows);
            let squares: f64 = counts.iter().map(|count| (count - mean).powi(2)).sum();
            let n = windows as f64;
            (counts.iter().sum::<f64>() / n, squares / n / mean)
        })
        .unzip();
    let interval = |values: &[f64]| ConfidenceInterval::of(values).expect("twenty values");
    (interval(&means), interval(&ratios))
}

/// The known mean and index of dispersion lie in the intervals, and the latter is narrow.
fn check(process: ArrivalProcess, window: Time, windows: usize, expected: f64) {
    let (mean, ratio) = dispersion(&process, window, windows);
    let expected_mean = RATE_RPS * window.as_s_f64();
    assert!(
        mean.contains(expected_mean),
        "{mean:?} misses {expected_mean}"
    );
    assert!(ratio.contains(expected), "{ratio:?} misses {expected}");
    assert!(ratio.half_width < 0.1 * expected, "{ratio:?} is wide");
}

#[test]
fn poisson_counts_have_a_variance_of_their_mean() {
    check(poisson(), Time::from_us(1_000), 5_000, 1.0);
    check(poisson(), Time::from_us(20_000), 1_000, 1.0);
}

#[test]
fn bursty_counts_disperse_as_the_closed_form_says() {
    for modulation in [alibaba(), Modulation::short_bursts()] {
        for (window_us, windows) in [(1_000, 20_000), (10_000, 5_000), (60_000, 2_000)] {
            let window = Time::from_us(window_us);
            let expected = modulation.index_of_dispersion(RATE_RPS, window);
            check(bursty(modulation.clone()), window, windows, expected);
        }
    }
}

/// In windows much shorter than a dwell and of many arrivals, what varies is the rate: its squared
/// coefficient of variation is that of the minutes of the data.
#[test]
fn windowed_rates_vary_as_the_data() {
    let (dwell, window, windows) = (Time::from_us(1_000), Time::from_us(100), 20_000);
    let rate_rps = 1e6;
    let mean = rate_rps * window.as_s_f64();
    let modulation = Modulation::alibaba(dwell).expect("a valid dwell time");
    let process = ArrivalProcess::Bursty {
        rate_rps,
        modulation,
    };
    // What the drift within a window leaves of the variance of the rate.
    let x = window.as_s_f64() / dwell.as_s_f64();
    let left = 2.0 * (1.0 + (-x).exp_m1() / x) / x;
    let squares: Vec<f64> = (0..20)
        .map(|seed| {
            let counts = counts(process.clone(), seed, window, windows);
            let deviations = counts
                .iter()
                .map(|count| (count / mean - 1.0).powi(2))
                .sum::<f64>();
            // Less the part of the Poisson process, whose variance is its mean.
            (deviations / windows as f64 - 1.0 / mean) / left
        })
        .collect();
    let interval = ConfidenceInterval::of(&squares).expect("twenty values");
    let of_the_data = 0.882_451_3_f64.powi(2);
    assert!(
        interval.contains(of_the_data) && interval.half_width < 0.05,
        "{interval:?}"
    );
}

#[test]
fn the_named_modulations_are_what_their_names_say() {
    let alibaba = alibaba();
    assert!((alibaba.mean_multiplier() - 1.0).abs() < 1e-9);
    assert!((alibaba.coefficient_of_variation() - 0.882_451_3).abs() < 1e-7);
    assert!((alibaba.states().map(|(_, p)| p).sum::<f64>() - 1.0).abs() < 1e-12);
    let short = Modulation::short_bursts();
    let states: Vec<_> = short.states().collect();
    assert_eq!(states, [(1.7, 0.2), (0.825, 0.8)]);
    assert!((short.mean_multiplier() - 1.0).abs() < 1e-12);
    let burst = short.dwell().as_s_f64() / (1.0 - states[0].1);
    assert!((burst - 0.018).abs() < 1e-12);
}

#[test]
fn times_never_decrease_and_are_those_of_the_seed() {
    for process in [
        poisson(),
        bursty(alibaba()),
        bursty(Modulation::short_bursts()),
    ] {
        let times: Vec<Time> = arrivals(process.clone(), 5).take(50_000).collect();
        assert!(times.is_sorted());
        assert!(
            times
                .iter()
                .copied()
                .eq(arrivals(process.clone(), 5).take(50_000))
        );
        assert!(!times.iter().copied().eq(arrivals(process, 6).take(50_000)));
    }
}

/// A silent state of probability 1/2 is left at half the rate of draws, so a window is silent from
/// end to end with probability `exp(-window / (2 dwell)) / 2`.
#[test]
fn a_silent_state_is_silent() {
    let (dwell, window) = (Time::from_us(100_000), Time::from_us(10_000));
    let modulation = Modulation::new(&[(0.0, 1.0), (2.0, 1.0)], dwell).expect("mean 1");
    let shares: Vec<f64> = (0..20)
        .map(|seed| {
            let counts = counts(bursty(modulation.clone()), seed, window, 5_000);
            counts.iter().filter(|&&count| count == 0.0).count() as f64 / 5_000.0
        })
        .collect();
    let interval = ConfidenceInterval::of(&shares).expect("twenty values");
    let expected = (-0.05_f64).exp() / 2.0;
    assert!(
        interval.contains(expected) && interval.half_width < 0.03,
        "{interval:?}"
    );
}

#[test]
fn a_process_ends_with_representable_time() {
    let rare = ArrivalProcess::Poisson { rate_rps: 1e-3 };
    // 2^64 ps are 18,447 mean gaps; the standard deviation is 136.
    let count = arrivals(rare, 1).take(100_000).count();
    assert!(count.abs_diff(18_447) < 600, "{count}");
}

#[test]
fn a_trace_is_repeated_and_then_ends() {
    let times = [0, 5, 5, 9].map(Time::from_ns).to_vec();
    let repeated: Vec<_> = Arrivals::from_trace(times.clone())
        .expect("in order")
        .collect();
    assert_eq!(repeated, times);
    let error = Arrivals::from_trace([3, 2].map(Time::from_ns).to_vec()).expect_err("back in time");
    assert_eq!(
        error.to_string(),
        "time 1 = 0.002 us: must be at least 0.003 us, the time before it in the list"
    );
}

#[test]
fn rates_that_are_none_are_refused() {
    for rate_rps in [
        0.0,
        -0.0,
        -1.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        2e9,
    ] {
        for process in [
            ArrivalProcess::Poisson { rate_rps },
            ArrivalProcess::Bursty {
                rate_rps,
                modulation: alibaba(),
            },
        ] {
            let error = Arrivals::new(process, Stream::new(1, 1)).expect_err("no rate");
            assert_eq!(
                error.to_string(),
                format!("rate_rps = {rate_rps}: must be from 0.001 to 1e9 requests per second")
            );
        }
    }
}

#[test]
fn modulations_that_are_none_are_refused() {
    let dwell = Time::from_us(100);
    let refuse = |states: &[(f64, f64)]| Modulation::new(states, dwell).expect_err("refused");
    assert_eq!(refuse(&[]), ArrivalsError::NoStates);
    assert_eq!(
        refuse(&[(1.0, 1.0), (-0.5, 1.0)]).to_string(),
        "state 1: rate divided by the mean rate = -0.5: must be finite and not negative"
    );
    assert_eq!(
        refuse(&[(1.0, 0.0)]).to_string(),
        "state 0: weight = 0: must be finite and at least 0.0001 of the sum of all weights"
    );
    assert!(matches!(
        refuse(&[(1.0, f64::NAN)]),
        ArrivalsError::Weight { state: 0, .. }
    ));
    assert_eq!(
        refuse(&[(1.0, 1.0), (3.0, 1.0)]),
        ArrivalsError::MeanMultiplier(2.0)
    );
    let short = Modulation::alibaba(Time::from_ns(99_999)).expect_err("too short");
    assert_eq!(
        short.to_string(),
        "dwell time = 99.999 us: must be at least 100 us"
    );
}

#[test]
fn rates_of_a_table_hold_until_the_next() {
    let second = |s: u64| Time::from_us(s * 1_000_000);
    let rows = vec![(second(1), 2_000.0), (second(3), 0.0), (second(4), 500.0)];
    let table = RateTable::new(rows).expect("a valid table");
    let rows = |start| table.starting_at(second(start)).rows().to_vec();
    assert_eq!(rows(0), table.rows());
    let after_gap = vec![(second(0), 0.0), (second(1), 500.0)];
    assert_eq!([rows(3), rows(9)], [after_gap, vec![(second(0), 500.0)]]);
    // 4,000 requests are expected in the first three seconds, and none in the fourth.
    assert_eq!(table.expects(4_500.0), Some(second(5)));
    let process = ArrivalProcess::Rates(table);
    let count = |process: &ArrivalProcess, from: u64, to: u64| {
        let arrivals = Arrivals::new(process.clone(), Stream::new(5, 0)).expect("a valid process");
        let within = arrivals.take_while(|time| *time < second(to));
        within.filter(|time| *time >= second(from)).count() as f64
    };
    assert_eq!((count(&process, 0, 1), count(&process, 3, 4)), (0.0, 0.0));
    // Poisson counts: the standard deviation is the root of the mean.
    assert!((count(&process, 1, 3) - 4_000.0).abs() < 4.0 * 4_000_f64.sqrt());
    assert!((count(&process, 4, 14) - 5_000.0).abs() < 4.0 * 5_000_f64.sqrt());
    let doubled = process.scaled(2.0);
    assert!((count(&doubled, 1, 3) - 8_000.0).abs() < 4.0 * 8_000_f64.sqrt());
    let refused = |rows: &[(u64, f64)]| {
        let rows = rows.iter().map(|&(at, rate)| (second(at), rate)).collect();
        RateTable::new(rows).expect_err("a wrong table")
    };
    assert_eq!(refused(&[]), ArrivalsError::NoRates);
    assert_eq!(refused(&[(0, 1.0), (1, 0.0)]), ArrivalsError::LastRate(0.0));
    let wrong = refused(&[(0, 1.0), (1, -1.0), (2, 1.0)]);
    let (index, rate) = (1, -1.0);
    assert_eq!(wrong, ArrivalsError::TableRate { index, rate });
    assert_eq!(
        wrong.to_string(),
        "table of rates: rates[1] = -1: must be from 0 to 1e9 requests per second"
    );
    assert!(matches!(
        refused(&[(2, 1.0), (1, 1.0)]),
        ArrivalsError::Order { index: 1, .. }
    ));
}
