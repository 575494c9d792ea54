//! The fixed properties of an orchestrator.

use accelflow_units::Time;

use super::decision::ManagerVisit;
use crate::config::{Config, DispatchPolicy};

/// The properties of an orchestrator that do not change during a run, such as where operations wait
/// and how cores learn of events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Properties {
    /// Whether the system has accelerators. If `false`, every operation runs on a core, and the
    /// other properties have no effect: such a core starts nothing, polls nothing and is told of
    /// nothing.
    pub accelerated: bool,
    /// Whether accelerators keep traces while these wait or fork. If `true`, a trace that waits for
    /// a message occupies a queue entry of the TCP accelerator, and output dispatchers start the
    /// arms of forks. If `false`, a waiting trace needs no entry until the message arrives, and the
    /// request's core starts the arms, each for the time `start`. The parameter `tcp.parking` can
    /// override this property for waits.
    pub parks: bool,
    /// Where operations wait for a processing element. With [`Queueing::Central`], every decision
    /// must include a task of the manager ([`Decision::manager`](super::Decision::manager));
    /// otherwise the manager does not learn that an element is free.
    pub queueing: Queueing,
    /// The order in which input dispatchers load the ready entries of their queues.
    pub policy: DispatchPolicy,
    /// Core time to start one chain of traces; the core is charged again for each repeated attempt.
    pub start: Time,
    /// The manager's task at the start of each chain that a core starts. With
    /// [`Queueing::Central`], the manager has the same task for each message that arrives, and with
    /// the parameter `relief.resubmission` at `visit`, for each rest of a chain that a core
    /// submits. `None` if the manager is not involved.
    pub submission: Option<ManagerVisit>,
    /// How a core learns that an accelerator needs a decision of the core.
    pub requests: CoreRequests,
    /// How a core learns that a trace has ended.
    pub notification: Notification,
    /// Core time to notice that a trace has ended, before the context switch to the thread of the
    /// request.
    pub notified: Time,
}

impl Properties {
    /// Creates the properties of a system with accelerators and zero costs. Each accelerator has an
    /// input queue, ordered by the parameter `scheduling.policy`. There is no manager. Accelerators
    /// ask cores for decisions by interrupts, and report the ends of traces by flags. Traces that
    /// wait for messages occupy no queue entry.
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

    /// The properties of a system without accelerators, whatever an orchestrator says of them.
    pub(crate) fn software(config: &Config) -> Properties {
        Properties {
            accelerated: false,
            // No core waits for a flag.
            notification: Notification::Found,
            ..Properties::new(config)
        }
    }
}

/// Where operations wait for a processing element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queueing {
    /// Operations wait in the input queue of their accelerator, for one of its processing elements.
    #[default]
    PerAccelerator,
    /// Operations of all accelerators wait in one queue of the central manager, which assigns
    /// operations to processing elements.
    Central,
}

/// How a core learns that an accelerator needs a decision of the core, such as the outcome of a
/// branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoreRequests {
    /// The accelerator interrupts the core.
    #[default]
    Interrupt,
    /// The core finds a task in its run queue, without an interrupt.
    RunQueue,
    /// The core polls a queue in memory and finds an entry. Queues in memory then also report the
    /// ends of traces, and carry operations from cores to accelerators.
    SoftwareQueue,
}

/// How a core learns that a trace (a sequence of accelerator operations) has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notification {
    /// The core checks a flag in memory; the parameter `core.notification` states when.
    #[default]
    Flag,
    /// The accelerator interrupts the core.
    Interrupt,
    /// The core finds a task in its run queue, without an interrupt.
    Found,
}
