//! The statistics of a run.

use std::collections::BTreeMap;

pub use accelflow_kernel::BIN_ERROR;
use accelflow_kernel::Samples;
use accelflow_trace::{Accel, AtmAddress};
use accelflow_units::{Bytes, Time};

/// Why a core executed an operation instead of an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fallback {
    /// The input queue of the trace's first accelerator was full.
    EnqueueDenied,
    /// The input queue and the overflow area of the next accelerator were full.
    OverflowFull,
    /// An idle core would end the operation before the accelerator does (parameter
    /// `accelerator.fallback` = `sooner`).
    CoreSooner,
    /// An exception stopped the accelerator, which could not continue.
    Exception,
    /// A message did not arrive in time, and the core ended the request.
    TimedOut,
    /// The chip does not have the next accelerator.
    NoAccelerator,
    /// The RPC processor does not know the message types of the service.
    UnknownFunction,
    /// The RPC processor had no memory for a message. Its sender repeats it, or gives up.
    Nack,
}

impl Fallback {
    /// All reasons for a fallback.
    pub const ALL: [Fallback; 8] = [
        Fallback::EnqueueDenied,
        Fallback::OverflowFull,
        Fallback::CoreSooner,
        Fallback::Exception,
        Fallback::TimedOut,
        Fallback::NoAccelerator,
        Fallback::UnknownFunction,
        Fallback::Nack,
    ];

    /// Returns the name of the reason in results.
    pub const fn name(self) -> &'static str {
        match self {
            Fallback::EnqueueDenied => "enqueue_denied",
            Fallback::OverflowFull => "overflow_full",
            Fallback::CoreSooner => "core_sooner",
            Fallback::Exception => "exception",
            Fallback::TimedOut => "timed_out",
            Fallback::NoAccelerator => "no_accelerator",
            Fallback::UnknownFunction => "unknown_function",
            Fallback::Nack => "nack",
        }
    }
}

/// What a part of a request's response time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Application logic, context switches, and traces in software.
    Cpu,
    /// Operations in processing elements: load, compute, write back.
    Accelerator,
    /// Output dispatchers, including waits in their queues.
    Dispatcher,
    /// The central hardware manager, including waits in its queue.
    Manager,
    /// Orchestration on cores: interrupts, decisions, starts of chains, and notices that traces
    /// have ended. If a trace waits for a core's decision, the wait in the core's queue is
    /// included.
    Cores,
    /// Transfers, waits for A-DMA engines, and notifications on their way to a core.
    Communication,
    /// Waits for answers of other servers, and the time at the client if that is known.
    Remote,
    /// Waits for processing elements, for output entries, and for cores that do other work.
    Queueing,
}

impl Part {
    /// All parts; the index of a part is its place in a [`Breakdown`].
    pub const ALL: [Part; 8] = [
        Part::Cpu,
        Part::Accelerator,
        Part::Dispatcher,
        Part::Manager,
        Part::Cores,
        Part::Communication,
        Part::Remote,
        Part::Queueing,
    ];

    /// Returns the name of the part in results.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Cpu => "cpu",
            Part::Accelerator => "accelerator",
            Part::Dispatcher => "dispatcher",
            Part::Manager => "manager",
            Part::Cores => "cores",
            Part::Communication => "communication",
            Part::Remote => "remote",
            Part::Queueing => "queueing",
        }
    }
}

/// A response time, broken down by what it was spent on ([`Part`]). Of parallel chains, only the
/// one that ended last counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown([Time; Part::ALL.len()]);

impl Breakdown {
    /// Returns the time spent on `part`.
    pub fn of(&self, part: Part) -> Time {
        self.0[part as usize]
    }

    /// Returns the sum of all parts: the response time.
    pub fn total(&self) -> Time {
        self.0.iter().copied().sum()
    }

    /// Returns the time spent on orchestration: dispatchers, manager and cores.
    pub fn orchestration(&self) -> Time {
        self.of(Part::Dispatcher) + self.of(Part::Manager) + self.of(Part::Cores)
    }

    /// Returns the mean time spent on `part` per request, if this breakdown is the sum over
    /// `requests` requests; `None` if `requests` is 0.
    pub fn mean(&self, part: Part, requests: u64) -> Option<Time> {
        (requests > 0).then(|| self.of(part) / requests)
    }

    pub(crate) fn add(&mut self, part: Part, time: Time) {
        self.0[part as usize] += time;
    }
}

impl std::ops::AddAssign for Breakdown {
    fn add_assign(&mut self, other: Breakdown) {
        for part in Part::ALL {
            self.add(part, other.of(part));
        }
    }
}

