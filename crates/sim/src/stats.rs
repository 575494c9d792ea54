//! The statistics of a simulation.

use std::collections::BTreeMap;

pub use accelflow_kernel::BIN_ERROR;
use accelflow_kernel::Samples;
use accelflow_trace::{Accel, AtmAddress};
use accelflow_units::{Bytes, Time};

/// The reason why a trace (a sequence of accelerator operations) left the accelerators before its
/// end. A core then executed the rest of the trace, except after [`Fallback::TimedOut`] and
/// [`Fallback::Nack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fallback {
    /// The input queue of the trace's first accelerator, or the central manager's queue, was full
    /// at each of the core's attempts to enqueue the trace.
    EnqueueDenied,
    /// The input queue and the overflow area of the next accelerator were full, or the queue and
    /// the overflow area of the central manager.
    OverflowFull,
    /// The core was idle and would end the next operation before the accelerator (parameter
    /// `accelerator.fallback` = `sooner`).
    CoreSooner,
    /// An exception stopped the operation, and the accelerator could not continue.
    Exception,
    /// A message for which the trace waited did not arrive in time. The core ended the request,
    /// unless it already had its response or the chain was detached.
    TimedOut,
    /// The chip does not have the next accelerator.
    NoAccelerator,
    /// The schema map of the RPC processor (`accelerator.rpc_processor` = `whole`) does not have
    /// the function of the service.
    UnknownFunction,
    /// The RPC processor (`accelerator.rpc_processor` = `whole`) had no memory for a message. The
    /// sender repeats the message, or gives up.
    Nack,
}

impl Fallback {
    /// All reasons for which a trace leaves the accelerators, in the order of declaration.
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

    /// Returns the name of this reason in results, such as `overflow_full`.
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

/// A kind of work or wait on which a request spends a part of its response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Application logic, its context switches, and traces that cores execute in software.
    Cpu,
    /// Operations on processing elements: preparation of the element, load, compute, write back.
    Accelerator,
    /// Work of output dispatchers, including waits in their queues.
    Dispatcher,
    /// Work of the central hardware manager, including waits until it has time. Waits of operations
    /// in its queue for elements count as [`Part::Queueing`].
    Manager,
    /// Orchestration on cores: interrupts, exceptions, decisions, starts of chains, and notices
    /// that traces have ended. A wait in a core's queue for a decision is included.
    Cores,
    /// Data transfers, waits for A-DMA engines, and notifications on their way to a core.
    Communication,
    /// Waits for messages from remote sides, pauses before retries and repeated messages, and the
    /// part of the response time that a request spends at the client according to a recording.
    Remote,
    /// Waits for processing elements, for entries of queues, for cores that do other work, and for
    /// the traffic shapers and limits of tenants.
    Queueing,
}

impl Part {
    /// All kinds of work and waits, in the order of reports.
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

    /// Returns the name of this part in results, such as `queueing`.
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

/// The response time of one request, broken down by kind of work or wait ([`Part`]). Of work that
/// ran in parallel, only that for which the response waited counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown([Time; Part::ALL.len()]);

impl Breakdown {
    /// Returns the time that the request spent on `part`.
    pub fn of(&self, part: Part) -> Time {
        self.0[part as usize]
    }

    /// Returns the sum of all parts: the response time.
    pub fn total(&self) -> Time {
        self.0.iter().copied().sum()
    }

    pub(crate) fn add(&mut self, part: Part, time: Time) {
        self.0[part as usize] += time;
    }
}

/// The sum of the breakdowns ([`Breakdown`]) of many response times. The sum may exceed the 213
/// days of a [`Time`]: on an overloaded server, each of a million requests may have waited for a
/// minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BreakdownSum {
    /// The picoseconds spent on each part.
    parts_ps: [u128; Part::ALL.len()],
}

impl BreakdownSum {
    /// Returns the time that all requests together spent on `part`, at most [`Time::MAX`].
    pub fn of(&self, part: Part) -> Time {
        time_of(self.parts_ps[part as usize])
    }

    /// Returns the sum of all parts, which is the sum of the response times, at most [`Time::MAX`].
    pub fn total(&self) -> Time {
        time_of(self.parts_ps.iter().sum())
    }

