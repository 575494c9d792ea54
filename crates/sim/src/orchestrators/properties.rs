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
    /// Whether a trace that waits for a message occupies a queue entry of the TCP accelerator.
    /// Otherwise it needs no entry until the message arrives.
    pub parks: bool,
    /// Where operations wait for a processing element. With [`Queueing::Central`] every decision
    /// must include a visit to the manager, which otherwise does not learn that an element is free.
    pub queueing: Queueing,
    /// The order in which input dispatchers load the ready entries of their queues.
    pub policy: DispatchPolicy,
    /// Core time to start a chain of traces.
    pub start: Time,
    /// The manager's work before a chain from a core starts and, with [`Queueing::Central`], before
    /// a message gets a processing element; `None` if the manager is not involved.
    pub submission: Option<ManagerVisit>,
    /// How a core learns that an accelerator needs its decision.
    pub requests: CoreRequests,
    /// How a core learns that a trace has ended.
    pub notification: Notification,
    /// Core time to see that a trace has ended, before the switch to the request's thread.
    pub notified: Time,
}

impl Properties {
    /// Creates properties with zero costs: one queue per accelerator in the order of the parameter
    /// `scheduling.policy`, no manager, interrupts for decisions of cores, and a flag for the end
    /// of a trace.
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
    /// Operations wait in the input queue of their accelerator, from which its processing elements
    /// take them.
    #[default]
    PerAccelerator,
    /// Operations of all accelerators wait in one queue at the central manager, which assigns them
    /// to processing elements.
    Central,
}

/// How a core learns that an accelerator needs its decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoreRequests {
    /// The core is interrupted.
    #[default]
    Interrupt,
    /// The core finds a task in its run queue.
    RunQueue,
    /// The core polls a queue in memory and finds an entry. Such queues also report ends of traces,
    /// and carry operations from cores to accelerators.
    SoftwareQueue,
}

/// How a core learns that a trace has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notification {
    /// The core checks a flag in memory, as often as the parameter `core.notification` states.
    #[default]
    Flag,
    /// The core is interrupted.
    Interrupt,
    /// The core finds a task in its run queue.
    Found,
}