/// The time for which orchestration occupied hardware, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orchestration {
    /// Time for which output dispatchers were busy, summed over them.
    pub dispatchers: Time,
    /// Time for which the central manager was busy.
    pub manager: Time,
    /// Time for which cores were busy with interrupts, decisions, starts of chains, and notices
    /// that traces have ended, summed over the cores.
    pub cores: Time,
}

/// The times of one request after the warm-up that has a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Number of the request within its service; the first is 0.
    pub request: u64,
    /// Time at which the request arrived, since the start of the run.
    pub arrived: Time,
    /// Response time of the request.
    pub response: Time,
    /// The response time, broken down by what it was spent on ([`Part`]).
    pub spent: Breakdown,
}

/// The statistics of one service in a simulation. Requests that other services sent to it are
/// counted separately, in [`ServiceStats::called`], but the statistics of deadlines, queue entries,
/// fallbacks, calls and attempts include them.
#[derive(Clone, Debug, Default)]
pub struct ServiceStats {
    /// Number of requests that arrived, over the whole run.
    pub arrived: u64,
    /// Number of requests that ended with a response, over the whole run.
    pub completed: u64,
    /// Number of requests that were ended because a message did not arrive in time, over the whole
    /// run. They have no response time.
    pub timed_out: u64,
    /// Number of requests after the warm-up that had an SLO.
    pub with_slo: u64,
    /// Number of requests after the warm-up with an SLO whose response was late or missing.
    pub slo_missed: u64,
    /// Number of operations that had a deadline.
    pub deadlines: u64,
    /// Number of operations that ended after their deadlines.
    pub deadlines_missed: u64,
    /// Number of entries of input queues that changed places with an earlier one to meet a
    /// deadline.
    pub exchanged: u64,
    /// Number of entries of input queues that were expected to miss their deadlines and found no
    /// entry to change places with.
    pub expected_late: u64,
    /// Number of requests that were answered with an error, over the whole run. The traces T6, T7
    /// and T10 can report one.
    pub errors: u64,
    /// Response times of the requests after the warm-up.
    pub latency: Samples,
    /// Arrival times of the first and the last request after the warm-up.
    pub measured: Option<(Time, Time)>,
    /// Number of responses between the first and the last arrival after the warm-up.
    pub completed_in_window: u64,
    /// Number of times that a core executed the rest of a trace, by reason.
    pub fallbacks: BTreeMap<Fallback, u64>,
    /// The sum of the response times after the warm-up, broken down by what they were spent on
    /// ([`Part`]).
    pub spent: Breakdown,
    /// The times of single requests after the warm-up, in the order of their responses, if the load
    /// has sampling ([`crate::Load::sampling`]).
    pub samples: Vec<Sample>,
    /// The statistics of the requests that other services sent to this one.
    pub called: CalledStats,
    /// How many requests this service sent to other services, and how they ended.
    pub calls: CallStats,
    /// Number of repeated attempts of chains, over the whole run.
    pub retries: u64,
    /// Number of chains whose last attempt failed, over the whole run. Their requests were answered
    /// with an error and are counted in `errors`.
    pub gave_up: u64,
}

impl ServiceStats {
    /// No requests yet; with `binned`, response times will be counted in bins.
    pub(crate) fn new(binned: bool) -> ServiceStats {
        let mut stats = ServiceStats::default();
        if binned {
            stats.latency = Samples::binned();
            stats.called.latency = Samples::binned();
        }
        stats
    }
}

/// The statistics of the requests that other services sent to one service, over the whole run
/// unless stated otherwise. They count as warm-up if the external request that caused them does.
#[derive(Clone, Debug, Default)]
pub struct CalledStats {
    /// Number of requests from other services that arrived.
    pub arrived: u64,
    /// Number of requests from other services that ended with a response.
    pub completed: u64,
    /// Number of requests from other services that were ended because a message did not arrive in
    /// time. Their callers get no response and time out as well.
    pub timed_out: u64,
    /// Number of requests from other services that were answered with an error.
    pub errors: u64,
    /// Number of requests from other services after the warm-up that had an SLO.
    pub with_slo: u64,
    /// Number of requests from other services after the warm-up with an SLO whose response was late
    /// or missing.
    pub slo_missed: u64,
    /// Response times of the requests from other services after the warm-up.
    pub latency: Samples,
    /// The sum of the response times in [`CalledStats::latency`], broken down by what they were
    /// spent on ([`Part`]).
    pub spent: Breakdown,
}