    /// Returns the time spent on orchestration, which decides and starts the operations of
    /// requests: the sum of [`Part::Dispatcher`], [`Part::Manager`] and [`Part::Cores`].
    pub fn orchestration(&self) -> Time {
        let parts = [Part::Dispatcher, Part::Manager, Part::Cores];
        time_of(parts.map(|part| self.parts_ps[part as usize]).iter().sum())
    }

    /// Returns the mean time per request spent on `part`: the sum divided by `requests`, the number
    /// of requests in the sum. `None` if `requests` is 0.
    pub fn mean(&self, part: Part, requests: u64) -> Option<Time> {
        let mean = self.parts_ps[part as usize].checked_div(u128::from(requests));
        mean.map(time_of)
    }
}

fn time_of(ps: u128) -> Time {
    Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
}

impl std::ops::AddAssign<Breakdown> for BreakdownSum {
    fn add_assign(&mut self, other: Breakdown) {
        for part in Part::ALL {
            self.parts_ps[part as usize] += u128::from(other.of(part).as_ps());
        }
    }
}

/// The time for which hardware was busy with orchestration, which decides and starts the operations
/// of requests. The time covers the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orchestration {
    /// Time for which output dispatchers were busy, summed over all dispatchers.
    pub dispatchers: Time,
    /// Time for which the central hardware manager was busy.
    pub manager: Time,
    /// Time for which cores were busy with interrupts, decisions, polls of queues, starts of
    /// chains, and notices that traces have ended or that messages are late, summed over all cores.
    /// Exceptions and repeated Enqueue instructions are not included.
    pub cores: Time,
}

/// The arrival time, the response time and its breakdown for one sampled request. Only requests
/// that came after the warm-up and have a response are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Sequence number of the request within its service, from 0.
    pub request: u64,
    /// Time at which the request arrived, since the start of the simulation.
    pub arrived: Time,
    /// Response time of the request.
    pub response: Time,
    /// The response time, broken down by what the time was spent on ([`Part`]).
    pub spent: Breakdown,
}

/// The statistics of one service in a simulation. They cover the requests that clients sent to the
/// service; [`ServiceStats::called`] covers the requests from other services. Only `deadlines`,
/// `deadlines_missed`, `exchanged`, `expected_late`, `fallbacks`, `calls`, `retries` and `gave_up`
/// include both kinds of requests.
#[derive(Clone, Debug, Default)]
pub struct ServiceStats {
    /// Number of requests that arrived from clients, over the whole run.
    pub arrived: u64,
    /// Number of requests from clients that were answered with a response, errors included, over
    /// the whole run.
    pub completed: u64,
    /// Number of requests from clients that ended without a response because a message did not
    /// arrive in time or was refused for lack of memory, over the whole run. These requests have no
    /// response time.
    pub timed_out: u64,
    /// Number of requests from clients after the warm-up that had an SLO.
    pub with_slo: u64,
    /// Number of requests from clients after the warm-up that had an SLO and whose response was
    /// late or missing.
    pub slo_missed: u64,
    /// Number of operations on processing elements that had a deadline, over the whole run.
    pub deadlines: u64,
    /// Number of operations on processing elements that ended after their deadlines, over the whole
    /// run.
    pub deadlines_missed: u64,
    /// Number of entries of input queues that changed places with an earlier entry to meet a
    /// deadline, over the whole run.
    pub exchanged: u64,
    /// Number of entries of input queues that were expected to miss their deadlines and found no
    /// entry to change places with, over the whole run.
    pub expected_late: u64,
    /// Number of requests from clients that were answered with an error, over the whole run. Traces
    /// such as T6, T7 and T10 report errors, and so does a chain whose last allowed attempt failed.
    pub errors: u64,
    /// Response times of the requests from clients after the warm-up, including those answered with
    /// an error.
    pub latency: Samples,
    /// Number of requests that arrived from clients after the warm-up.
    pub counted: u64,
    /// Arrival times of the first and the last counted request after the warm-up; `None` if none
    /// arrived.
    pub measured: Option<(Time, Time)>,
    /// Number of responses that clients got between the first and the last arrival after the
    /// warm-up. Responses to requests of the warm-up count if they came in this time.
    pub completed_in_window: u64,
    /// Number of fallbacks of traces, by reason, over the whole run; reasons that did not occur are
    /// missing.
    pub fallbacks: BTreeMap<Fallback, u64>,
    /// The sum of the response times in [`ServiceStats::latency`], broken down by what the time was
    /// spent on ([`Part`]).
    pub spent: BreakdownSum,
    /// The times of evenly spaced requests from clients after the warm-up, in the order of their
    /// responses. Empty unless the load has sampling ([`crate::Load::sampling`]).
    pub samples: Vec<Sample>,
    /// The statistics of the requests that other services sent to this service.
    pub called: CalledStats,
    /// How many requests this service sent to other services, and how these requests ended.
    pub calls: CallStats,
    /// Number of attempts that repeated a failed attempt of a chain, over the whole run.
    pub retries: u64,
    /// Number of chains whose last allowed attempt failed, over the whole run. The request of such
    /// a chain was answered with an error, unless it already had its response or the chain was
    /// detached.
    pub gave_up: u64,
}

