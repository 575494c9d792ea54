//! The metrics of a client, in the text format of Prometheus.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use accelflow_runtime::Pools;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use super::pool::PoolCounts;
use crate::observe::pools::PoolMetrics;

type Labels = Vec<(&'static str, String)>;
type CounterBy = Family<Labels, Counter<u64, AtomicU64>>;

/// The counters of one client.
pub(super) struct ClientMetrics {
    registry: Registry,
    /// The metrics of the workers that do the client's steps, if there are any.
    pools: Option<PoolMetrics>,
    connections: Family<Labels, Gauge>,
    waiting: Gauge,
    ended: CounterBy,
    calls: CounterBy,
    retries: CounterBy,
    fallbacks: CounterBy,
    seconds: Histogram,
}

impl ClientMetrics {
    pub(super) fn new(address: &str, pools: Option<Arc<Pools>>) -> ClientMetrics {
        let label = || [("peer".into(), address.to_owned().into())].into_iter();
        let of_pools = |pools| {
            let registry = Registry::with_prefix_and_labels("accelflow_client", label());
            PoolMetrics::new(registry, pools)
        };
        let pools = pools.map(of_pools);
        let mut registry = Registry::with_labels(label());
        let registry_of = registry.sub_registry_with_prefix("accelflow_client");
        let connections = Family::<Labels, Gauge>::default();
        let about = "Open connections by whether a call uses them";
        registry_of.register("connections", about, connections.clone());
        let waiting = Gauge::default();
        let about = "Calls that wait for a connection";
        registry_of.register("waiting", about, waiting.clone());
        let mut counter = |name: &str, about: &str| {
            let family = CounterBy::default();
            registry_of.register(name, about, family.clone());
            family
        };
        let ended = counter("connections_ended", "Ended connections by reason");
        let calls = counter("calls", "Calls by result");
        let retries = counter("retries", "Retries by reason");
        let about = "Responses that a core partly processed, by reason";
        let fallbacks = counter("fallbacks", about);
        let seconds = Histogram::new(exponential_buckets(16e-6, 4.0, 12));
        let about = "Duration of calls, including retries";
        registry_of.register_with_unit("call", about, Unit::Seconds, seconds.clone());
        ClientMetrics {
            registry,
            pools,
            connections,
            waiting,
            ended,
            calls,
            retries,
            fallbacks,
            seconds,
        }
    }

    pub(super) fn ended(&self, reason: &str) {
        count(&self.ended, &[("end", reason)]);
    }

    pub(super) fn call(&self, result: &str, spent: Duration) {
        count(&self.calls, &[("result", result)]);
        self.seconds.observe(spent.as_secs_f64());
    }

    pub(super) fn retry(&self, reason: &str) {
        count(&self.retries, &[("reason", reason)]);
    }

    pub(super) fn fallback(&self, trace: &str, reason: &str) {
        count(&self.fallbacks, &[("trace", trace), ("reason", reason)]);
    }

    pub(super) fn text(&self, counts: PoolCounts) -> String {
        for (state, value) in [("idle", counts.idle), ("busy", counts.open - counts.idle)] {
            let labels = vec![("state", state.to_owned())];
            self.connections.get_or_create(&labels).set(value as i64);
        }
        self.waiting.set(counts.waiting as i64);
        let mut text = self
            .pools
            .as_ref()
            .map(PoolMetrics::text)
            .unwrap_or_default();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(fmt::Error) => String::new(),
        }
    }
}

fn count(family: &CounterBy, labels: &[(&'static str, &str)]) {
    let labels: Labels = labels
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()))
        .collect();
    family.get_or_create(&labels).inc();
}
