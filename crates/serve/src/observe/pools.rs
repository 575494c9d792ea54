//! The metrics of an ensemble's worker pools, copied from the pools' counters whenever the metrics
//! are read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use accelflow_runtime::Pools;
use accelflow_trace::Accel;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

type Labels = Vec<(&'static str, &'static str)>;

/// The metrics of pools.
pub(crate) struct PoolMetrics {
    registry: Registry,
    pools: Arc<Pools>,
    steps: Family<Labels, Counter<u64, AtomicU64>>,
    waiting: Family<Labels, Gauge>,
}

impl PoolMetrics {
    /// Creates the metrics of `pools` in `registry`, which has their prefix and labels.
    pub(crate) fn new(mut registry: Registry, pools: Arc<Pools>) -> PoolMetrics {
        let steps = Family::<Labels, Counter<u64, AtomicU64>>::default();
        let about = "Steps of ensemble execution by result";
        registry.register("pool_steps", about, steps.clone());
        let waiting = Family::<Labels, Gauge>::default();
        let about = "Jobs that wait in an accelerator's queue and overflow area";
        registry.register("pool_waiting", about, waiting.clone());
        PoolMetrics {
            registry,
            pools,
            steps,
            waiting,
        }
    }

    /// The metrics in the text format of Prometheus, without its end.
    pub(crate) fn text(&self) -> String {
        self.refresh();
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode_registry(&mut text, &self.registry);
        text
    }

    fn refresh(&self) {
        let counters = self.pools.counters();
        for ((accel, counted), waiting) in Accel::ALL.iter().zip(counters).zip(self.pools.waiting())
        {
            for (result, value) in [
                ("done", counted.done),
                ("overflowed", counted.overflowed),
                ("retried", counted.retried),
                ("full", counted.full),
                ("panic", counted.panics),
                ("exchanged", counted.exchanged),
                ("with_deadline", counted.with_deadline),
                ("late", counted.late),
            ] {
                let labels = vec![("accelerator", accel.name()), ("result", result)];
                let counter = self.steps.get_or_create(&labels);
                counter.inner().store(value, Ordering::Relaxed);
            }
            let labels = vec![("accelerator", accel.name())];
            self.waiting.get_or_create(&labels).set(waiting as i64);
        }
    }
}
