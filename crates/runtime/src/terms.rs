//! Tenant, priority and deadline of a run.

use std::time::Instant;

/// The urgency of a run of a trace, for queues that order by priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Served after everything else.
    Low,
    /// Served between the others; the default.
    #[default]
    Normal,
    /// Served before everything else.
    High,
}

/// The tenant, priority and deadline of a run of a trace. They apply to all its steps in queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The tenant that the run belongs to.
    pub tenant: u16,
    /// The urgency of the run, under [`crate::DispatchPolicy::Priority`].
    pub priority: Priority,
    /// The deadline of the run. It is soft: a step that misses it is counted and still done.
    pub due: Option<Instant>,
}
