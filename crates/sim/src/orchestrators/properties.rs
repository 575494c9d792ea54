//! The fixed properties of an orchestrator.

use accelflow_units::Time;

use super::decision::ManagerVisit;
use crate::config::{Config, Policy};

/// Everything about an orchestrator that does not change during a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Properties {
    /// Whether there are accelerators. Without them every operation runs on a core, and the other
    /// properties have no effect.
    pub accelerated: bool,
    /// Whether the accelerators keep a trace that waits for a message. Otherwise the trace takes
    /// no queue entry until the message arrives.
    pub parks: bool,
    /// Where operations wait. With [`Queueing::Central`] every decision must visit the manager,
    /// which otherwise never learns that a processing element is free.
    pub queueing: Queueing,
    /// The order in which input dispatchers load ready entries.
    pub policy: Policy,
    /// Core time to start a chain of traces.
    pub start: Time,
    /// The visit to the manager before a submitted chain starts and, with [`Queueing::Central`],
    /// before a message is given a processing element.
    pub submission: Option<ManagerVisit>,
    /// How a core learns that an accelerator needs a decision.
    pub requests: CoreRequests,
    /// How a core learns that a trace has ended.
    pub notification: Notification,
    /// Core time to see that a trace has ended, before the switch to the request's thread.
    pub notified: Time,
}

impl Properties {
    /// Accelerators with a queue each, in the order of `scheduling.policy`, without a manager;
    /// requests to cores interrupt, and the end of a trace sets a flag. Costs are zero.
    pub fn new(config: &Config) -> Properties {
        Properties {
            accelerated: true,
            parks: false,
            queueing: Queueing::PerAccelerator,
            policy: config.scheduling.policy,
            start: Time::ZERO,
            submission: None,
            requests: CoreRequests::Interrupt,
            notification: Notification::Flag,
            notified: Time::ZERO,
        }
    }
}

/// Where operations wait for a processing element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queueing {
    /// Each accelerator has an input queue, from which its elements take operations.
    #[default]
    PerAccelerator,
    /// All accelerators share one queue at the manager, which assigns operations to elements.
    Central,
}

/// How a core learns that an accelerator needs a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoreRequests {
    /// By an interrupt.
    #[default]
    Interrupt,
    /// By a task in its run queue.
    RunQueue,
    /// By an entry in a queue in memory that the core polls. Ends of traces and operations that
    /// the core hands on pass through such queues too.
    SoftwareQueue,
}

/// How a core learns that a trace has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notification {
    /// By a flag in memory, which it checks as `core.notification` says.
    #[default]
    Flag,
    /// By an interrupt.
    Interrupt,
    /// By a task in its run queue.
    Found,
}