impl ServiceStats {
    /// Statistics without requests. With `binned`, response times will be counted in bins.
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
/// unless stated otherwise. Such a request belongs to the warm-up, or to the additional requests of
/// [`Load::requests`](crate::Load::requests), if the client's request that caused it does.
#[derive(Clone, Debug, Default)]
pub struct CalledStats {
    /// Number of requests from other services that arrived.
    pub arrived: u64,
    /// Number of requests from other services that arrived and belong neither to the warm-up nor to
    /// the additional requests.
    pub counted: u64,
    /// Number of requests from other services that were answered with a response, errors included.
    pub completed: u64,
    /// Number of requests from other services that ended without a response because a message did
    /// not arrive in time or was refused for lack of memory. The callers get no response and time
    /// out as well.
    pub timed_out: u64,
    /// Number of requests from other services that were answered with an error.
    pub errors: u64,
    /// Number of requests from other services after the warm-up that had an SLO.
    pub with_slo: u64,
    /// Number of requests from other services after the warm-up that had an SLO and whose response
    /// was late or missing.
    pub slo_missed: u64,
    /// Response times of the requests from other services after the warm-up.
    pub latency: Samples,
    /// The sum of the response times in [`CalledStats::latency`], broken down by what the time was
    /// spent on ([`Part`]).
    pub spent: BreakdownSum,
}

/// How many requests a service sent to other services, and how these requests ended, over the whole
/// run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallStats {
    /// Number of requests that the service sent to other services.
    pub sent: u64,
    /// Number of requests to other services whose response arrived in time.
    pub answered: u64,
    /// Number of requests to other services whose response did not arrive in time.
    pub timed_out: u64,
}

/// The statistics of one accelerator type, over all its instances. Unless stated otherwise, they
/// cover the measured window: the time from the end of the warm-up to the last counted arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AccelStats {
    /// Utilization of the processing elements in the measured window, 0 to 1.
    pub utilization: f64,
    /// Share of the measured window in which at least one processing element of an instance was
    /// busy, averaged over the instances: 0 to 1. If tenants reserve shares of the instances, the
    /// mean is over the shares, weighted by their numbers of elements.
    pub any_busy: f64,
    /// Utilization of the output dispatchers in the measured window, 0 to 1. The parameter
    /// `dispatcher.busy` states when a dispatcher counts as busy.
    pub dispatcher: f64,
    /// Number of operations that processing elements of this type executed, over the whole run.
    pub operations: u64,
    /// The largest number of entries of one input queue that were in use at once, over the whole
    /// run.
    pub peak_input: usize,
    /// Share of the operations sent to this type, 0 to 1, that were turned away because queues were
    /// full, over the whole run. A core then executed the operation and the rest of the trace.
    pub denied: f64,
}

/// The statistics of one tenant, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantStats {
    /// The ID of the tenant, as in [`crate::Load::tenant`].
    pub tenant: u16,
    /// Number of times that traces of the tenant started or, after a message, continued on
    /// accelerators; arms of forks count too.
    pub started: u64,
    /// The largest number of the tenant's traces, arms of forks included, that ran at once.
    pub peak_running: u64,
    /// Number of times that a trace waited for other traces of the tenant to end (the parameter
    /// `tenant.max_traces`).
    pub waited: u64,
    /// The sum of the times for which traces waited for other traces of the tenant to end.
    pub waiting_time: Time,
    /// Number of traces that have passed the tenant's traffic shaper.
    pub shaped: u64,
    /// The sum of the times that traces spent in the tenant's traffic shaper. Each trace spends at
    /// least the shaper's latency.
    pub shaping_time: Time,
    /// Time for which processing elements were busy with the tenant's traces. It includes waits for
    /// memory and the preparation of elements that other tenants used. 0 for a tenant without a
    /// limit on accelerator time.
    pub accelerator_time: Time,
    /// Accelerator time that counted against the tenant's limit: the time of operations alone. It
    /// includes neither waits for memory nor the preparation of elements that other tenants used. 0
    /// for a tenant without a limit on accelerator time.
    pub charged_time: Time,
}

