//! The results of a comparison.

use std::collections::BTreeMap;

use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::server_use::ServerUse;
use crate::stats::{Breakdown, CallStats, CalledStats, DataStats, Fallback, Sample, TenantStats};

/// The result of one service under one orchestrator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceResult {
    /// The service.
    pub service: String,
    /// Arrival rate in the measured window, in requests per second.
    pub offered_rps: f64,
    /// Number of requests with a response time.
    pub completed: u64,
    /// Number of requests that were answered with an error, over the whole run.
    pub errors: u64,
    /// Mean response time.
    pub mean: Option<Time>,
    /// Percentiles 50, 99 and 99.9 of the response time.
    pub percentiles: [Option<Time>; 3],
    /// The longest response times, in descending order.
    /// [`Comparison::tail_share`](crate::compare::Comparison::tail_share) sets their number. Empty
    /// if response times are counted in bins.
    pub tail: Vec<Time>,
    /// The bins of the longest response times, in descending order, if response times are counted
    /// in bins. Each has a representative response time and a count.
    pub tail_bins: Vec<(Time, u64)>,
    /// Samples of single requests in the order of their responses, evenly spaced and at most
    /// [`Comparison::samples`](crate::compare::Comparison::samples).
    pub samples: Vec<Sample>,
    /// Completions in the measured window, in requests per second.
    pub throughput_rps: f64,
    /// Utilization of the cores, as a share of their time.
    pub core_utilization: f64,
    /// The names of the accelerators, by [`Accel::index`]: the nine, and those of the workload.
    pub accelerators: Vec<String>,
    /// Utilization of each accelerator's processing elements, as a share of their time, by
    /// [`Accel::index`].
    pub accelerator_utilization: [f64; Accel::MOST],
    /// Share of time in which at least one of an accelerator's processing elements was busy, by
    /// [`Accel::index`].
    pub accelerator_any_busy: [f64; Accel::MOST],
    /// Share of each accelerator's operations that found its queues full, by [`Accel::index`].
    pub accelerator_denied: [f64; Accel::MOST],
    /// Share of each accelerator's operations that a core executed, over the whole run, by
    /// [`Accel::index`]. These are operations after a fallback, or all operations in a system
    /// without accelerators.
    pub accelerator_on_core: [f64; Accel::MOST],
    /// Utilization of the manager, as a share of its time.
    pub manager_utilization: f64,
    /// Utilization of the A-DMA engines, as a share of their time.
    pub dma_utilization: f64,
    /// Mean number of accelerator operations per request, over all requests of the server.
    pub operations_per_request: f64,
    /// The SLO of the service.
    pub within: Option<Time>,
    /// Number of requests terminated because a message did not arrive in time. They have no
    /// response time.
    pub timed_out: u64,
    /// Number of operations with a deadline, and number of operations that missed it.
    pub deadlines: (u64, u64),
    /// Number of queue entries that swapped places with an earlier one to meet a deadline.
    pub exchanged: u64,
    /// The statistics of the service's tenant, over all its services.
    pub tenant: TenantStats,
    /// Number of fallbacks to a core, by reason.
    pub fallbacks: BTreeMap<Fallback, u64>,
    /// Number of requests that ended with a response, over the whole run.
    pub responded: u64,
    /// Number of requests after the warm-up that had an SLO, including terminated ones, and number
    /// of requests that missed it.
    pub slo: (u64, u64),
    /// The limiting resource, if requests arrived faster than they were completed.
    pub saturated: Option<String>,
    /// Mean number of instructions of an output dispatcher's operation; `None` without any.
    pub dispatcher_instructions: Option<f64>,
    /// The sum of the response times, broken down by [`Part`](crate::stats::Part).
    pub spent: Breakdown,
    /// Data movement of the server: networks, caches, memory, translation.
    pub data: DataStats,
    /// The results of requests from other services. Of the fields above, only those about the
    /// server and its queues include such requests.
    pub called: CalledResult,
    /// The requests to other services.
    pub calls: CallStats,
    /// Number of retries of chains, and number of chains whose last attempt failed.
    pub retries: (u64, u64),
}

/// The results of requests from other services to one service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CalledResult {
    /// Number of requests that arrived, over the whole run.
    pub arrived: u64,
    /// Number of requests with a response time.
    pub completed: u64,
    /// Number of requests that were answered with an error, over the whole run.
    pub errors: u64,
    /// Number of requests that were terminated because a message did not arrive in time, over the
    /// whole run.
    pub timed_out: u64,
    /// Number of requests after the warm-up that had an SLO, including terminated ones, and number
    /// of requests that missed it.
    pub slo: (u64, u64),
    /// Mean response time.
    pub mean: Option<Time>,
    /// Percentiles 50, 99 and 99.9 of the response time.
    pub percentiles: [Option<Time>; 3],
    /// The sum of the response times, broken down by [`Part`](crate::stats::Part).
    pub spent: Breakdown,
}

/// The results of all services under one orchestrator.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemResult {
    /// The identifier of the orchestrator.
    pub orchestrator: String,
    /// The results of each service, in the order of the plan.
    pub services: Vec<ServiceResult>,
    /// The utilization of its servers over time, if
    /// [`Comparison::use_intervals`](crate::compare::Comparison::use_intervals) is at least 2.
    pub used: Vec<ServerUse>,
}

impl CalledResult {
    pub(super) fn new(stats: &mut CalledStats) -> CalledResult {
        CalledResult {
            arrived: stats.arrived,
            completed: stats.latency.count() as u64,
            errors: stats.errors,
            timed_out: stats.timed_out,
            slo: (stats.with_slo, stats.slo_missed),
            mean: stats.latency.mean(),
            percentiles: [50.0, 99.0, 99.9].map(|percent| stats.latency.percentile(percent)),
            spent: stats.spent,
        }
    }
}
