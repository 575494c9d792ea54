//! The tenant, priority and deadline of a run of a trace.

use std::time::Instant;

/// The urgency of a run of a trace. Accelerators' queues that are served by priority use it.
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

/// The tenant, priority and deadline of a run of a trace. They apply to every accelerator call of
/// the run, for example in the order in which a queue is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The ID of the tenant (customer) that the run belongs to.
    pub tenant: u16,
    /// The urgency of the run. It matters only under
    /// [`DispatchPolicy::Priority`](crate::DispatchPolicy::Priority).
    pub priority: Priority,
    /// The deadline of the run; `None` for no deadline. The ensemble derives a deadline for each
    /// step from it. A step that ends after the step's deadline is counted, not dropped.
    pub due: Option<Instant>,
}