/// How many requests a service sent to other services, and how they ended, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallStats {
    /// Number of requests that the service sent to other services.
    pub sent: u64,
    /// Number of requests to other services whose response arrived in time.
    pub answered: u64,
    /// Number of requests to other services that timed out.
    pub timed_out: u64,
}

/// The statistics of an accelerator type: all instances together, in the measured window unless
/// stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AccelStats {
    /// Utilization of the processing elements, 0 to 1.
    pub utilization: f64,
    /// Share of time in which at least one processing element was busy, 0 to 1.
    pub any_busy: f64,
    /// Utilization of the output dispatchers, 0 to 1. The parameter `dispatcher.busy` states when
    /// they count as busy.
    pub dispatcher: f64,
    /// Number of operations, over the whole run.
    pub operations: u64,
    /// The largest number of entries of one input queue that were in use at once.
    pub peak_input: usize,
    /// Share of operations, over the whole run, that found input queue and overflow area full, 0 to
    /// 1; a core then executed the rest of the trace.
    pub denied: f64,
}

/// The statistics of one tenant, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantStats {
    /// The number of the tenant, as in [`crate::Load::tenant`].
    pub tenant: u16,
    /// Number of traces that started on accelerators, including arms of forks.
    pub started: u64,
    /// The largest number of the tenant's traces that ran at once.
    pub peak_running: u64,
    /// Number of traces that waited for other traces of the tenant to end (the parameter
    /// `tenant.max_traces`).
    pub waited: u64,
    /// The sum of the times that traces waited for other traces of the tenant to end.
    pub waiting_time: Time,
    /// Number of traces that have passed the tenant's traffic shaper.
    pub shaped: u64,
    /// The sum of the times of traces in the tenant's traffic shaper, each at least the shaper's
    /// latency.
    pub shaping_time: Time,
    /// Time for which processing elements were busy with the tenant's traces, including the
    /// preparation of elements that other tenants used and waits for memory; 0 for a tenant without
    /// a limit on accelerator time.
    pub accelerator_time: Time,
    /// Accelerator time that counted against the tenant's limit: the time of operations, without
    /// the preparation of elements that other tenants used and without waits for memory; 0 for a
    /// tenant without a limit on accelerator time.
    pub charged_time: Time,
}

/// The resource that limits a saturated server: one whose requests arrive faster than it completes
/// them.
#[derive(Clone, Debug, PartialEq)]
pub struct Saturation {
    /// The name of the limiting resource: the busiest of those that have a growing backlog or
    /// reject work.
    pub cause: String,
    /// Utilization of the limiting resource in the measured window, 0 to 1.
    pub utilization: f64,
    /// Backlog of the limiting resource at the beginning of the measured window, and at its end.
    pub waiting: (usize, usize),
    /// Number of traces that the limiting resource rejected in the measured window because its
    /// queues were full.
    pub turned_away: u64,
    /// The name of the resource with the longest queue at the end of the measured window.
    pub longest_queue: String,
}

/// Sums over a whole run, for checks of conservation laws.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of operations executed on accelerators, indexed by [`Accel::index`].
    pub on_accelerators: [u64; Accel::MOST],
    /// Number of operations executed on cores, indexed by [`Accel::index`].
    pub on_cores: [u64; Accel::MOST],
    /// Time to load, compute and write back, summed over all operations on processing elements.
    pub element_work: Time,
    /// Busy time of processing elements, summed over them.
    pub element_busy: Time,
    /// Time for which processing elements waited for an output entry, summed over them.
    pub element_blocked: Time,
    /// Time for which exceptions stopped processing elements, summed over them.
    pub element_stopped: Time,
    /// Number of exceptions that stopped a processing element.
    pub exceptions: u64,
    /// The integral over time of the number of requests in the system, in requests times
    /// picoseconds.
    pub population_ps: u128,
    /// The sum of all response times, in picoseconds.
    pub latency_ps: u128,
    /// The sum of all response times by their breakdown into parts, in picoseconds; equal to
    /// `latency_ps` if the breakdown is complete.
    pub spent_ps: u128,
    /// Whether all parts of the server were idle at the end.
    pub drained: bool,
}

impl Totals {
    /// Returns the share of each accelerator type's operations that cores executed, 0 to 1, indexed
    /// by [`Accel::index`]; 0 for a type without operations.
    pub fn on_core_shares(&self) -> [f64; Accel::MOST] {
        std::array::from_fn(|kind| {
            let all = self.on_accelerators[kind] + self.on_cores[kind];
            self.on_cores[kind] as f64 / all.max(1) as f64
        })
    }
}

