//! Durations of requests in bounded memory: their mean and percentiles.

use std::collections::BTreeMap;

use super::sample::Mean;

/// Durations in ns, with their exact mean. Percentiles are exact for up to 512 durations, and
/// within 0.5 % for more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Durations {
    mean: Mean,
    exact: Vec<f64>,
    /// The number of durations in each bucket, if there are more.
    buckets: BTreeMap<i32, u64>,
}

/// The largest number of durations that are kept one by one.
const EXACT: usize = 512;
/// The factor from one bucket to the next.
const GROWTH: f64 = 1.01;

impl Durations {
    pub(crate) fn add(&mut self, ns: f64) {
        self.mean.add(ns);
        if self.buckets.is_empty() && self.exact.len() < EXACT {
            self.exact.push(ns);
            return;
        }
        for ns in std::mem::take(&mut self.exact).into_iter().chain([ns]) {
            *self.buckets.entry(bucket(ns)).or_default() += 1;
        }
    }

    pub(crate) fn merge(&mut self, other: &Durations) {
        for &ns in &other.exact {
            self.add(ns);
        }
        if other.buckets.is_empty() {
            return;
        }
        self.mean.merge(other.mean);
        for ns in std::mem::take(&mut self.exact) {
            *self.buckets.entry(bucket(ns)).or_default() += 1;
        }
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += count;
        }
    }

    /// The sum of the durations in ns.
    pub(crate) fn sum(&self) -> f64 {
        self.mean.sum()
    }

    /// The mean in ns; 0 without durations.
    pub(crate) fn mean(&self) -> f64 {
        self.mean.value()
    }

    /// The smallest duration in ns that a share of at least 99 % does not exceed; 0 without any.
    pub(crate) fn p99(&self) -> f64 {
        let rank = (self.mean.count * 99).div_ceil(100).max(1);
        let mut sorted = self.exact.clone();
        sorted.sort_by(f64::total_cmp);
        if let Some(ns) = sorted.get(rank as usize - 1) {
            return *ns;
        }
        let mut seen = 0;
        let reached = self.buckets.iter().find(|(_, count)| {
            seen += **count;
            seen >= rank
        });
        reached.map_or(0.0, |(bucket, _)| GROWTH.powi(*bucket))
    }
}

/// The bucket of `ns`: the nearest power of [`GROWTH`]. Durations below 1 ns share one.
fn bucket(ns: f64) -> i32 {
    (ns.max(1.0).ln() / GROWTH.ln()).round() as i32
}
