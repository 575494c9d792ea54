//! The statistics of a run.

use std::collections::BTreeMap;

pub use accelflow_kernel::BIN_ERROR;
use accelflow_kernel::Samples;
use accelflow_trace::{Accel, AtmAddress};
use accelflow_units::{Bytes, Time};

/// The reason why a core executed an operation of an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fallback {
    /// The input queue of the first accelerator was full.
    EnqueueDenied,
    /// The input queue and the overflow area of the next accelerator were full.
    OverflowFull,
    /// The core would end the operation sooner than the accelerator (`accelerator.fallback`).
    CoreSooner,
    /// An exception stopped the accelerator, which could not continue.
    Exception,
    /// A message did not arrive in time, and the core terminated the request.
    TimedOut,
    /// The chip does not have the next accelerator.
    NoAccelerator,
    /// The schema map of the RPC processor does not have the function.
    UnknownFunction,
    /// The RPC processor had no memory for a message. Its sender sends it again, or gives up.
    Nack,
}

impl Fallback {
    /// All reasons.
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

    /// The name in results.
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

/// A part of a request's response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Application logic, context switches, and traces in software.
    Cpu,
    /// Operations in processing elements: load, compute, write back.
    Accelerator,
    /// Output dispatchers, their queues included.
    Dispatcher,
    /// The central manager, its queue included.
    Manager,
    /// Orchestration on cores: interrupts, decisions, starts of chains, and notices of ends. If a
    /// trace waits for a decision, the wait in the core's queue is included.
    Cores,
    /// Transfers, waits for A-DMA engines, and notifications on their way.
    Communication,
    /// Other servers, and clients if their time is known.
    Remote,
    /// Waits for elements, for output entries, and for cores with other work.
    Queueing,
}

impl Part {
    /// All parts, in the order of their declaration.
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

    /// The name in results.
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

/// A response time, broken down by [`Part`]. Of parallel chains, the one that ended last counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown([Time; Part::ALL.len()]);

impl Breakdown {
    /// The time spent on `part`.
    pub fn of(&self, part: Part) -> Time {
        self.0[part as usize]
    }

    /// The sum of all parts: the response time.
    pub fn total(&self) -> Time {
        self.0.iter().copied().sum()
    }

    /// The time of orchestration: dispatchers, manager and cores.
    pub fn orchestration(&self) -> Time {
        self.of(Part::Dispatcher) + self.of(Part::Manager) + self.of(Part::Cores)
    }

    /// The mean time spent on `part` per request, if this is the sum over `requests` requests;
    /// `None` for 0.
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
    /// Output dispatchers.
    pub dispatchers: Time,
    /// The central manager.
    pub manager: Time,
    /// Cores: interrupts, decisions, starts of chains, and notices of ends.
    pub cores: Time,
}

/// One request after the warm-up that has a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Number of the request within its service; the first is 0.
    pub request: u64,
    /// Time of its arrival, since the start of the run.
    pub arrived: Time,
    /// Its response time.
    pub response: Time,
    /// The response time, divided by [`Part`].
    pub spent: Breakdown,
}

