//! Joins with arms on their way.

use accelflow_units::Bytes;

use super::ids::JobId;

/// The place of an execution among the arms of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JoinArm {
    /// Index of the join.
    pub join: u32,
    /// Number of the arm, in the order of the trace.
    pub arm: u8,
}

/// A join whose arms have not all arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Join {
    /// The place in the enclosing join.
    pub outer: Option<JoinArm>,
    /// Number of arms.
    pub arms: u8,
    /// Number of arms whose last operation before the join has been decided on.
    pub decided: u8,
    /// The first arm to arrive, which goes on when all have arrived.
    pub lead: Option<JobId>,
    /// Where the arms meet, once the first has arrived.
    pub at: Meeting,
    /// Bytes in the queue entry; the rest is in memory.
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
