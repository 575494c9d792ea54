//! Joins of parallel arms that have not all arrived.

use accelflow_units::Bytes;

use super::ids::JobId;

/// The place of an execution among the arms of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JoinArm {
    /// Index of the join among those whose arms have not all arrived.
    pub join: u32,
    /// Index of the arm in the order of the trace, from 0.
    pub arm: u8,
}

/// A join whose arms have not all arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Join {
    /// The place, among the arms of an enclosing join, of the execution that continues after this
    /// join; `None` if no join encloses this one.
    pub outer: Option<JoinArm>,
    /// Number of arms of the join.
    pub arms: u8,
    /// Number of arms for which the orchestrator has decided on the last operation before the join.
    pub decided: u8,
    /// The arm that arrived first, which continues when all arms have arrived; `None` if no arm has
    /// arrived.
    pub lead: Option<JobId>,
    /// The place where the arms meet; valid once the first arm has arrived.
    pub at: Meeting,
    /// Number of bytes of the arms' data that the queue entry holds; the other bytes are in memory.
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
