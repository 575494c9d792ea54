//! Histograms of times to which many threads add concurrently.
//!
//! Each thread adds to its own share of a histogram without a lock, if there are enough shares.
//! Reading a histogram sums all shares.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use std::{array, fmt};

use accelflow_trace::Accel;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

/// The upper end of the first bucket in ns. It grows by a factor of four per bucket.
const FIRST_NS: u64 = 64;

/// The number of buckets, from 64 ns to a second.
const BUCKETS: usize = 13;

/// The number of threads that can add without contention.
const SHARES: usize = 8;

/// One share of a histogram, on separate cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Share {
    /// The counts of the buckets. The last is for times beyond all buckets.
    counts: [AtomicU64; BUCKETS + 1],
    sum_ns: AtomicU64,
}

/// A histogram of times.
#[derive(Clone, Debug)]
pub(crate) struct Times(Arc<[Share; SHARES]>);

impl Times {
    pub(crate) fn new() -> Times {
        Times(Arc::new(array::from_fn(|_| Share::default())))
    }

    pub(crate) fn observe(&self, spent: Duration) {
        let share = &self.0[share_of_thread(SHARES)];
        let ns = u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX);
        share.counts[bucket(ns)].fetch_add(1, Ordering::Relaxed);
        share.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    fn encode(&self, encoder: &mut MetricEncoder<'_>) -> fmt::Result {
        let of_all = |get: &dyn Fn(&Share) -> &AtomicU64| -> u64 {
            let parts = self
                .0
                .iter()
                .map(|share| get(share).load(Ordering::Relaxed));
            parts.sum()
        };
        let buckets: Vec<(f64, u64)> = (0..=BUCKETS)
            .map(|index| (upper_seconds(index), of_all(&|share| &share.counts[index])))
            .collect();
        // The count is the sum of the buckets, so that both always agree.
        let count = buckets.iter().map(|(_, count)| count).sum();
        let sum = of_all(&|share| &share.sum_ns) as f64 / 1e9;
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }
}

impl EncodeMetric for Times {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        Times::encode(self, &mut encoder)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// Times by accelerator.
#[derive(Clone, Debug)]
pub(crate) struct StepTimes {
    nine: [Times; Accel::COUNT],
    /// Times of the custom accelerators that have worked, by name.
    own: Arc<RwLock<BTreeMap<String, Times>>>,
}

impl StepTimes {
    pub(crate) fn new() -> StepTimes {
        StepTimes {
            nine: array::from_fn(|_| Times::new()),
            own: Arc::default(),
        }
    }

    /// The times of one of the nine accelerators.
    pub(crate) fn of(&self, accel: Accel) -> &Times {
        &self.nine[accel.index()]
    }

    /// Adds a time of the custom accelerator `name`.
    pub(crate) fn observe_own(&self, name: &str, spent: Duration) {
        let known = self.own.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(times) = known.get(name) {
            return times.observe(spent);
        }
        drop(known);
        let mut own = self.own.write().unwrap_or_else(PoisonError::into_inner);
        let times = own.entry(name.to_owned()).or_insert_with(Times::new);
        times.observe(spent);
    }
}

impl EncodeMetric for StepTimes {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for accel in Accel::ALL {
            let labels = [("accelerator", accel.name())];
            self.of(accel)
                .encode(&mut encoder.encode_family(&labels)?)?;
        }
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner);
        for (name, times) in own.iter() {
            let labels = [("accelerator", name.as_str())];
            times.encode(&mut encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// The index of a time's bucket.
fn bucket(ns: u64) -> usize {
    let before = ns.saturating_sub(1) / FIRST_NS;
    let bits = (u64::BITS - before.leading_zeros()) as usize;
    bits.div_ceil(2).min(BUCKETS)
}

/// The upper end of a bucket in seconds; infinity for the last.
fn upper_seconds(index: usize) -> f64 {
    match index {
        BUCKETS => f64::INFINITY,
        _ => (FIRST_NS << (2 * index)) as f64 / 1e9,
    }
}

/// Returns the index of this thread's share among `shares`. Threads have the same index only if
/// there are more threads than shares.
pub(crate) fn share_of_thread(shares: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static MINE: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    if MINE.get() == usize::MAX {
        MINE.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    MINE.get() % shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_first_bucket_that_is_long_enough() {
        for ns in (0..5_000).chain([1 << 20, (1 << 30) + 1, 2_000_000_000, u64::MAX]) {
            let found = bucket(ns);
            assert!(ns as f64 / 1e9 <= upper_seconds(found), "{ns}");
            assert!(
                found == 0 || ns as f64 / 1e9 > upper_seconds(found - 1),
                "{ns}"
            );
        }
    }
}
