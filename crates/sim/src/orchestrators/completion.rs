//! Completions of operations.

use accelflow_trace::Accel;
use accelflow_units::Bytes;

use crate::config::Config;

/// What an [`Orchestrator`](super::Orchestrator) decides on: an operation has completed, and its
/// trace has a next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The accelerator whose operation has completed.
    pub from: Accel,
    /// The next step of the trace.
    pub next: Next,
    /// Number of branches that the trace resolves before the next step.
    pub branches: u8,
    /// Number of words read from the trace memory before the next step.
    pub loads: u8,
    /// Number of format transformations of the payload before the next step.
    pub transforms: u8,
    /// Size of the payload.
    pub size: Bytes,
    /// Whether this completion starts the operation after a join of parallel arms.
    pub arm: Arm,
}

impl Completion {
    /// Whether the payload is larger than a queue entry can hold, so that the rest is in memory.
    pub fn is_large(&self, config: &Config) -> bool {
        self.size > config.accelerator.inline
    }
}

/// Whether a completion starts the operation after the next join of parallel arms of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arm {
    /// The trace has no join before its next step.
    #[default]
    None,
    /// The completion does not start the next operation: other arms of the join have not completed.
    Waits,
    /// The completion starts the next operation: it is the last arm of the join.
    Last,
}

/// The next step of a trace after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The trace continues at this accelerator.
    Forward(Accel),
    /// The trace waits for a message, and continues at this TCP accelerator when it arrives.
    Park,
    /// The trace ends, and its core is notified.
    End,
}