/// The statistics of a service. Requests of other services are counted separately, in
/// [`ServiceStats::called`], but the statistics of deadlines, queue entries, fallbacks, calls and
/// attempts include them.
#[derive(Clone, Debug, Default)]
pub struct ServiceStats {
    /// Number of requests that arrived, over the whole run.
    pub arrived: u64,
    /// Number of requests that ended with a response, over the whole run.
    pub completed: u64,
    /// Number of requests that were terminated because a message did not arrive in time, over the
    /// whole run. They have no response time.
    pub timed_out: u64,
    /// Number of requests after the warm-up that had an SLO.
    pub with_slo: u64,
    /// Number of requests with an SLO whose response was late or missing.
    pub slo_missed: u64,
    /// Number of operations that had a deadline.
    pub deadlines: u64,
    /// Number of operations that ended after their deadlines.
    pub deadlines_missed: u64,
    /// Number of queue entries that swapped places with an earlier one to meet a deadline.
    pub exchanged: u64,
    /// Number of queue entries that could not swap places and were expected to miss their
    /// deadlines.
    pub expected_late: u64,
    /// Number of requests that were answered with an error (T6, T7 and T10 can report one), over the
    /// whole run.
    pub errors: u64,
    /// Response times of the requests after the warm-up.
    pub latency: Samples,
    /// Arrival times of the first and the last request after the warm-up.
    pub measured: Option<(Time, Time)>,
    /// Number of responses between the first and the last arrival after the warm-up.
    pub completed_in_window: u64,
    /// Number of fallbacks, by reason.
    pub fallbacks: BTreeMap<Fallback, u64>,
    /// The sum of [`ServiceStats::latency`], broken down by [`Part`].
    pub spent: Breakdown,
    /// Single requests of [`ServiceStats::latency`], in the order of their responses, if the load
    /// has sampling ([`crate::Load::sampling`]).
    pub samples: Vec<Sample>,
    /// The requests of other services.
    pub called: CalledStats,
    /// The requests to other services.
    pub calls: CallStats,
    /// Number of retries, over the whole run.
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

/// The requests of a service that other services have sent, over the whole run unless stated
/// otherwise. They count as warm-up if the external request that caused them does.
#[derive(Clone, Debug, Default)]
pub struct CalledStats {
    /// Number of requests that arrived.
    pub arrived: u64,
    /// Number of requests that ended with a response.
    pub completed: u64,
    /// Number of requests that were terminated because a message did not arrive in time. Their
    /// callers get no response and time out as well.
    pub timed_out: u64,
    /// Number of requests that were answered with an error.
    pub errors: u64,
    /// Number of requests after the warm-up that had an SLO.
    pub with_slo: u64,
    /// Number of requests with an SLO whose response was late or missing.
    pub slo_missed: u64,
    /// Response times of the requests after the warm-up.
    pub latency: Samples,
    /// The sum of [`CalledStats::latency`], broken down by [`Part`].
    pub spent: Breakdown,
}

/// The requests that a service has sent to others, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallStats {
    /// Number of requests sent.
    pub sent: u64,
    /// Number of requests whose response arrived in time.
    pub answered: u64,
    /// Number of requests that timed out.
    pub timed_out: u64,
}

/// The statistics of an accelerator type, in the measured window unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AccelStats {
    /// Utilization of the elements, as a share of their time.
    pub utilization: f64,
    /// Share of time with any element busy.
    pub any_busy: f64,
    /// Utilization of the output dispatchers, as a share of their time (`dispatcher.busy`).
    pub dispatcher: f64,
    /// Number of operations, over the whole run.
    pub operations: u64,
    /// The largest number of entries of an input queue that were in use at once.
    pub peak_input: usize,
    /// Share of operations, over the whole run, that found queue and overflow area full; a core then
    /// took over the trace.
    pub denied: f64,
}

/// The statistics of a tenant, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantStats {
    /// The number of the tenant in its loads.
    pub tenant: u16,
    /// Number of traces that started on accelerators, including arms of forks.
    pub started: u64,
    /// The largest number of traces running at once.
    pub peak_running: u64,
    /// Number of traces that waited for others of the tenant to end.
    pub waited: u64,
    /// The sum of their waits.
    pub waiting_time: Time,
    /// Number of traces that have passed its traffic shaper.
    pub shaped: u64,
    /// The sum of their times in the shaper, each at least the shaper's latency.
    pub shaping_time: Time,
    /// Time for which processing elements were busy with its traces, including the preparation of
    /// elements that other tenants used and waits for memory; 0 for a tenant without a limit on
    /// accelerator time.
    pub accelerator_time: Time,
    /// The accelerator time charged to its traces: the time of their operations without that
    /// preparation and those waits; 0 for a tenant without a limit on accelerator time.
    pub charged_time: Time,
}

/// The resource that limits a saturated server.
#[derive(Clone, Debug, PartialEq)]
pub struct Saturation {
    /// The busiest of the resources that have a growing backlog or reject work.
    pub cause: String,
    /// Its utilization in the measured window, as a share of its time.
    pub utilization: f64,
    /// Its backlog at the beginning of the window, and at the end.
    pub waiting: (usize, usize),
    /// Number of traces that it rejected in the window because its queues were full.
    pub turned_away: u64,
    /// The resource with the longest queue at the end.
    pub longest_queue: String,
}

/// Sums over a whole run, for checks of conservation laws.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of operations on accelerators, by [`Accel::index`].
    pub on_accelerators: [u64; Accel::MOST],
    /// Number of operations on cores, by [`Accel::index`].
    pub on_cores: [u64; Accel::MOST],
    /// The work of elements: time to load, compute and write back of all operations.
    pub element_work: Time,
    /// Busy time of elements.
    pub element_busy: Time,
    /// Time that elements waited for an output entry.
    pub element_blocked: Time,
    /// Time that elements were stopped by exceptions.
    pub element_stopped: Time,
    /// Number of exceptions that stopped an element.
    pub exceptions: u64,
    /// The integral of the number of requests in the system over time, in picoseconds.
    pub population_ps: u128,
    /// The sum of all response times, in picoseconds.
    pub latency_ps: u128,
    /// The sum of the parts of all response times, in picoseconds.
    pub spent_ps: u128,
    /// Whether everything was idle at the end.
    pub drained: bool,
}

