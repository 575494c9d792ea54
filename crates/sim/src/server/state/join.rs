//! Joins with arms on their way.

use accelflow_units::Bytes;

use super::ids::JobId;

/// The place of an execution among the arms of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JoinArm {
    /// Index of the join.
    pub join: u32,
    /// Index of the arm, in the order of the trace.
    pub arm: u8,
}

/// A join whose arms have not all arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Join {
    /// The place of the joined execution in the enclosing join; `None` without one.
    pub outer: Option<JoinArm>,
    /// Number of arms of the join.
    pub arms: u8,
    /// Number of arms whose last operation before the join has a decision of the orchestrator.
    pub decided: u8,
    /// The first arm to arrive, which continues when all arms have arrived; `None` before it
    /// arrives.
    pub lead: Option<JobId>,
    /// Where the arms meet; valid once the first arm has arrived.
    pub at: Meeting,
    /// Number of bytes of the arms' data in the queue entry; the rest is in memory.
    pub filled: Bytes,
}

/// Where the arms of a join meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// In an input entry, or in one of the central queue.
    Entry,
    /// In the overflow area of either.
    Overflow,
    /// At the core, which goes on in software.
    Core,
}
