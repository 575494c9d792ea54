//! Fig. 6, Table 3, and the tail latencies of section 5.2: two users of one SSD.

use accelflow_units::{Bytes, Time};

use super::protocol::{Admitted, Tenant, closed};
use super::report::{Report, Row, Series};
use crate::control::{Rate, STORAGE};
use crate::parameters::SSD_CLIENTS;
use crate::{
    Mechanism, Path, Platform, PlatformError, RunResult, Settings, Sizes, SoftwareConfig,
    SoftwareRate, StorageConfig,
};

/// The promises to the users, in operations a second.
const SLOS: [f64; 2] = [300e3, 200e3];
/// The number of requests in each sample of throughput.
const SAMPLE: usize = 500;
const PERCENTS: [f64; 4] = [25.0, 50.0, 75.0, 99.0];

/// The runtime's period: a few in each sample.
const PERIOD: Time = Time::from_us(250);

/// The runs, each with the name of its mechanism.
type Runs = Vec<(&'static str, RunResult)>;

/// The runs of both users under each mechanism. Under ARCUS both request admission and are promised
/// their rates in 99 % of periods as long as the paper's samples.
fn runs(seed: u64) -> Result<(Admitted, Runs), PlatformError> {
    let mut platform = Platform::prototype(Vec::new());
    platform.storage = Some(StorageConfig::paper(1));
    let tenant = |user: usize| {
        let rate = Rate::OperationsPerS(SLOS[user]);
        let sizes = Sizes::Fixed(Bytes(4_096));
        let name = format!("user {}", user + 1);
        let tenant = Tenant::new(&name, STORAGE, Path::StorageRead, sizes, rate);
        let sample = Time::from_s_f64(SAMPLE as f64 / SLOS[user]);
        tenant
            .of_vm(user)
            .sending(closed(SSD_CLIENTS[user]))
            .promised_in(99.0, sample)
    };
    let admitted = Admitted::new(&platform, &[tenant(0), tenant(1)])?;
    let rates = SLOS.map(Rate::OperationsPerS);
    let software = |config| Mechanism::Software {
        config,
        rates: rates
            .map(|limit| SoftwareRate {
                unit: limit.unit(),
                per_s: limit.tokens_per_s(),
            })
            .to_vec(),
    };
    let settings = Settings::lasting(Time::from_us(250_000)).seeded(seed);
    let mut runs = Vec::new();
    for config in [SoftwareConfig::REFLEX, SoftwareConfig::FIRECRACKER] {
        let mechanism = software(config);
        runs.push((mechanism.name(), admitted.without(&mechanism, &settings)?));
    }
    runs.push((admitted.name(), admitted.run(&settings, PERIOD)?));
    Ok((admitted, runs))
}

/// Deviations from the SLO, sorted.
fn deviations(result: &RunResult, vm: usize) -> Vec<f64> {
    let rates = result.flows[vm].rates_of(SAMPLE);
    let mut all: Vec<f64> = rates.iter().map(|rate| rate / SLOS[vm] - 1.0).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or(f64::NAN)
}

/// Fig. 6: CDFs of the throughput of both users.
pub(super) fn fig6(seed: u64) -> Result<Report, PlatformError> {
    let (mut rows, mut series) = (Vec::new(), Vec::new());
    let mut spreads = Vec::new();
    let (admitted, runs) = runs(seed)?;
    for (name, result) in runs {
        for (vm, slo) in SLOS.into_iter().enumerate() {
            let user = vm + 1;
            let mean = result.per_s(vm) / slo;
            let key = format!("arcus.fig6.user_{user}_mean_over_slo.{name}");
            let what = format!("user {user}, mean over its SLO");
            rows.push(Row::new(key, name, what, "times", mean).of_user(user));
            let all = deviations(&result, vm);
            let spread = percentile(&all, 99.0) - percentile(&all, 1.0);
            let key = format!("arcus.fig6.user_{user}_spread.{name}");
            let what = format!("user {user}, 1st to 99th percentile");
            rows.push(Row::new(key, name, what, "", spread).of_user(user));
            spreads.push(spread);
            let kept = all.iter().filter(|deviation| **deviation >= -0.01).count();
            let kept = kept as f64 / all.len() as f64;
            let key = format!("arcus.fig6.user_{user}_samples_kept.{name}");
            let what = format!("user {user}, samples within 1 % of its SLO or above");
            rows.push(Row::new(key, name, what, "", kept).of_user(user));
            // The promise's own verdict, on periods as long as a sample.
            if let Some(periods) = admitted.status(vm).periods(&result, vm) {
                let key = format!("arcus.fig6.user_{user}_periods_kept.{name}");
                let what = format!("user {user}, periods in which the promise was kept");
                let kept = periods.kept_percent() / 100.0;
                rows.push(Row::new(key, name, what, "", kept).of_user(user));
            }
            let points = (1..100).map(f64::from);
            series.push(Series {
                name: name.to_owned(),
                panel: "cdf".to_owned(),
                system: name,
                user: u32::try_from(user).ok(),
                x: "operations/s",
                y: "share of samples",
                points: points
                    .map(|percent| (slo * (1.0 + percentile(&all, percent)), percent / 100.0))
                    .collect(),
                ..Series::default()
            });
        }
    }
    rows.extend(spread_rows(&spreads));
    Ok(Report {
        rows,
        series,
        ..Report::default()
    })
}

/// By how much ARCUS's spread is below those of the baselines. `spreads` has that of both users
/// under each system; ARCUS is the last.
fn spread_rows(spreads: &[f64]) -> Vec<Row> {
    let users = SLOS.len();
    let (others, arcus) = spreads.split_at(spreads.len() - users);
    let less = |number: usize| 1.0 - arcus[number % users] / others[number];
    let less: Vec<f64> = (0..others.len()).map(less).collect();
    let row = |key: &str, what: &str, ours| {
        let key = format!("arcus.fig6.spread_reduction_{key}");
        Row::new(key, "Arcus", what, "", ours)
    };
    vec![
        row(
            "least",
            "spread of throughput, less than a baseline's, least",
            less.iter().copied().fold(f64::MAX, f64::min),
        ),
        row(
            "most",
            "spread of throughput, less than a baseline's, most",
            less.iter().copied().fold(f64::MIN, f64::max),
        ),
    ]
}

/// Table 3: percentiles of the deviation of VM1's throughput from its SLO.
pub(super) fn table3(seed: u64) -> Result<Report, PlatformError> {
    let mut rows = Vec::new();
    let mut most_of_software = 0.0_f64;
    for (name, result) in runs(seed)?.1 {
        let all = deviations(&result, 0);
        for (place, percent) in PERCENTS.into_iter().enumerate() {
            let key = format!("arcus.table3.{name}[{place}]");
            let what = format!("{percent:.0}th percentile");
            let deviation = percentile(&all, percent);
            if name != "Arcus" {
                most_of_software = most_of_software.max(deviation.abs());
            }
            let row = Row::new(key, name, what, "", deviation);
            rows.push(row.at_percentile(percent));
        }
    }
    let key = "arcus.table3.most_of_software";
    let what = "largest of the percentiles of shaping in software, without sign";
    rows.push(Row::new(key, "", what, "", most_of_software));
    Ok(Report {
        rows,
        ..Report::default()
    })
}

/// The percentiles of section 5.2, and their names in keys.
const TAILS: [(f64, &str); 3] = [(95.0, "p95"), (99.0, "p99"), (99.9, "p999")];

/// Section 5.2: tail latencies of the first user.
pub(super) fn tail(seed: u64) -> Result<Report, PlatformError> {
    let mut rows = Vec::new();
    for (name, result) in runs(seed)?.1 {
        // What the figures call Host_TS_reflex is ReFlex in section 5.2.
        let system = match name {
            "Host_TS_reflex" => "ReFlex",
            _ => name,
        };
        let mut latencies = result.flows[0].latencies();
        for (place, (percent, _)) in TAILS.into_iter().enumerate() {
            let latency = latencies.percentile(percent).unwrap_or(Time::ZERO);
            let key = format!("arcus.tail_latency_us.{system}[{place}]");
            let what = format!("{percent}th percentile");
            let row = Row::new(key, name, what, "us", latency.as_us_f64());
            rows.push(row.at_percentile(percent));
        }
    }
    for (place, (percent, short)) in TAILS.into_iter().enumerate() {
        // ReFlex comes first and Arcus last.
        let less = 1.0 - rows[2 * TAILS.len() + place].ours / rows[place].ours;
        let key = format!("arcus.tail_latency_reduction.{short}");
        let what = format!("{percent}th percentile, less than ReFlex");
        rows.push(Row::new(key, "Arcus", what, "", less).at_percentile(percent));
    }
    Ok(Report {
        rows,
        ..Report::default()
    })
}