/// The resource that limits a saturated server, on which requests arrive faster than they are
/// completed.
#[derive(Clone, Debug, PartialEq)]
pub struct Saturation {
    /// The name of the limiting resource. This is the busiest resource whose backlog grew or whose
    /// queue was full; without such a resource, it is the one with the longest queue. But the name
    /// is `manager's queue` if the central manager's queue turned operations away and the resource
    /// was busy for less than half of the window.
    pub cause: String,
    /// Utilization of the limiting resource in the measured window, 0 to 1. For `manager's queue`,
    /// it is 1; for `tenant limit`, it is 1 if the number of waiting traces has grown, else 0.
    pub utilization: f64,
    /// Number of tasks, operations, transfers or traces that waited for the limiting resource at
    /// the beginning and at the end of the measured window.
    pub waiting: (usize, usize),
    /// Number of operations that the limiting resource turned away in the measured window because
    /// queues were full; 0 unless the resource is an accelerator or the manager's queue. Operations
    /// that the manager's queue turned away do not count as turned away by an accelerator.
    pub turned_away: u64,
    /// The name of the resource with the longest queue at the end of the measured window; the empty
    /// string if all queues are empty.
    pub longest_queue: String,
}

/// Sums over a whole simulation, for checks of conservation laws such as Little's law.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of operations of each accelerator type that accelerators executed, indexed by
    /// [`Accel::index`].
    pub on_accelerators: [u64; Accel::MOST],
    /// Number of operations of each accelerator type that cores executed, indexed by
    /// [`Accel::index`].
    pub on_cores: [u64; Accel::MOST],
    /// Time to prepare the element, load, compute and write back, summed over all operations on
    /// processing elements.
    pub element_work: Time,
    /// Busy time of processing elements, summed over all processing elements.
    pub element_busy: Time,
    /// Time for which processing elements with a result waited for an entry of the output queue,
    /// summed over all processing elements.
    pub element_blocked: Time,
    /// Time for which exceptions stopped processing elements, summed over all processing elements.
    pub element_stopped: Time,
    /// Number of exceptions, including page faults, that stopped a processing element.
    pub exceptions: u64,
    /// The integral over time of the number of requests in the system, in requests times
    /// picoseconds.
    pub population_ps: u128,
    /// The sum of the times that all requests were in the system, in picoseconds; for a
    /// request without a response, the time until it ended.
    pub latency_ps: u128,
    /// The sum of the breakdowns of all response times, in picoseconds. In a correct simulation, it
    /// equals `latency_ps` if every request had a response.
    pub spent_ps: u128,
    /// Whether all components of the server were idle at the end of the simulation.
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
    /// Number of bytes that accelerators, A-DMA engines and page-table walks read from the memory
    /// system.
    pub read_bytes: u64,
    /// Number of the bytes in `read_bytes` that came from main memory, since they were neither in
    /// the last-level cache nor in a core's private caches.
    pub missed_bytes: u64,
    /// Number of bytes that accelerators and A-DMA engines wrote to the last-level cache.
    pub written_bytes: u64,
    /// Number of bytes read from and written to main memory, including those that cores read and
    /// those that the last-level cache evicted.
    pub dram_bytes: u64,
    /// Number of lookups of pages in the TLBs (address translation caches) of accelerators.
    pub tlb_lookups: u64,
    /// Number of TLB lookups that missed; each caused a page-table walk.
    pub tlb_misses: u64,
    /// Number of page-table entries that page-table walks read.
    pub table_reads: u64,
    /// Number of operations that a page fault interrupted. They resume once the fault is handled.
    pub page_faults: u64,
    /// Share of the measured window, 0 to 1, in which the busiest link of a mesh carried data; 0
    /// without a mesh.
    pub busiest_link: f64,
    /// Share of the measured window, 0 to 1, in which the busiest link between chiplets carried
    /// data; 0 without such links.
    pub busiest_crossing: f64,
}

