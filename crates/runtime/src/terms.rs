//! The tenant, priority and deadline of a run of a trace.

use std::time::Instant;

/// The urgency of a run of a trace, for queues that order their entries by priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Served after all other runs.
    Low,
    /// Served after [`Priority::High`] and before [`Priority::Low`]; the default.
    #[default]
    Normal,
    /// Served before all other runs.
    High,
}

/// The tenant, priority and deadline of a run of a trace. Queues apply them to every step of the
/// run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The ID of the tenant (customer) that the run belongs to.
    pub tenant: u16,
    /// The urgency of the run. It matters only under
    /// [`DispatchPolicy::Priority`](crate::DispatchPolicy::Priority).
    pub priority: Priority,
    /// The deadline of the run; `None` for no deadline. A step that ends after its deadline is
    /// counted, not dropped.
    pub due: Option<Instant>,
}
