//! A flow of a plan.

use accelflow_arcus::control::{AdmissionRequest, Availability, LatencySlo, Rate, ServiceClass};
use accelflow_arcus::{Arrivals, Path, Sizes};
use accelflow_units::{Bytes, Time};
use serde::Deserialize;

/// The classes by their names; a managed burst without a burst.
pub(super) const POLICIES: [ServiceClass; 4] = [
    ServiceClass::Reserved,
    ServiceClass::OnDemand,
    ServiceClass::ManagedBurst {
        factor: 1.0,
        allowance: Time::ZERO,
        window: Time::from_us(1),
    },
    ServiceClass::Opportunistic,
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowRequest {
    name: String,
    vm: usize,
    accelerator: String,
    instead: Vec<String>,
    then: Vec<String>,
    path: String,
    other_paths: Vec<String>,
    /// Bytes and weights.
    sizes: Vec<(u64, f64)>,
    slo_gbit_per_s: Option<f64>,
    slo_operations_per_s: Option<f64>,
    slo_percent: Option<f64>,
    slo_period_us: Option<f64>,
    slo_latency_us: Option<f64>,
    slo_latency_percentile: f64,
    policy: String,
    burst_factor: Option<f64>,
    burst_us: Option<u64>,
    window_us: Option<u64>,
    priority: u8,
    slo_burst_messages: u32,
    pub(super) from_us: u64,
    pub(super) until_us: Option<u64>,
    arrivals: ArrivalsRequest,
}

/// Arrivals, times in nanoseconds.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ArrivalsRequest {
    Backlog,
    Poisson(f64),
    Paced(f64),
    Bursts(u32, f64),
    Closed(u32, f64),
}

fn path(name: &str) -> Path {
    let found = Path::ALL.into_iter().find(|path| path.name() == name);
    found.unwrap_or(Path::FunctionCall)
}

impl FlowRequest {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn request(&self) -> AdmissionRequest {
        let gbit = self.slo_gbit_per_s.map(Rate::GbitPerS);
        let operations = self.slo_operations_per_s.map(Rate::OperationsPerS);
        let (slo, also) = match gbit {
            Some(rate) => (Some(rate), operations),
            None => (operations, None),
        };
        let period = Time::from_ns_f64(self.slo_period_us.unwrap_or(0.0) * 1e3);
        AdmissionRequest {
            name: self.name.clone(),
            vm: self.vm,
            accelerator: self.accelerator.clone(),
            instead: self.instead.clone(),
            then: self.then.clone(),
            path: path(&self.path),
            other_paths: self.other_paths.iter().map(|name| path(name)).collect(),
            sizes: self.sizes(),
            slo,
            also,
            class: self.policy(),
            availability: self
                .slo_percent
                .map(|percent| Availability { percent, period }),
            latency: self.slo_latency_us.map(|most_us| LatencySlo {
                percent: self.slo_latency_percentile,
                most: Time::from_ns_f64(most_us * 1e3),
            }),
            priority: self.priority,
            burst: self.slo_burst_messages,
        }
    }

    fn sizes(&self) -> Sizes {
        match self.sizes[..] {
            [(size, _)] => Sizes::Fixed(Bytes(size)),
            _ => Sizes::Mix(
                self.sizes
                    .iter()
                    .map(|part| (Bytes(part.0), part.1))
                    .collect(),
            ),
        }
    }

    fn policy(&self) -> ServiceClass {
        let found = POLICIES
            .into_iter()
            .find(|policy| policy.name() == self.policy);
        match found.unwrap_or(ServiceClass::OnDemand) {
            ServiceClass::ManagedBurst { .. } => ServiceClass::ManagedBurst {
                factor: self.burst_factor.unwrap_or(10.0),
                allowance: Time::from_us(self.burst_us.unwrap_or(0)),
                window: Time::from_us(self.window_us.unwrap_or(1_000_000)),
            },
            other => other,
        }
    }

    pub(super) fn arrivals(&self) -> Arrivals {
        match self.arrivals {
            ArrivalsRequest::Backlog => Arrivals::Backlogged,
            ArrivalsRequest::Poisson(every) => Arrivals::Poisson(Time::from_ns_f64(every)),
            ArrivalsRequest::Paced(every) => Arrivals::Paced(Time::from_ns_f64(every)),
            ArrivalsRequest::Bursts(burst, every) => Arrivals::Bursts {
                burst,
                every: Time::from_ns_f64(every),
            },
            ArrivalsRequest::Closed(clients, think) => Arrivals::Closed {
                clients,
                think: Time::from_ns_f64(think),
            },
        }
    }
}
