//! Completions of operations.

use accelflow_trace::Accel;
use accelflow_units::Bytes;

use crate::config::Config;

/// The completion of an operation, and the trace's next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The accelerator that has completed.
    pub from: Accel,
    /// The next step of the trace.
    pub next: Next,
    /// Number of branches resolved.
    pub branches: u8,
    /// Number of words read from the trace memory.
    pub loads: u8,
    /// Number of transformations of the payload before the next operation.
    pub transforms: u8,
    /// Size of the payload.
    pub size: Bytes,
    /// Effect on the join that comes next, if there is one.
    pub arm: Arm,
}

impl Completion {
    /// Whether the payload is larger than the inline part of a queue entry.
    pub fn is_large(&self, config: &Config) -> bool {
        self.size > config.accelerator.inline
    }
}

/// The effect of a completion on the join that comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arm {
    /// No join comes next.
    #[default]
    None,
    /// Other arms are missing, so this completion does not start the next operation.
    Waits,
    /// This is the last arm, so this completion starts the next operation.
    Last,
}

/// The next step of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Continue at this accelerator.
    Forward(Accel),
    /// Continue at this TCP accelerator when a message arrives.
    Park,
    /// End the trace and notify its core.
    End,
}