impl Totals {
    /// Share of each accelerator's operations that cores executed, by [`Accel::index`]; 0 for an
    /// accelerator without operations.
    pub fn on_core_shares(&self) -> [f64; Accel::MOST] {
        std::array::from_fn(|kind| {
            let all = self.on_accelerators[kind] + self.on_cores[kind];
            self.on_cores[kind] as f64 / all.max(1) as f64
        })
    }
}

/// The statistics of data movement, over the whole run unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DataStats {
    /// Bytes that accelerators, DMA and page-table walks read from the memory system.
    pub read_bytes: u64,
    /// Bytes read that were neither in the last-level cache nor in a core's private caches.
    pub missed_bytes: u64,
    /// Bytes written to the last-level cache.
    pub written_bytes: u64,
    /// Bytes read from and written to main memory, including those of cores.
    pub dram_bytes: u64,
    /// Number of pages that accelerators looked up in their TLBs.
    pub tlb_lookups: u64,
    /// Number of lookups that missed; each caused a page-table walk.
    pub tlb_misses: u64,
    /// Number of page-table entries that the walks read.
    pub table_reads: u64,
    /// Number of operations that a page fault stopped.
    pub page_faults: u64,
    /// Share of the measured window in which the busiest mesh link carried data.
    pub busiest_link: f64,
    /// Share of the measured window in which the busiest link between chiplets carried data.
    pub busiest_crossing: f64,
}

impl DataStats {
    /// Share of the bytes read that were in a cache; `None` if nothing was read.
    pub fn llc_hit_ratio(&self) -> Option<f64> {
        let found = self.read_bytes - self.missed_bytes;
        (self.read_bytes > 0).then(|| found as f64 / self.read_bytes as f64)
    }
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct SimulationResult {
    /// The statistics of each service, in the order of the plan.
    pub services: Vec<ServiceStats>,
    /// The statistics of each accelerator type, by [`Accel::index`].
    pub accelerators: [AccelStats; Accel::MOST],
    /// Share of the cores' time that they were busy; 1 if they poll flags continuously.
    pub core_utilization: f64,
    /// Share of the manager's time that it was busy.
    pub manager_utilization: f64,
    /// Share of the A-DMA engines' time that they were busy.
    pub dma_utilization: f64,
    /// Mean number of instructions of an output dispatcher's operation; `None` without any.
    pub dispatcher_instructions: Option<f64>,
    /// The statistics of each tenant, in the order of their numbers.
    pub tenants: Vec<TenantStats>,
    /// Data movement: networks, caches, memory, translation.
    pub data: DataStats,
    /// The time for which orchestration kept hardware busy.
    pub orchestration: Orchestration,
    /// The limiting resource, if requests arrived faster than they ended.
    pub saturated: Option<Saturation>,
    /// Length of the measured window.
    pub window: Time,
    /// Number of events simulated.
    pub events: u64,
    /// Sums that obey conservation laws.
    pub totals: Totals,
    /// The utilization of the server from its start to the last arrival, interval by interval;
    /// empty unless [`crate::Watch::use_intervals`] asks for it.
    pub used: Vec<Used>,
}

/// The utilization of a server in an interval of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// Its beginning.
    pub from: Time,
    /// Its end.
    pub until: Time,
    /// Share of the cores' time that they were busy; 1 if they poll flags continuously.
    pub cores: f64,
    /// Share of the manager's time that it was busy.
    pub manager: f64,
    /// Share of the A-DMA engines' time that they were busy.
    pub dma: f64,
    /// Share of the elements' time that they were busy, by [`Accel::index`].
    pub accelerators: [f64; Accel::MOST],
}

/// An entry of the log of [`crate::simulate_logged`]: one operation of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operated {
    /// When the operation ended or, on a core, when the core accepted the trace.
    pub at: Time,
    /// Index of the service in the plan.
    pub service: usize,
    /// Number of the request within the service.
    pub request: u64,
    /// Phase of the service's path.
    pub phase: usize,
    /// Chain within the phase.
    pub chain: usize,
    /// The trace, by the address of its first word.
    pub trace: AtmAddress,
    /// The type of the operation.
    pub accel: Accel,
    /// The size of its payload before and after.
    pub sizes: [Bytes; 2],
    /// Whether a core executed it.
    pub on_core: bool,
}
