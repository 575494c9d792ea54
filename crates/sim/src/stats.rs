//! What a run is measured by.

use std::collections::BTreeMap;

use accelflow_kernel::Samples;
use accelflow_trace::{Accel, AtmAddress};
use accelflow_units::Time;

/// Why an operation that belonged on an accelerator ran on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fallback {
    /// The core found the first accelerator's input queue full.
    EnqueueDenied,
    /// A dispatcher found the next accelerator's queue and overflow area full.
    OverflowFull,
}

impl Fallback {
    /// All reasons.
    pub const ALL: [Fallback; 2] = [Fallback::EnqueueDenied, Fallback::OverflowFull];

    /// The reason in results.
    pub const fn name(self) -> &'static str {
        match self {
            Fallback::EnqueueDenied => "enqueue_denied",
            Fallback::OverflowFull => "overflow_full",
        }
    }
}

/// What a service has experienced.
#[derive(Clone, Debug, Default)]
pub struct ServiceStats {
    /// Requests that arrived, all of them.
    pub arrived: u64,
    /// Requests that ended, all of them.
    pub completed: u64,
    /// Response times of the requests after the warm-up.
    pub latency: Samples,
    /// When the last request after the warm-up arrived, and the first.
    pub measured: Option<(Time, Time)>,
    /// Requests that ended between the first and the last arrival after the warm-up.
    pub completed_in_window: u64,
    /// Fallbacks, by reason.
    pub fallbacks: BTreeMap<Fallback, u64>,
}

/// What an accelerator type has done in the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AccelStats {
    /// Share of the elements' time that they were busy.
    pub utilization: f64,
    /// Share of time with any element busy.
    pub any_busy: f64,
    /// Operations executed in the whole run.
    pub operations: u64,
    /// The most input entries ever taken.
    pub peak_input: usize,
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
    /// The integral of the number of requests in the system over time, in picoseconds.
    pub population_ps: u128,
    /// The sum of all response times, in picoseconds.
    pub latency_ps: u128,
    /// Whether everything was idle at the end.
    pub drained: bool,
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// By service, in the order of the plan.
    pub services: Vec<ServiceStats>,
    /// By [`Accel::index`].
    pub accelerators: [AccelStats; Accel::COUNT],
    /// Share of the cores' time that they were busy.
    pub core_utilization: f64,
    /// Share of the manager's time that it was occupied.
    pub manager_utilization: f64,
    /// Share of the A-DMA engines' time that they were busy.
    pub dma_utilization: f64,
    /// Mean instructions of an output dispatcher operation, if there were any.
    pub dispatcher_instructions: Option<f64>,
    /// The longest queue at the end of the arrivals, if requests arrived faster than they ended.
    pub saturated: Option<String>,
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
    /// Whether a core executed it.
    pub on_core: bool,
}
