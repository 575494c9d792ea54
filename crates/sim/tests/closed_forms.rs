//! The simulated server against queueing theory, where theory is exact.
//!
//! Each comparison is over replications with fixed seeds: the expected value must lie within 1.5
//! half widths of the 95 % interval, and the interval must be narrow enough to tell.

#![allow(clippy::unwrap_used)]

use accelflow_kernel::{ConfidenceInterval, Samples};
use accelflow_sim::plan::Plan;
use accelflow_sim::{Config, Load};
use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::RecordingOptions;
use accelflow_workload::services::Operation;
use accelflow_workload::sizes::{PayloadSizes, QuantileTable, SizeDistribution};

use crate::common::{NOTHING_NS, fixed_plan, frictionless, image, profile, run, sink, uniq_id};

const SERVICE_S: f64 = 10e-6;
const REPLICATIONS: u64 = 12;

/// The received message's TCP takes 10 us, everything else a picosecond.
fn only_tcp(operation: &Operation) -> f64 {
    if operation.receives {
        SERVICE_S * 1e9
    } else {
        NOTHING_NS
    }
}

/// Mean response times in seconds, one of each replication, and all response times.
fn replicate(config: &Config, plan: &Plan, id: &str, rate_rps: f64) -> (Vec<f64>, Samples) {
    let load = Load::new(0, ArrivalProcess::Poisson { rate_rps }, 22_000, 2_000);
    let mut all = Samples::new();
    let means = (1..=REPLICATIONS).map(|seed| {
        let outcome = run(config, plan, id, std::slice::from_ref(&load), seed);
        let latency = &outcome.services[0].latency;
        all.merge(latency);
        latency.mean_ps().unwrap() / 1e12
    });
    (means.collect(), all)
}

fn assert_agrees(observed: &[f64], expected: f64, narrow: f64) {
    let interval = ConfidenceInterval::of(observed).unwrap();
    let relative = interval.relative_half_width().unwrap();
    assert!(relative < narrow, "{interval:?} tells too little");
    let off = (interval.mean - expected).abs();
    assert!(
        off <= 1.5 * interval.half_width,
        "{interval:?}, expected {expected}"
    );
}

/// The Pollaczek-Khinchine mean wait of M/G/1.
fn pollaczek_khinchine(rate: f64, mean: f64, mean_square: f64) -> f64 {
    rate * mean_square / (2.0 * (1.0 - rate * mean))
}

/// A server of one core, whose threads cost nothing to switch.
fn one_core() -> Config {
    let mut config = frictionless();
    config.set("core.count", 1.0).unwrap();
    config
}

#[test]
fn one_core_with_equal_requests_is_m_d_1() {
    let plan = fixed_plan(&uniq_id(), NOTHING_NS, 0, &only_tcp);
    for utilization in [0.3, 0.7, 0.85] {
        let rate = utilization / SERVICE_S;
        let (means, _) = replicate(&one_core(), &plan, "non_acc", rate);
        let wait = pollaczek_khinchine(rate, SERVICE_S, SERVICE_S * SERVICE_S);
        assert_agrees(&means, SERVICE_S + wait, 0.04);
    }
}

/// Quantiles of an exponential distribution, finer towards its tail, up to 1 in 100,000.
fn exponential(mean_bytes: f64) -> Vec<(f64, Bytes)> {
    let tail = |step: u32| 10_f64.powf(-f64::from(step) / 100.0);
    let size = |beyond: f64| Bytes((-mean_bytes * beyond.ln()).round() as u64);
    let mut points: Vec<_> = (0..=500)
        .map(|step| (1.0 - tail(step), size(tail(step))))
        .collect();
    points[0] = (0.0, Bytes(0));
    points.push((1.0, size(1e-5 / std::f64::consts::E)));
    points
}

/// First and second moment of a piecewise linear quantile function.
fn moments(points: &[(f64, Bytes)]) -> (f64, f64) {
    points.windows(2).fold((0.0, 0.0), |(first, second), pair| {
        let share = pair[1].0 - pair[0].0;
        let (a, b) = (pair[0].1.get() as f64, pair[1].1.get() as f64);
        (
            first + share * (a + b) / 2.0,
            second + share * (a * a + a * b + b * b) / 3.0,
        )
    })
}

