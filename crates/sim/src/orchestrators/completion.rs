//! The completion of an operation. An orchestrator decides which hardware or software handles it.

use accelflow_trace::Accel;
use accelflow_units::Bytes;

use crate::config::Config;

/// The end of an operation, and the next step of its trace (a sequence of operations). An
/// [`Orchestrator`](super::Orchestrator) decides which hardware or software handles the completion
/// and starts the next step. If the trace forks before the next step, the counts include the
/// branches, words and transformations of the forked arms, up to the first operation of each.
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
    /// Size of the payload after the operation.
    pub size: Bytes,
    /// Whether the operation ends an arm of a join, and if so, whether the other arms have already
    /// completed.
    pub arm: Arm,
}

impl Completion {
    /// Returns whether the payload is larger than a queue entry can hold, so that a part of the
    /// payload is in memory.
    pub fn is_large(&self, config: &Config) -> bool {
        self.size > config.accelerator.inline
    }
}

/// The relation of a completed operation to a join, the point at which a trace waits for all of its
/// parallel arms: whether the operation ends an arm and, if so, whether other arms are still
/// running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arm {
    /// The operation does not end an arm: the trace reaches no join before its next step.
    #[default]
    None,
    /// The completion does not start the operation after the join, because other arms have not
    /// completed.
    Waits,
    /// The completion starts the operation after the join, because all other arms have completed.
    Last,
}

/// The next step of a trace after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The trace continues at this accelerator.
    Forward(Accel),
    /// The trace waits for a message, and continues at a TCP accelerator when the message arrives.
    Park,
    /// The trace ends, and the core of the request is notified.
    End,
}
