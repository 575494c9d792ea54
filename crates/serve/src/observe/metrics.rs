//! The metrics of a server, in the text format of Prometheus.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::thrift::FunctionId;
use accelflow_runtime::Pools;
use accelflow_shaping::control::TenantStatus;
use accelflow_trace::Accel;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use super::pools::PoolMetrics;
use super::times::{StepTimes, Times};

type Labels<const N: usize> = [(&'static str, String); N];
type HistogramBy = Family<Vec<(&'static str, String)>, Histogram, fn() -> Histogram>;
type CounterBy<const N: usize> = Family<Vec<(&'static str, String)>, Counter<u64, AtomicU64>>;

/// A counter of time in seconds.
type Seconds = Counter<f64, AtomicU64>;
type SecondsBy = Family<Vec<(&'static str, String)>, Seconds>;
type RateBy = Family<Vec<(&'static str, String)>, Gauge<f64, AtomicU64>>;

/// The counters of one server.
pub(crate) struct Metrics {
    registry: Registry,
    pools: Mutex<Option<PoolMetrics>>,
    pub(crate) open: Gauge,
    pub(crate) idle: Gauge,
    connections: CounterBy<1>,
    requests: CounterBy<2>,
    fallbacks: CounterBy<2>,
    steps: StepTimes,
    handlers: Times,
    tenants: ByTenant,
}

/// The counter of requests to one function with one result.
pub(crate) type RequestCounter = Counter<u64, AtomicU64>;

/// The name of a function in metrics, spans and recordings.
pub(crate) fn name(call: &ThriftCall) -> String {
    format!("{}.{}", call.service, call.method)
}

/// A cache of the counters of functions that a connection has called. It saves looking up their
/// labels for each call.
#[derive(Default)]
pub(crate) struct Counters(Vec<(FunctionId, &'static str, RequestCounter)>);

/// The number of counters that a connection caches.
const KEPT_COUNTERS: usize = 16;

impl Counters {
    pub(crate) fn count(&mut self, metrics: &Metrics, call: &ThriftCall, result: &'static str) {
        let found = self
            .0
            .iter()
            .find(|(function, known, _)| *function == call.function && *known == result);
        if let Some((.., counter)) = found {
            counter.inc();
            return;
        }
        let counter = metrics.request_counter(&name(call), result);
        counter.inc();
        if self.0.len() < KEPT_COUNTERS {
            self.0.push((call.function, result, counter));
        }
    }
}

/// The metrics of tenants.
struct ByTenant {
    requests: CounterBy<1>,
    bytes: CounterBy<1>,
    waits: HistogramBy,
    waiting: Family<Vec<(&'static str, String)>, Gauge>,
    charged: CounterBy<1>,
    worked: SecondsBy,
    predicted: SecondsBy,
    rates: RateBy,
    periods: Family<Vec<(&'static str, String)>, Gauge>,
}

impl ByTenant {
    fn new(registry: &mut Registry) -> ByTenant {
        let requests = CounterBy::<1>::default();
        let about = "Admitted requests";
        registry.register("tenant_requests", about, requests.clone());
        let bytes = CounterBy::<1>::default();
        let about = "Bytes of admitted requests";
        registry.register("tenant_request_bytes", about, bytes.clone());
        let waits = HistogramBy::new_with_constructor(wait_histogram as fn() -> Histogram);
        let about = "Time that requests waited for admission";
        registry.register_with_unit("tenant_wait", about, Unit::Seconds, waits.clone());
        let waiting = Family::default();
        let about = "Requests waiting for admission";
        registry.register("tenant_waiting", about, waiting.clone());
        let charged = CounterBy::<1>::default();
        let about = "Requests whose accelerator time was measured";
        registry.register("tenant_charged", about, charged.clone());
        let worked = SecondsBy::default();
        let about = "Accelerator time of measured requests";
        let name = "tenant_accelerator";
        registry.register_with_unit(name, about, Unit::Seconds, worked.clone());
        let predicted = SecondsBy::default();
        let about = "Accelerator time of measured requests, as predicted at admission";
        let name = "tenant_predicted";
        registry.register_with_unit(name, about, Unit::Seconds, predicted.clone());
        let rates = RateBy::default();
        let about = "Accelerator seconds per second that are promised, allowed or used";
        registry.register("tenant_rate", about, rates.clone());
        let periods = Family::default();
        let about = "Periods in which the promise was kept or missed";
        registry.register("tenant_periods", about, periods.clone());
        ByTenant {
            requests,
            bytes,
            waits,
            waiting,
            charged,
            worked,
            predicted,
            rates,
            periods,
        }
    }
}

/// The counters of one tenant.
pub(crate) struct TenantMetrics {
    requests: Counter<u64, AtomicU64>,
    bytes: Counter<u64, AtomicU64>,
    waits: Histogram,
    charged: RequestCounter,
    worked: Seconds,
    predicted: Seconds,
}

impl TenantMetrics {
    /// Records the accelerator time of a request, and its prediction.
    pub(crate) fn worked(&self, predicted_ns: u64, spent_ns: u64) {
        self.predicted.inc_by(predicted_ns as f64 / 1e9);
        self.worked.inc_by(spent_ns as f64 / 1e9);
        self.charged.inc();
    }

    pub(crate) fn passed(&self, bytes: usize, waited: Duration) {
        self.requests.inc();
        self.bytes.inc_by(bytes as u64);
        self.waits.observe(waited.as_secs_f64());
    }
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("accelflow");
        let open = Gauge::default();
        registry.register("connections_open", "Connections now", open.clone());
        let idle = Gauge::default();
        let about = "Connections that wait for their next request";
        registry.register("connections_idle", about, idle.clone());
        let connections = CounterBy::<1>::default();
        let about = "Ended connections by reason";
        registry.register("connections", about, connections.clone());
        let requests = CounterBy::<2>::default();
        let about = "Requests by function and result";
        registry.register("requests", about, requests.clone());
        let fallbacks = CounterBy::<2>::default();
        let about = "Traces that a core took over, by reason";
        registry.register("fallbacks", about, fallbacks.clone());
        let steps = StepTimes::new();
        let about = "Time of accelerators' bodies";
        registry.register_with_unit("step", about, Unit::Seconds, steps.clone());
        let handlers = Times::new();
        let about = "Time of handlers";
        registry.register_with_unit("handler", about, Unit::Seconds, handlers.clone());
        let tenants = ByTenant::new(&mut registry);
        Metrics {
            registry,
            tenants,
            pools: Mutex::new(None),
            open,
            idle,
            connections,
            requests,
            fallbacks,
            steps,
            handlers,
        }
    }

    pub(crate) fn connection_ended(&self, reason: &str) {
        self.connections
            .get_or_create(&own([("end", reason)]))
            .inc();
    }

    pub(crate) fn request(&self, function: &str, result: &'static str) {
        self.request_counter(function, result).inc();
    }

    /// Returns the counter of requests with these labels.
    pub(crate) fn request_counter(&self, function: &str, result: &'static str) -> RequestCounter {
        let labels = own([("function", function), ("result", result)]);
        self.requests.get_or_create_owned(&labels)
    }

    pub(crate) fn fallback(&self, trace: &str, reason: &str) {
        let labels = own([("trace", trace), ("reason", reason)]);
        self.fallbacks.get_or_create(&labels).inc();
    }

    pub(crate) fn step(&self, accel: Accel, spent: Duration) {
        self.steps.of(accel).observe(spent);
    }

    /// Counts a step of the custom accelerator `name`.
    pub(crate) fn own_step(&self, name: &str, spent: Duration) {
        self.steps.observe_own(name, spent);
    }

    pub(crate) fn handler(&self, spent: Duration) {
        self.handlers.observe(spent);
    }

    /// The counters of one tenant.
    pub(crate) fn tenant(&self, name: &str) -> TenantMetrics {
        let labels = own([("tenant", name)]);
        TenantMetrics {
            requests: self.tenants.requests.get_or_create_owned(&labels),
            bytes: self.tenants.bytes.get_or_create_owned(&labels),
            waits: self.tenants.waits.get_or_create_owned(&labels),
            charged: self.tenants.charged.get_or_create_owned(&labels),
            worked: self.tenants.worked.get_or_create_owned(&labels),
            predicted: self.tenants.predicted.get_or_create_owned(&labels),
        }
    }

    /// Sets the number of waiting requests of each tenant.
    pub(crate) fn tenants_wait<'t>(&self, waiting: impl Iterator<Item = (&'t str, usize)>) {
        for (tenant, waiting) in waiting {
            let labels = own([("tenant", tenant)]);
            let gauge = self.tenants.waiting.get_or_create_owned(&labels);
            gauge.set(waiting as i64);
        }
    }

    /// Sets the state of each tenant in the control plane.
    pub(crate) fn tenants_are(&self, tenants: &[TenantStatus]) {
        for tenant in tenants {
            let name = &*tenant.name;
            for (kind, rate) in [
                ("promised", tenant.promised()),
                ("allowed", tenant.shaped),
                ("used", tenant.measured),
            ] {
                let labels = own([("tenant", name), ("kind", kind)]);
                self.tenants.rates.get_or_create_owned(&labels).set(rate);
            }
            let kept = tenant.periods - tenant.missed;
            for (result, count) in [("kept", kept), ("missed", tenant.missed)] {
                let labels = own([("tenant", name), ("result", result)]);
                let gauge = self.tenants.periods.get_or_create_owned(&labels);
                gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
            }
        }
    }

    /// Adds the metrics of `pools` from now on.
    pub(crate) fn watch(&self, pools: Arc<Pools>) {
        let watched = PoolMetrics::new(Registry::with_prefix("accelflow"), pools);
        *self.pools.lock().unwrap_or_else(PoisonError::into_inner) = Some(watched);
    }

    pub(crate) fn text(&self) -> String {
        let pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let of_pools = pools.as_ref().map(PoolMetrics::text);
        of_pools.unwrap_or_default() + &self.own_text()
    }

    fn own_text(&self) -> String {
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(fmt::Error) => String::new(),
        }
    }
}

fn own<const N: usize>(labels: [(&'static str, &str); N]) -> Vec<(&'static str, String)> {
    let owned: Labels<N> = labels.map(|(name, value)| (name, value.to_owned()));
    owned.into()
}

/// Buckets from a microsecond to 17 minutes, each eight times as long as the one before.
fn wait_histogram() -> Histogram {
    Histogram::new(exponential_buckets(1e-6, 8.0, 11))
}
