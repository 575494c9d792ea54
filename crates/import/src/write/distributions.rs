//! Distributions of waits and message sizes, in the form of a workload file.

use serde_json::{Value, json};

use crate::analyse::Sample;
use crate::options::Waits;

/// The probabilities of a table of quantiles.
const POINTS: [f64; 17] = [
    0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.998, 1.0,
];

/// The longest time that a file may have: 1,000 s.
const LONGEST_US: f64 = 1e9;
/// The widest log-normal distribution that a file may have.
const WIDEST: f64 = 4.0;

/// `ns` in us, to the nanosecond.
pub(super) fn us(ns: f64) -> f64 {
    (ns.round() / 1e3).clamp(0.0, LONGEST_US)
}

/// The waits of `sample`, in ns.
pub(super) fn wait(sample: &Sample, how: Waits) -> Value {
    let sorted = sample.sorted();
    let constant = || json!({"constant_us": us(sample.mean.value())});
    let same = sorted.first() == sorted.last();
    match how {
        _ if same => constant(),
        Waits::Constant => constant(),
        Waits::LogNormal => {
            // Zero has no logarithm, so waits are at least a nanosecond, the resolution of spans.
            let logs: Vec<f64> = sorted.iter().map(|ns| ns.max(1.0).ln()).collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            let squares = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
            let sigma = (squares / logs.len() as f64).sqrt().min(WIDEST);
            let sigma = (sigma * 1e6).round() / 1e6;
            json!({"log_normal": {"median_us": us(mean.exp()), "sigma": sigma}})
        }
        Waits::Quantiles => {
            let points = points(&sorted);
            let points = points.map(|(p, ns)| json!([p, us(ns)]));
            json!({"quantiles_us": points.collect::<Vec<_>>()})
        }
    }
}

/// The sizes of `sample`, in bytes; none if there are none.
pub(super) fn sizes(sample: &Sample) -> Option<Value> {
    let sorted = sample.sorted();
    let (first, last) = sorted.first().zip(sorted.last())?;
    let bytes = |size: f64| (size.round() as u64).max(1);
    Some(match first == last {
        true => json!({"fixed_bytes": bytes(*first)}),
        false => {
            let points = points(&sorted);
            let points = points.map(|(p, size)| json!([p, bytes(size)]));
            json!({"quantiles": points.collect::<Vec<_>>()})
        }
    })
}

/// The quantiles of `sorted`, which is not empty.
fn points(sorted: &[f64]) -> impl Iterator<Item = (f64, f64)> + '_ {
    let last = (sorted.len() - 1) as f64;
    POINTS.iter().map(move |&p| {
        let at = p * last;
        let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
        (p, low + (high - low) * at.fract())
    })
}
