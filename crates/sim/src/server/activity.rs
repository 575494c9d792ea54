//! The activities of a simulated server's hardware, which an observer may follow.

use accelflow_trace::{Accel, AtmAddress};
use accelflow_units::Time;

use crate::stats::Part;

/// The hardware of a simulated server, as an [`Observer`](crate::Observer) sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerShape {
    /// The ID of the simulated server ([`ServicePlan::server`](crate::plan::ServicePlan::server)).
    pub server: usize,
    /// Number of cores.
    pub cores: usize,
    /// The accelerator instances, or the tenants' shares of these instances, in the order of type,
    /// instance and share.
    pub units: Vec<UnitShape>,
    /// Number of A-DMA engines.
    pub dma_engines: usize,
    /// The names of the links of the on-chip network, indexed by [`HardwareEvent::Carries`].
    pub links: Vec<String>,
    /// Whether a central manager keeps the operations of all accelerators in one queue.
    pub central: bool,
}

/// An accelerator instance, or a tenant's share of an instance, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitShape {
    /// The type and the indices of the instance or share.
    pub unit: UnitName,
    /// Number of processing elements of the instance or share.
    pub elements: u64,
    /// Whether this unit stands for the instance's output dispatcher, which all shares of an
    /// instance have in common: true for an unshared instance and for share 0.
    /// [`HardwareEvent::Dispatches`] has the name of this unit.
    pub whole: bool,
}

/// The identity of an accelerator instance, or of a tenant's share of an instance
/// ([`crate::config::Isolation::Reserved`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitName {
    /// The type of the accelerator.
    pub accel: Accel,
    /// The index of the instance within its type.
    pub instance: usize,
    /// The index of the tenant's share; 0 if tenants share the instance.
    pub share: usize,
}

/// An activity of the hardware of a simulated server, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The ID of the simulated server ([`ServicePlan::server`](crate::plan::ServicePlan::server)).
    pub server: usize,
    /// The simulated time at which the activity was reported.
    pub at: Time,
    /// The execution for which the hardware was active; `None` if there are several or none is
    /// known.
    pub of: Option<Execution>,
    /// What the hardware did.
    pub what: HardwareEvent,
}

/// The identity of what hardware works for: a request, and its running trace or application logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Execution {
    /// Index of the request's service.
    pub service: usize,
    /// Sequence number of the request within its service, from 0. Requests that services send to
    /// each other have a random ID with the highest bit set instead.
    pub request: u64,
    /// ID of the running trace, unique among the traces that run at the same time on the server;
    /// `None` for application logic.
    pub job: Option<u32>,
    /// The address of the running trace's first word; `None` for application logic.
    pub trace: Option<AtmAddress>,
}

/// The kinds of activities of a simulated server's hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HardwareEvent {
    /// A request has spent a stretch of its time on one [`Part`] of its breakdown.
    Spends {
        /// What the request's stretch of time was spent on.
        part: Part,
        /// When the stretch began.
        from: Time,
        /// When the stretch ended: at [`Activity::at`], unless other stretches of the request have
        /// followed.
        until: Time,
        /// What the request waited for, if `part` is [`Part::Queueing`] and the wait is known; else
        /// `None`.
        wait: Option<Wait>,
        /// Index of the service whose answer the request awaited; `None` unless `part` is
        /// [`Part::Remote`] and the called service is simulated.
        callee: Option<usize>,
        /// Index of the core that handles the request.
        core: usize,
        /// The accelerator at which the request's trace is; `None` if the request is at a core.
        unit: Option<UnitName>,
    },
    /// A core starts or resumes a task, or becomes idle.
    Runs {
        /// Index of the core.
        core: usize,
        /// What the core works on from now on; `None` if the core is idle.
        work: Option<CoreWork>,
    },
    /// A processing element of this accelerator begins an operation.
    Operates(UnitName),
    /// A processing element of this accelerator becomes free.
    Freed(UnitName),
    /// The output dispatcher of this accelerator instance starts to handle an entry or, if
    /// [`Activity::of`] is `None`, becomes idle. The share is 0, since all shares of an instance
    /// have one output dispatcher.
    Dispatches(UnitName),
    /// An A-DMA engine starts a transfer that will end at this time.
    Moves(Time),
    /// The central manager accepts a task.
    Manages {
        /// The time at which the manager's task begins.
        from: Time,
        /// The time at which the manager's task ends.
        until: Time,
    },
    /// A link of the on-chip network is reserved for a transfer.
    Carries {
        /// Index of the link in [`ServerShape::links`].
        link: usize,
        /// The time at which the transfer on the link begins.
        from: Time,
        /// The time at which the transfer on the link ends.
        until: Time,
    },
    /// The length of this queue has changed to this number of entries.
    Length(Queue, usize),
}

/// What a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// The request waits for a processing element, in an input queue.
    Input,
    /// The request waits for an entry of an input queue, in the overflow area of that queue.
    Overflow,
    /// The request waits for an entry of an output queue, in the processing element that has the
    /// result.
    Output,
    /// The request waits for a processing element, in the central manager's queue.
    Central,
    /// The request waits for an entry of the central manager's queue, in the overflow area of that
    /// queue.
    CentralOverflow,
    /// The request waits for the traffic shaper of its tenant, or for other traces of the tenant to
    /// end.
    Tenant,
    /// The request waits for its core, which has other work.
    Core,
}

/// What a core works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoreWork {
    /// Application logic, and the start of the chains of the next phase.
    Application,
    /// A decision that an accelerator cannot make, such as a branch in a system without
    /// dispatchers.
    Decision,
    /// The start of a trace: a repeated Enqueue, or another attempt of a failed chain.
    Start,
    /// The operating system's handling of an accelerator's exception.
    Exception,
    /// The rest of a trace, executed in software.
    Software,
    /// A notification that a trace has ended, or an interrupt that nothing waits for.
    Notice,
    /// A poll of the core's software queue in memory (Cohort).
    Poll,
}

impl CoreWork {
    /// Returns the name of this kind of work in reports.
    pub const fn name(self) -> &'static str {
        match self {
            CoreWork::Application => "application",
            CoreWork::Decision => "decision",
            CoreWork::Start => "start of a trace",
            CoreWork::Exception => "exception",
            CoreWork::Software => "trace in software",
            CoreWork::Notice => "notice",
            CoreWork::Poll => "poll",
        }
    }
}

/// The identity of a queue of a simulated server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Queue {
    /// The operations that wait for a processing element of this accelerator, in its input queue
    /// and overflow area.
    Input(UnitName),
    /// The entries of this accelerator's output queue that wait for its output dispatcher.
    Dispatcher(UnitName),
    /// The tasks that wait for the core with this index.
    Core(usize),
    /// The transfers that wait for an A-DMA engine.
    Dma,
    /// The operations of this accelerator type that wait in the central manager's queue.
    Central(Accel),
    /// The tasks that wait for the central manager.
    Manager,
}
