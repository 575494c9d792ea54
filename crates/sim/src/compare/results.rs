//! The results of a comparison.

use std::collections::BTreeMap;

use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::server_use::ServerUse;
use crate::stats::{
    BreakdownSum, CallStats, CalledStats, DataStats, Fallback, Sample, TenantStats,
};

/// The result of one service under one orchestrator. Unless stated otherwise, counts and times are
/// those of requests from clients after the warm-up. The measured window is the time from the end
/// of the warm-up to the last counted arrival.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceResult {
    /// The name of the service.
    pub service: String,
    /// Arrival rate of the requests after the warm-up, in requests per second. Requests without a
    /// response are included. `None` if fewer than two requests arrived after the warm-up, or all
    /// at the same time; 0 if clients never call the service.
    pub offered_rps: Option<f64>,
    /// Number of requests after the warm-up that have a response time.
    pub completed: u64,
    /// Number of requests that were answered with an error, over the whole run.
    pub errors: u64,
    /// Mean response time of the requests after the warm-up; `None` without completed requests.
    pub mean: Option<Time>,
    /// The 50th, 99th and 99.9th percentile of the response times after the warm-up; `None` without
    /// completed requests.
    pub percentiles: [Option<Time>; 3],
    /// The longest response times after the warm-up, in descending order.
    /// [`Comparison::tail_share`](crate::compare::Comparison::tail_share) sets which share of the
    /// response times is listed. Empty if response times are counted in bins.
    pub tail: Vec<Time>,
    /// The histogram bins of the longest response times after the warm-up, in descending order: the
    /// response time at the middle of each bin, and the number of requests in the bin. Empty unless
    /// response times are counted in bins.
    pub tail_bins: Vec<(Time, u64)>,
    /// When some requests after the warm-up arrived, and how long their responses took, of at most
    /// [`Comparison::samples`](crate::compare::Comparison::samples). The requests are evenly spaced
    /// in the order of arrival, and listed in the order of their responses.
    pub samples: Vec<Sample>,
    /// Number of responses per second between the first and the last arrival after the warm-up.
    /// Late responses to requests of the warm-up count too. `None` if `offered_rps` is `None`; 0 if
    /// clients never call the service.
    pub throughput_rps: Option<f64>,
    /// Utilization of the server's cores in the measured window, 0 to 1; 1 if cores poll flags
    /// continuously.
    pub core_utilization: f64,
    /// The names of the accelerator types, indexed by [`Accel::index`]: the paper's nine, then the
    /// custom ones that the workload declares.
    pub accelerators: Vec<String>,
    /// Utilization of each accelerator type's processing elements in the measured window, 0 to 1,
    /// indexed by [`Accel::index`].
    pub accelerator_utilization: [f64; Accel::MOST],
    /// Share of the measured window in which an accelerator instance had at least one busy
    /// processing element: the mean over the instances of each accelerator type, 0 to 1, indexed
    /// by [`Accel::index`].
    pub accelerator_any_busy: [f64; Accel::MOST],
    /// For each accelerator type, the share of the operations sent to it that it turned away
    /// because queues were full, over the whole run: 0 to 1, indexed by [`Accel::index`]. A core
    /// then executed the operation and the rest of the trace.
    pub accelerator_denied: [f64; Accel::MOST],
    /// Share of each accelerator type's operations that a core executed, over the whole run: 0 to
    /// 1, indexed by [`Accel::index`]. Cores execute operations after a fallback, or all operations
    /// in a system without accelerators.
    pub accelerator_on_core: [f64; Accel::MOST],
    /// Utilization of the central hardware manager in the measured window, 0 to 1; 0 in a system
    /// without a manager.
    pub manager_utilization: f64,
    /// Utilization of the A-DMA engines in the measured window, 0 to 1.
    pub dma_utilization: f64,
    /// Mean number of operations on accelerators per request, over all requests of the server in
    /// the whole run.
    pub operations_per_request: f64,
    /// The SLO (longest acceptable response time) of the service; `None` without an SLO, and if
    /// `idle_unanswered` is true.
    pub within: Option<Time>,
    /// Whether the SLO is unknown: it is a multiple of the response time on an idle server, but
    /// even an idle server answers no request of the service. All requests then count as late in
    /// `slo`.
    pub idle_unanswered: bool,
    /// Number of requests that ended without a response because a message did not arrive in time or
    /// was refused for lack of memory, over the whole run. These requests have no response time.
    pub timed_out: u64,
    /// Number of operations on processing elements that had a deadline, and number of these
    /// operations that ended after their deadline, over the whole run.
    pub deadlines: (u64, u64),
    /// Number of entries of input queues that changed places with an earlier entry to meet a
    /// deadline, over the whole run.
    pub exchanged: u64,
    /// The statistics of the tenant that sends the service's requests, over all of the tenant's
    /// services on the server.
    pub tenant: TenantStats,
    /// Number of fallbacks of traces, by reason, over the whole run.
    pub fallbacks: BTreeMap<Fallback, u64>,
    /// Number of requests that ended with a response, over the whole run.
    pub responded: u64,
    /// Number of requests after the warm-up that had an SLO, and number of these requests whose
    /// response was late or missing.
    pub slo: (u64, u64),
    /// The name of the resource that limits a saturated server
    /// ([`Saturation::cause`](crate::stats::Saturation::cause)); `None` unless requests arrived
    /// faster than the server completed them.
    pub saturated: Option<String>,
    /// Mean number of instructions that output dispatchers executed for an operation that they
    /// handled, over the whole run; `None` if they handled none.
    pub dispatcher_instructions: Option<f64>,
    /// The sum of the response times after the warm-up, broken down by what the time was spent on
    /// ([`Part`](crate::stats::Part)).
    pub spent: BreakdownSum,
    /// The statistics of the server's data movement: networks, caches, memory, address translation.
    pub data: DataStats,
    /// The results of the requests that other services sent to this service. The other fields about
    /// requests and response times exclude such requests. Fields about hardware, queues, deadlines,
    /// fallbacks, calls and retries include them.
    pub called: CalledResult,
    /// How many requests this service sent to other services, and how these requests ended, over
    /// the whole run.
    pub calls: CallStats,
    /// Number of repeated attempts of chains, and number of chains whose last allowed attempt
    /// failed, over the whole run.
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
    /// Number of requests from other services that ended without a response because a message did
    /// not arrive in time or was refused for lack of memory, over the whole run.
    pub timed_out: u64,
    /// Number of requests from other services after the warm-up that had an SLO, and number of
    /// these requests whose response was late or missing.
    pub slo: (u64, u64),
    /// Mean response time of requests from other services after the warm-up; `None` if none was
    /// completed.
    pub mean: Option<Time>,
    /// The 50th, 99th and 99.9th percentile of the response times of requests from other services
    /// after the warm-up; `None` if none was completed.
    pub percentiles: [Option<Time>; 3],
    /// The sum of the response times of requests from other services after the warm-up, broken down
    /// by what the time was spent on ([`Part`](crate::stats::Part)).
    pub spent: BreakdownSum,
}

/// The results of all services under one orchestrator (simulated system).
#[derive(Clone, Debug, PartialEq)]
pub struct SystemResult {
    /// The identifier of the orchestrator, such as `accelflow`.
    pub orchestrator: String,
    /// The result of each service, in the order of the plan.
    pub services: Vec<ServiceResult>,
    /// The utilization of the system's servers over time; empty if
    /// [`Comparison::use_intervals`](crate::compare::Comparison::use_intervals) is below 2.
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
