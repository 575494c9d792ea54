//! What a run is measured by.

use std::collections::BTreeMap;

use accelflow_kernel::Samples;
use accelflow_trace::{Accel, AtmAddress};
use accelflow_units::{Bytes, Time};

/// Why an operation that belonged on an accelerator ran on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fallback {
    /// The core found the first accelerator's input queue full.
    EnqueueDenied,
    /// A dispatcher found the next accelerator's queue and overflow area full.
    OverflowFull,
    /// An exception that could not be repaired stopped the accelerator.
    Exception,
    /// A message did not come in time; the core terminated the request.
    TimedOut,
}

impl Fallback {
    /// All reasons.
    pub const ALL: [Fallback; 4] = [
        Fallback::EnqueueDenied,
        Fallback::OverflowFull,
        Fallback::Exception,
        Fallback::TimedOut,
    ];

    /// The reason in results.
    pub const fn name(self) -> &'static str {
        match self {
            Fallback::EnqueueDenied => "enqueue_denied",
            Fallback::OverflowFull => "overflow_full",
            Fallback::Exception => "exception",
            Fallback::TimedOut => "timed_out",
        }
    }
}

/// What a request waits for at a point in time.
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
    /// Orchestration on cores: interrupts, decisions, starts of chains and notifications seen,
    /// and, for what a trace asks of a core, also the core's queue.
    Cores,
    /// Transfers, waits for A-DMA engines, and notifications on their way.
    Communication,
    /// Other servers.
    Remote,
    /// Waits for elements, output entries, and cores that have other work.
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

    /// The part in results.
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

/// Response time by what it was spent on, along the path that ended last: of parallel chains the
/// one that its phase waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown([Time; Part::ALL.len()]);

impl Breakdown {
    /// The time spent on `part`.
    pub fn of(&self, part: Part) -> Time {
        self.0[part as usize]
    }

    /// All parts together: the response time.
    pub fn total(&self) -> Time {
        self.0.iter().copied().sum()
    }

    /// Deciding what comes next and telling each other: dispatchers, manager and cores.
    pub fn orchestration(&self) -> Time {
        self.of(Part::Dispatcher) + self.of(Part::Manager) + self.of(Part::Cores)
    }

    /// The mean time spent on `part` by each of `requests`, of which this is the sum.
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

/// For how long orchestration kept hardware busy, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orchestration {
    /// Output dispatchers.
    pub dispatchers: Time,
    /// The central manager.
    pub manager: Time,
    /// Cores: interrupts, decisions, starts of chains and notifications.
    pub cores: Time,
}

/// What a service has experienced.
#[derive(Clone, Debug, Default)]
pub struct ServiceStats {
    /// Requests that arrived, all of them.
    pub arrived: u64,
    /// Requests that ended with a response, all of them.
    pub completed: u64,
    /// Requests that were terminated because a message did not come in time, all of them. They
    /// have no response time.
    pub timed_out: u64,
    /// Requests after the warm-up that had an SLO.
    pub with_slo: u64,
    /// Those of them whose response came later, or never.
    pub slo_missed: u64,
    /// Operations that ended with a deadline.
    pub deadlines: u64,
    /// Those of them that ended after it.
    pub deadlines_missed: u64,
    /// Entries that changed places with an earlier one to meet their deadlines.
    pub exchanged: u64,
    /// Entries that could not, and were expected to miss theirs.
    pub expected_late: u64,
    /// Requests that were answered with an error (T6, T7 and T10 can report one), all of them.
    pub errors: u64,
    /// Response times of the requests after the warm-up.
    pub latency: Samples,
    /// When the last request after the warm-up arrived, and the first.
    pub measured: Option<(Time, Time)>,
    /// Requests that ended between the first and the last arrival after the warm-up.
    pub completed_in_window: u64,
    /// Fallbacks, by reason.
    pub fallbacks: BTreeMap<Fallback, u64>,
    /// The response times of [`ServiceStats::latency`], by what they were spent on.
    pub spent: Breakdown,
}

/// What an accelerator type has done in the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AccelStats {
    /// Share of the elements' time that they were busy.
    pub utilization: f64,
    /// Share of time with any element busy.
    pub any_busy: f64,
    /// Share of the output dispatchers' time that they were busy (`dispatcher.busy`).
    pub dispatcher: f64,
    /// Operations executed in the whole run.
    pub operations: u64,
    /// The most input entries ever taken.
    pub peak_input: usize,
    /// Share of the operations asked for in the whole run that found queue and overflow area full;
    /// a core then took over the trace.
    pub denied: f64,
}