#[test]
fn one_core_with_exponential_requests_is_m_m_1() {
    let points = exponential(1e6);
    let (mean_bytes, mean_square_bytes) = moments(&points);
    // Costs are proportional to the size of the received message.
    let mut size_shares = [0.0; Accel::COUNT];
    size_shares[Accel::Tcp.index()] = 1.0;
    let options = RecordingOptions {
        size_shares,
        ..RecordingOptions::default()
    };
    let profile = profile(&uniq_id(), NOTHING_NS, 0, &options, &only_tcp);
    let table = SizeDistribution::Quantiles(QuantileTable::new(&points).unwrap());
    let plan = Plan::new(&profile, &image(), &PayloadSizes::same(table)).unwrap();
    let rate = 0.7 / SERVICE_S;

    let (means, mut all) = replicate(&one_core(), &plan, "non_acc", rate);

    let relative = mean_square_bytes / (mean_bytes * mean_bytes);
    let wait = pollaczek_khinchine(rate, SERVICE_S, SERVICE_S * SERVICE_S * relative);
    assert_agrees(&means, SERVICE_S + wait, 0.05);
    // The table is close to the distribution it stands for, so M/M/1's own forms hold, too.
    let response = SERVICE_S / (1.0 - 0.7);
    assert!((SERVICE_S + wait - response).abs() / response < 0.01);
    assert_agrees(&means, response, 0.05);
    for (percent, beyond) in [(50.0, 0.5_f64), (90.0, 0.1), (99.0, 0.01)] {
        let expected = -response * beyond.ln();
        let found = all.percentile(percent).unwrap().as_s_f64();
        assert!(
            (found / expected - 1.0).abs() < 0.04,
            "P{percent}: {found} {expected}"
        );
    }
}

/// The mean wait of M/D/k by Crommelin's argument (1932): customers in service at `t`, and no
/// others, have left at `t + D`, so the number then is the queue at `t` and the arrivals in
/// between. The stationary distribution is iterated until it is stable; Little's law gives the
/// wait.
fn crommelin_wait(rate: f64, service: f64, servers: usize) -> f64 {
    const STATES: usize = 400;
    let offered = rate * service;
    let mut arrivals = vec![(-offered).exp()];
    for n in 1..STATES {
        arrivals.push(arrivals[n - 1] * offered / n as f64);
    }
    let mut number = vec![0.0; STATES];
    number[0] = 1.0;
    loop {
        let mut next = vec![0.0; STATES];
        for (present, share) in number.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let left = present.saturating_sub(servers);
            for (target, arrived) in next[left..].iter_mut().zip(&arrivals) {
                *target += share * arrived;
            }
        }
        let change: f64 = number.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum();
        number = next;
        if change < 1e-12 {
            break;
        }
    }
    let mean: f64 = number.iter().enumerate().map(|(n, p)| n as f64 * p).sum();
    mean / rate - service
}

#[test]
fn crommelin_with_one_server_is_pollaczek_khinchine() {
    let rate = 0.8 / SERVICE_S;
    let one = crommelin_wait(rate, SERVICE_S, 1);
    let expected = pollaczek_khinchine(rate, SERVICE_S, SERVICE_S * SERVICE_S);
    assert!((one / expected - 1.0).abs() < 1e-6, "{one} {expected}");
}

#[test]
fn an_accelerator_is_m_d_k() {
    let plan = fixed_plan(&sink(), NOTHING_NS, 0, &only_tcp);
    for (elements, utilization) in [(1, 0.7), (2, 0.8), (8, 0.6), (8, 0.9)] {
        let mut config = frictionless();
        config.set("accelerator.pes", f64::from(elements)).unwrap();
        let rate = f64::from(elements) * utilization / SERVICE_S;
        let (means, _) = replicate(&config, &plan, "ideal", rate);
        let waits: Vec<f64> = means.iter().map(|mean| mean - SERVICE_S).collect();
        let expected = crommelin_wait(rate, SERVICE_S, elements as usize);
        assert_agrees(&waits, expected, 0.08);
    }
}

#[test]
fn an_accelerator_with_elements_of_its_own_is_m_d_k_for_them() {
    // One accelerator takes 10 us, so that it has the only queue.
    for (accel, elements, utilization) in [(Accel::Tcp, 2, 0.8), (Accel::Dser, 4, 0.8)] {
        let plan = fixed_plan(&sink(), NOTHING_NS, 0, &|operation| {
            if operation.accel == accel {
                SERVICE_S * 1e9
            } else {
                NOTHING_NS
            }
        });
        let mut config = frictionless();
        config.set("accelerator.pes", 3.0).unwrap();
        let own = format!("pes.{accel}");
        config.set(&own, f64::from(elements)).unwrap();
        let rate = f64::from(elements) * utilization / SERVICE_S;
        let (means, _) = replicate(&config, &plan, "ideal", rate);
        let waits: Vec<f64> = means.iter().map(|mean| mean - SERVICE_S).collect();
        let expected = crommelin_wait(rate, SERVICE_S, elements as usize);
        assert_agrees(&waits, expected, 0.08);
        let load = Load::new(0, ArrivalProcess::Poisson { rate_rps: rate }, 50_000, 2_000);
        let outcome = run(&config, &plan, "ideal", &[load], 5);
        let used = outcome.accelerators[accel.index()].utilization;
        assert!((used - utilization).abs() < 0.02, "{accel}: {used}");
    }
}

