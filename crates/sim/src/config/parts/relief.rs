//! RELIEF's central hardware manager.

use accelflow_units::Time;

/// RELIEF's central hardware manager.
#[derive(Clone, Debug, PartialEq)]
pub struct ReliefConfig {
    /// Time from a completion to the start of the next operation, at an idle manager.
    pub latency: Time,
    /// Time for which a completion occupies the manager.
    pub occupancy: Time,
    /// Entries of the central queue.
    pub queue_entries: usize,
    /// Deadline of a request, as a multiple of its service's unloaded execution time.
    pub deadline: f64,
    /// Whether a core or the manager does the work that accelerators cannot do.
    pub fallback: FallbackTo,
}

/// The component that resolves branches, transforms payloads and moves large payloads under a
/// hardware manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackTo {
    /// The request's core, which the manager interrupts.
    Core,
    /// The manager.
    Manager,
}