/// What a tenant has experienced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantStats {
    /// The number that its loads give.
    pub tenant: u16,
    /// Traces that began to run on accelerators, and arms of forks.
    pub started: u64,
    /// The most that ran at once.
    pub peak_running: u64,
    /// Traces that had to wait for others of the tenant to end.
    pub waited: u64,
    /// How long they waited, in all.
    pub waiting_time: Time,
    /// Traces that have passed its traffic shaper.
    pub shaped: u64,
    /// How long they were in it, in all; its latency is the least of each.
    pub shaping_time: Time,
}

/// Why a server cannot hold its load.
#[derive(Clone, Debug, PartialEq)]
pub struct Saturation {
    /// The busiest of those resources that ever more work waits for or that turn work away.
    pub cause: String,
    /// Share of its time that it was busy in the measured window.
    pub utilization: f64,
    /// What waited for it at the beginning of the window, and at the end.
    pub waiting: (usize, usize),
    /// Traces that it turned away in the window, as its queues were full.
    pub turned_away: u64,
    /// What the most work waited for at the end.
    pub longest_queue: String,
}

/// Sums over a whole run, for the conservation laws.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Operations on accelerators, by [`Accel::index`].
    pub on_accelerators: [u64; Accel::COUNT],
    /// Operations on cores, by [`Accel::index`].
    pub on_cores: [u64; Accel::COUNT],
    /// Time that the elements were to be busy: load, compute and write back of each operation.
    pub element_work: Time,
    /// Time that they were.
    pub element_busy: Time,
    /// Time that elements waited for an output entry.
    pub element_blocked: Time,
    /// Time that elements were stopped by exceptions.
    pub element_stopped: Time,
    /// Exceptions that stopped an element.
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
    pub fn on_core_shares(&self) -> [f64; Accel::COUNT] {
        std::array::from_fn(|kind| {
            let all = self.on_accelerators[kind] + self.on_cores[kind];
            self.on_cores[kind] as f64 / all.max(1) as f64
        })
    }
}

/// What moved data, and what it met, in the whole run unless it says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DataStats {
    /// Bytes that accelerators, DMA and page-table walks read from the memory system.
    pub read_bytes: u64,
    /// Of those, bytes that were neither in the last-level cache nor in a core's private caches.
    pub missed_bytes: u64,
    /// Bytes written to the last-level cache.
    pub written_bytes: u64,
    /// Bytes that main memory read and wrote, for cores too.
    pub dram_bytes: u64,
    /// Pages that accelerators looked up in their TLBs.
    pub tlb_lookups: u64,
    /// Of those, pages that were not there, each a page-table walk.
    pub tlb_misses: u64,
    /// Entries of page tables that the walks read.
    pub table_reads: u64,
    /// Operations that a page fault stopped.
    pub page_faults: u64,
    /// Share of the measured window in which the busiest link of a mesh carried data.
    pub busiest_link: f64,
    /// The same of the links between chiplets.
    pub busiest_crossing: f64,
}

impl DataStats {
    /// Share of the bytes read that were in a cache, if anything was read.
    pub fn llc_hit_ratio(&self) -> Option<f64> {
        let found = self.read_bytes - self.missed_bytes;
        (self.read_bytes > 0).then(|| found as f64 / self.read_bytes as f64)
    }
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// By service, in the order of the plan.
    pub services: Vec<ServiceStats>,
    /// By [`Accel::index`].
    pub accelerators: [AccelStats; Accel::COUNT],
    /// Share of the cores' time that they were busy; all of it where they poll flags continuously.
    pub core_utilization: f64,
    /// Share of the manager's time that it was occupied.
    pub manager_utilization: f64,
    /// Share of the A-DMA engines' time that they were busy.
    pub dma_utilization: f64,
    /// Mean instructions of an output dispatcher operation, if there were any.
    pub dispatcher_instructions: Option<f64>,
    /// By tenant, in the order of their numbers.
    pub tenants: Vec<TenantStats>,
    /// Networks, caches, memory and address translation.
    pub data: DataStats,
    /// For how long orchestration kept hardware busy.
    pub orchestration: Orchestration,
    /// The cause, if requests arrived faster than they ended.
    pub saturated: Option<Saturation>,
    /// Length of the measured window.
    pub window: Time,
    /// Events simulated.
    pub events: u64,
    /// Conservation sums.
    pub totals: Totals,
}

/// One operation of one request, as [`crate::simulate_logged`] reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operated {
    /// When the operation ended, or, on a core, when the core took the trace on.
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
    /// The operation.
    pub accel: Accel,
    /// Its payload, before and after.
    pub sizes: [Bytes; 2],
    /// Whether a core executed it.
    pub on_core: bool,
}
