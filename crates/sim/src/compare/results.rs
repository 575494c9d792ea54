//! The results of a comparison.

use std::collections::BTreeMap;

use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::server_use::ServerUse;
use crate::stats::{Breakdown, CallStats, CalledStats, DataStats, Fallback, Sample, TenantStats};

/// The result of one service under one orchestrator. Numbers of requests count those after the
/// warm-up unless stated otherwise; the measured window is from the end of the warm-up to the last
/// arrival.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceResult {
    /// The name of the service.
    pub service: String,
    /// Arrival rate in the measured window, in requests per second.
    pub offered_rps: f64,
    /// Number of requests after the warm-up that have a response time.
    pub completed: u64,
    /// Number of requests that were answered with an error, over the whole run.
    pub errors: u64,
    /// Mean response time; `None` without completed requests.
    pub mean: Option<Time>,
    /// Percentiles 50, 99 and 99.9 of the response time; `None` without completed requests.
    pub percentiles: [Option<Time>; 3],
    /// The longest response times, in descending order.
    /// [`Comparison::tail_share`](crate::compare::Comparison::tail_share) sets their number. Empty
    /// if response times are counted in bins.
    pub tail: Vec<Time>,
    /// The histogram bins of the longest response times, in descending order; empty unless response
    /// times are counted in bins. Each has the middle of the bin and a count.
    pub tail_bins: Vec<(Time, u64)>,
    /// The times of single requests, in the order of their responses: evenly spaced and at most
    /// [`Comparison::samples`](crate::compare::Comparison::samples).
    pub samples: Vec<Sample>,
    /// Completions in the measured window, in requests per second.
    pub throughput_rps: f64,
    /// Utilization of the server's cores, 0 to 1.
    pub core_utilization: f64,
    /// The names of the accelerator types, indexed by [`Accel::index`]: the paper's nine, then
    /// those that the workload declares.
    pub accelerators: Vec<String>,
    /// Utilization of each accelerator type's processing elements, 0 to 1, indexed by
    /// [`Accel::index`].
    pub accelerator_utilization: [f64; Accel::MOST],
    /// Share of time in which at least one processing element of an accelerator type was busy, 0 to
    /// 1, indexed by [`Accel::index`].
    pub accelerator_any_busy: [f64; Accel::MOST],
    /// Share of each accelerator type's operations that found its queues full, 0 to 1, indexed by
    /// [`Accel::index`].
    pub accelerator_denied: [f64; Accel::MOST],
    /// Share of each accelerator type's operations that a core executed, over the whole run, 0 to
    /// 1, indexed by [`Accel::index`]. These are operations after a fallback, or all operations in
    /// a system without accelerators.
    pub accelerator_on_core: [f64; Accel::MOST],
    /// Utilization of the central hardware manager, 0 to 1; 0 in a system without one.
    pub manager_utilization: f64,
    /// Utilization of the A-DMA engines, 0 to 1.
    pub dma_utilization: f64,
    /// Mean number of accelerator operations per request, over all requests of the server.
    pub operations_per_request: f64,
    /// The SLO of the service: its longest acceptable response time; `None` without an SLO.
    pub within: Option<Time>,
    /// Number of requests that were ended because a message did not arrive in time. They have no
    /// response time.
    pub timed_out: u64,
    /// Number of operations that had a deadline, and number of them that missed it.
    pub deadlines: (u64, u64),
    /// Number of entries of input queues that changed places with an earlier one to meet a
    /// deadline.
    pub exchanged: u64,
    /// The statistics of the tenant that sends the service's requests, over all services of that
    /// tenant.
    pub tenant: TenantStats,
    /// Number of times that a core executed the rest of a trace, by reason.
    pub fallbacks: BTreeMap<Fallback, u64>,
    /// Number of requests that ended with a response, over the whole run.
    pub responded: u64,
    /// Number of requests after the warm-up that had an SLO, including those without a response,
    /// and number of them that missed it.
    pub slo: (u64, u64),
    /// The name of the limiting resource if requests arrived faster than they were completed; else
    /// `None`.
    pub saturated: Option<String>,
    /// Mean number of instructions that an output dispatcher executed per operation; `None` if
    /// there were no operations.
    pub dispatcher_instructions: Option<f64>,
    /// The sum of the response times, broken down by what the time was spent on
    /// ([`Part`](crate::stats::Part)).
    pub spent: Breakdown,
    /// Data movement of the server: networks, caches, memory, address translation.
    pub data: DataStats,
    /// The results of requests that other services sent to this one. Of the other fields, only
    /// those about the server and its queues include such requests.
    pub called: CalledResult,
    /// How many requests this service sent to other services, and how they ended.
    pub calls: CallStats,
    /// Number of repeated attempts of chains, and number of chains whose last attempt failed.
    pub retries: (u64, u64),
}

/// The results of the requests that other services sent to one service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CalledResult {
    /// Number of requests from other services that arrived, over the whole run.
    pub arrived: u64,
    /// Number of requests from other services after the warm-up that have a response time.
    pub completed: u64,
    /// Number of requests from other services that were answered with an error, over the whole run.
    pub errors: u64,
    /// Number of requests from other services that were ended because a message did not arrive in
    /// time, over the whole run.
    pub timed_out: u64,
    /// Number of requests from other services after the warm-up that had an SLO, including those
    /// without a response, and number of them that missed it.
    pub slo: (u64, u64),
    /// Mean response time of requests from other services; `None` if none was completed.
    pub mean: Option<Time>,
    /// Percentiles 50, 99 and 99.9 of the response time of requests from other services; `None` if
    /// none was completed.
    pub percentiles: [Option<Time>; 3],
    /// The sum of the response times of requests from other services, broken down by what the time
    /// was spent on ([`Part`](crate::stats::Part)).
    pub spent: Breakdown,
}

/// The results of all services under one orchestrator (system).
#[derive(Clone, Debug, PartialEq)]
pub struct SystemResult {
    /// The identifier of the orchestrator, such as `accelflow`.
    pub orchestrator: String,
    /// The result of each service, in the order of the plan.
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