#[test]
fn elements_are_busy_for_the_offered_load() {
    let plan = fixed_plan(&sink(), NOTHING_NS, 0, &only_tcp);
    let config = frictionless();
    let load = Load::new(
        0,
        ArrivalProcess::Poisson {
            rate_rps: 8.0 * 0.6 / SERVICE_S,
        },
        100_000,
        5_000,
    );
    let outcome = run(&config, &plan, "ideal", &[load], 5);
    let tcp = &outcome.accelerators[Accel::Tcp.index()];
    assert!((tcp.utilization - 0.6).abs() < 0.01, "{tcp:?}");
    // P(no element busy) in M/D/8 at 4.8 Erlang is near exp(-4.8), that of M/G/infinity.
    assert!(
        (tcp.any_busy - (1.0 - (-4.8_f64).exp())).abs() < 0.005,
        "{tcp:?}"
    );
    assert!(outcome.window > Time::ZERO);
}

/// The mean waits of classes in order of priority, the highest first, without
/// preemption (Cobham, 1954): `rates` of requests that all take `mean` and, squared, `mean_square`.
fn cobham(rates: &[f64], mean: f64, mean_square: f64) -> Vec<f64> {
    let residual = rates.iter().sum::<f64>() * mean_square / 2.0;
    let mut above = 0.0;
    rates
        .iter()
        .map(|rate| {
            let with = above + rate * mean;
            let wait = residual / ((1.0 - above) * (1.0 - with));
            above = with;
            wait
        })
        .collect()
}

#[test]
fn cobham_with_one_class_is_pollaczek_khinchine() {
    let rate = 0.8 / SERVICE_S;
    let one = cobham(&[rate], SERVICE_S, 2.0 * SERVICE_S * SERVICE_S)[0];
    let expected = pollaczek_khinchine(rate, SERVICE_S, 2.0 * SERVICE_S * SERVICE_S);
    assert!((one / expected - 1.0).abs() < 1e-12);
}

#[test]
fn an_element_with_priorities_is_cobhams_queue() {
    // Exponential operations, in proportion to payloads that cost nothing else.
    let points = exponential(1_000.0);
    let (mean_bytes, mean_square_bytes) = moments(&points);
    let relative = mean_square_bytes / (mean_bytes * mean_bytes);
    let mut size_shares = [0.0; Accel::COUNT];
    size_shares[Accel::Tcp.index()] = 1.0;
    let options = RecordingOptions {
        size_shares,
        ..RecordingOptions::default()
    };
    let profile = profile(&sink(), NOTHING_NS, 0, &options, &only_tcp);
    let table = SizeDistribution::Quantiles(QuantileTable::new(&points).unwrap());
    let mut plan = Plan::new(&profile, &image(), &PayloadSizes::same(table)).unwrap();
    plan.services = vec![plan.services[0].clone(); 3];
    let mut config = frictionless();
    for (key, value) in [
        ("accelerator.pes", 1.0),
        ("scheduling.policy", 1.0),
        ("accelerator.inline_bytes", 65_536.0),
        ("accelerator.scratchpad_gb_per_s", 100_000.0),
        ("network.link_bytes", 4_096.0),
        ("network.inter_chiplet_gb_per_s", 10_000.0),
    ] {
        config.set(key, value).unwrap();
    }
    let rates = [0.3, 0.3, 0.2].map(|utilization| utilization / SERVICE_S);
    let expected = cobham(&rates, SERVICE_S, SERVICE_S * SERVICE_S * relative);
    let mut waits = vec![Vec::new(); 3];
    for seed in 1..=REPLICATIONS {
        let load = |class: usize| {
            let rate_rps = rates[class];
            let requests = (rate_rps * SERVICE_S * 100_000.0) as u64;
            Load::new(
                class,
                ArrivalProcess::Poisson { rate_rps },
                requests,
                requests / 10,
            )
            .at_priority(2 - class as u8)
        };
        let outcome = run(&config, &plan, "ideal", &[load(0), load(1), load(2)], seed);
        for (class, waits) in waits.iter_mut().enumerate() {
            let mean = outcome.services[class].latency.mean_ps().unwrap() / 1e12;
            waits.push(mean - SERVICE_S);
        }
    }
    for (class, (observed, expected)) in waits.iter().zip(expected).enumerate() {
        assert_agrees(observed, expected, [0.03, 0.05, 0.12][class]);
    }
}