/// The statistics of a server's data movement, over the whole run unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DataStats {
    /// Bytes that accelerators, DMA and page-table walks read from the memory system.
    pub read_bytes: u64,
    /// Bytes read that were neither in the last-level cache nor in a core's private caches, so that
    /// they came from main memory.
    pub missed_bytes: u64,
    /// Bytes written to the last-level cache.
    pub written_bytes: u64,
    /// Bytes read from and written to main memory, including those of cores.
    pub dram_bytes: u64,
    /// Number of pages that accelerators looked up in their TLBs.
    pub tlb_lookups: u64,
    /// Number of TLB lookups that missed; each caused a page-table walk.
    pub tlb_misses: u64,
    /// Number of page-table entries that page-table walks read.
    pub table_reads: u64,
    /// Number of operations that a page fault interrupted; they resume once it is handled.
    pub page_faults: u64,
    /// Share of the measured window in which the busiest mesh link carried data, 0 to 1.
    pub busiest_link: f64,
    /// Share of the measured window in which the busiest link between chiplets carried data, 0 to
    /// 1.
    pub busiest_crossing: f64,
}

impl DataStats {
    /// Returns the share of the bytes read that were in the last-level cache or a core's private
    /// caches, 0 to 1; `None` if nothing was read.
    pub fn llc_hit_ratio(&self) -> Option<f64> {
        let found = self.read_bytes - self.missed_bytes;
        (self.read_bytes > 0).then(|| found as f64 / self.read_bytes as f64)
    }
}

/// The result of simulating one server.
#[derive(Clone, Debug)]
pub struct SimulationResult {
    /// The statistics of each service, in the order of the plan.
    pub services: Vec<ServiceStats>,
    /// The statistics of each accelerator type, indexed by [`Accel::index`].
    pub accelerators: [AccelStats; Accel::MOST],
    /// Utilization of the cores in the measured window, 0 to 1; 1 if they poll flags continuously.
    pub core_utilization: f64,
    /// Utilization of the central hardware manager in the measured window, 0 to 1.
    pub manager_utilization: f64,
    /// Utilization of the A-DMA engines in the measured window, 0 to 1.
    pub dma_utilization: f64,
    /// Mean number of instructions that an output dispatcher executed per operation; `None` if
    /// there were no operations.
    pub dispatcher_instructions: Option<f64>,
    /// The statistics of each tenant, in the order of their numbers.
    pub tenants: Vec<TenantStats>,
    /// Data movement: networks, caches, memory, address translation.
    pub data: DataStats,
    /// The time for which orchestration occupied hardware.
    pub orchestration: Orchestration,
    /// The limiting resource if requests arrived faster than they ended; else `None`.
    pub saturated: Option<Saturation>,
    /// Length of the measured window, from the end of the warm-up to the last counted arrival.
    pub window: Time,
    /// Number of simulated events.
    pub events: u64,
    /// Sums over the whole run, for checks of conservation laws.
    pub totals: Totals,
    /// The utilization of the server from its start to the last arrival, interval by interval;
    /// empty unless [`crate::Watch::use_intervals`] asks for it.
    pub used: Vec<Used>,
}

/// The utilization of a server's hardware in one interval of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// The beginning of the interval.
    pub from: Time,
    /// The end of the interval.
    pub until: Time,
    /// Utilization of the cores in the interval, 0 to 1; 1 if they poll flags continuously.
    pub cores: f64,
    /// Utilization of the central hardware manager in the interval, 0 to 1.
    pub manager: f64,
    /// Utilization of the A-DMA engines in the interval, 0 to 1.
    pub dma: f64,
    /// Utilization of each accelerator type's processing elements in the interval, 0 to 1, indexed
    /// by [`Accel::index`].
    pub accelerators: [f64; Accel::MOST],
}

/// One operation of one request, as [`crate::simulate_logged`] lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operated {
    /// When the operation ended or, if a core executed it, when the core accepted the trace.
    pub at: Time,
    /// Index of the service in the plan.
    pub service: usize,
    /// Number of the request within the service.
    pub request: u64,
    /// Index of the phase of the service's path.
    pub phase: usize,
    /// Index of the chain within the phase.
    pub chain: usize,
    /// The trace, by the address of its first word.
    pub trace: AtmAddress,
    /// The accelerator type of the operation, even if a core executed it.
    pub accel: Accel,
    /// Size of the payload before and after the operation.
    pub sizes: [Bytes; 2],
    /// Whether a core executed the operation.
    pub on_core: bool,
}
