//! The fixed properties of an orchestrator.

use accelflow_units::Time;

use super::decision::ManagerVisit;
use crate::config::{Config, DispatchPolicy};

/// The properties of an orchestrator that do not change during a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Properties {
    /// Whether there are accelerators. Without them every operation runs on a core, and the other
    /// properties have no effect.
    pub accelerated: bool,
    /// Whether a trace that waits for a message stays in a queue entry of an accelerator. Otherwise
    /// it needs no entry until the message arrives.
    pub parks: bool,
    /// Where operations wait. With [`Queueing::Central`] every decision must visit the manager,
    /// which otherwise does not learn that a processing element is free.
    pub queueing: Queueing,
    /// The order in which input dispatchers load ready entries.
    pub policy: DispatchPolicy,
    /// Core time to start a chain of traces.
    pub start: Time,
    /// The visit to the manager before a submitted chain starts and, with [`Queueing::Central`],
    /// before a processing element is assigned to a message.
    pub submission: Option<ManagerVisit>,
    /// How a core learns that an accelerator needs a decision.
    pub requests: CoreRequests,
    /// How a core learns that a trace has ended.
    pub notification: Notification,
    /// Core time to see that a trace has ended, before the switch to the request's thread.
    pub notified: Time,
}

impl Properties {
    /// Creates properties with zero costs: one queue per accelerator in the order of
    /// `scheduling.policy`, no manager, interrupts for requests to cores, and a flag for the end of
    /// a trace.
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
    /// By an entry in a queue in memory that the core polls. Ends of traces, and operations that
    /// the core passes on, also use such queues.
    SoftwareQueue,
}

/// How a core learns that a trace has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notification {
    /// By a flag in memory, which it checks as `core.notification` states.
    #[default]
    Flag,
    /// By an interrupt.
    Interrupt,
    /// By a task in its run queue.
    Found,
}
