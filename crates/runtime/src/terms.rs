//! Terms of a run where its steps queue.

use std::time::Instant;

/// The urgency of a run, for queues that order by priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// After everything else.
    Low,
    /// The default.
    #[default]
    Normal,
    /// Before everything else.
    High,
}

/// Tenant, priority and deadline of a run: how its steps are treated where they queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Whose run it is.
    pub tenant: u16,
    /// How urgent it is, under [`crate::Policy::Priority`].
    pub priority: Priority,
    /// The deadline of the run. It is soft: a step that misses it is counted, and done all the same.
    pub due: Option<Instant>,
}