impl DataStats {
    /// Returns the share of the bytes read ([`DataStats::read_bytes`]) that came from the
    /// last-level cache or a core's private caches, 0 to 1; `None` if nothing was read.
    pub fn llc_hit_ratio(&self) -> Option<f64> {
        let found = self.read_bytes - self.missed_bytes;
        (self.read_bytes > 0).then(|| found as f64 / self.read_bytes as f64)
    }
}

/// The result of simulating one server: the statistics of its services, hardware and tenants.
#[derive(Clone, Debug)]
pub struct SimulationResult {
    /// The statistics of each service, in the order of the plan's services. They are empty for
    /// services that are not on the server.
    pub services: Vec<ServiceStats>,
    /// The statistics of each accelerator type, indexed by [`Accel::index`].
    pub accelerators: [AccelStats; Accel::MOST],
    /// Utilization of the cores in the measured window, 0 to 1; 1 if cores poll flags continuously.
    pub core_utilization: f64,
    /// Utilization of the central hardware manager in the measured window, 0 to 1; 0 without a
    /// manager.
    pub manager_utilization: f64,
    /// Utilization of the A-DMA engines in the measured window, 0 to 1.
    pub dma_utilization: f64,
    /// Mean number of instructions that output dispatchers executed for an operation that they
    /// handled, over the whole run; `None` if they handled none.
    pub dispatcher_instructions: Option<f64>,
    /// The statistics of each tenant, in ascending order of the tenants' IDs.
    pub tenants: Vec<TenantStats>,
    /// The statistics of data movement: networks, caches, memory, address translation.
    pub data: DataStats,
    /// The time for which orchestration occupied hardware, over the whole run.
    pub orchestration: Orchestration,
    /// The resource that limits the server; `None` unless the server is saturated.
    ///
    /// A server is saturated if something waits for one of its resources at the end of the measured
    /// window, or full queues turned operations away in the window, and three numbers are exceeded
    /// at its end. Requests that use resources of the server or wait for them must be more than
    /// 100, and more than two for each core. Together with their callers (requests of this server
    /// that wait for them), they must be more than 5 % of the requests whose response times count.
    /// Requests that wait only for remote sides or for their next attempt, and requests on their
    /// way from their clients, do not count.
    pub saturated: Option<Saturation>,
    /// Length of the measured window, which begins at the end of the warm-up and ends at the last
    /// counted arrival.
    pub window: Time,
    /// Number of simulated events, over the whole run.
    pub events: u64,
    /// Sums over the whole run, for checks of conservation laws.
    pub totals: Totals,
    /// The utilization of the server in successive intervals of time, from the first arrival to
    /// about the last; empty if [`crate::Watch::use_intervals`] is below 2.
    pub used: Vec<Used>,
}

/// The utilization of a server's hardware in one interval of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// The beginning of the interval, since the start of the simulation.
    pub from: Time,
    /// The end of the interval, since the start of the simulation.
    pub until: Time,
    /// Utilization of the cores in the interval, 0 to 1; 1 if cores poll flags continuously.
    pub cores: f64,
    /// Utilization of the central hardware manager in the interval, 0 to 1; 0 without a manager.
    pub manager: f64,
    /// Utilization of the A-DMA engines in the interval, 0 to 1.
    pub dma: f64,
    /// Utilization of each accelerator type's processing elements in the interval, 0 to 1, indexed
    /// by [`Accel::index`].
    pub accelerators: [f64; Accel::MOST],
}

/// One accelerator operation of one request, as [`crate::simulate_logged`] lists it. An accelerator
/// or a core has executed the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operated {
    /// The simulated time at which the operation ended or, if a core executed the operation, at
    /// which the trace was given to the core.
    pub at: Time,
    /// Index of the request's service among the services of the plan.
    pub service: usize,
    /// Sequence number of the request within its service, from 0. Requests that services send to
    /// each other have a random ID with the highest bit set instead.
    pub request: u64,
    /// Index of the operation's phase in the service's path.
    pub phase: usize,
    /// Index of the operation's chain within the phase.
    pub chain: usize,
    /// The address of the first word of the operation's trace.
    pub trace: AtmAddress,
    /// The accelerator type of the operation, even if a core executed it.
    pub accel: Accel,
    /// Sizes of the payload before and after the operation.
    pub sizes: [Bytes; 2],
    /// Whether a core executed the operation.
    pub on_core: bool,
}
