//! The activities of a server's hardware, for observers.

use accelflow_trace::{Accel, AtmAddress};
use accelflow_units::Time;

use crate::stats::Part;

/// The hardware of a simulated server, as an [`Observer`](crate::Observer) sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerShape {
    /// The index of the simulated server, from 0.
    pub server: usize,
    /// Number of cores.
    pub cores: usize,
    /// The accelerator instances or tenants' shares of them, in the order of type, instance and
    /// share.
    pub units: Vec<UnitShape>,
    /// Number of A-DMA engines.
    pub dma_engines: usize,
    /// The names of the links of the on-chip network; [`HardwareEvent::Carries`] gives an index.
    pub links: Vec<String>,
    /// Whether a central manager keeps the operations of all accelerators in one queue.
    pub central: bool,
}

/// The size of an accelerator instance, or of a tenant's share of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitShape {
    /// The identity of the instance or share.
    pub unit: UnitName,
    /// Number of processing elements.
    pub elements: u64,
    /// Whether it is the first share of the instance, to which the instance's output dispatcher is
    /// counted.
    pub whole: bool,
}

/// Identifies an accelerator instance, or a tenant's share of one ([`crate::config::Isolation::Reserved`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitName {
    /// The type of the accelerator.
    pub accel: Accel,
    /// The index of the instance within its type.
    pub instance: usize,
    /// The index of the tenant's share; 0 if tenants share the instance.
    pub share: usize,
}

/// Something that the hardware of a simulated server did, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The index of the server, from 0.
    pub server: usize,
    /// The simulated time at which it happened.
    pub at: Time,
    /// The execution for which it happened. `None` if there are several or it is unknown.
    pub of: Option<Execution>,
    /// What the hardware did.
    pub what: HardwareEvent,
}

/// Identifies what hardware works for: a request, and the trace or application logic of it that
/// runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Execution {
    /// Index of the request's service.
    pub service: usize,
    /// Number of the request within the service. Requests that services send to each other have
    /// the highest bit set.
    pub request: u64,
    /// A number that distinguishes traces which run at the same time on one server; `None` for
    /// application logic.
    pub job: Option<u32>,
    /// The trace, by the address of its first word; `None` for application logic.
    pub trace: Option<AtmAddress>,
}

/// What the hardware of a simulated server did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HardwareEvent {
    /// Part of a request's time has passed.
    Spends {
        /// What the request's time was spent on.
        part: Part,
        /// When the request began to spend this time.
        from: Time,
        /// The end of the time: now, unless other time of the request has been spent since.
        until: Time,
        /// What the request waited for, if `part` is [`Part::Queueing`].
        wait: Option<Wait>,
        /// Index of the core that handles the request.
        core: usize,
        /// The accelerator at which the request's trace is; `None` if it is at a core.
        unit: Option<UnitName>,
    },
    /// A core starts or resumes a task, or becomes idle.
    Runs {
        /// Index of the core.
        core: usize,
        /// What the core works on; `None` if it is idle.
        work: Option<CoreWork>,
    },
    /// A processing element of this accelerator begins an operation.
    Operates(UnitName),
    /// A processing element of this accelerator becomes free.
    Freed(UnitName),
    /// The output dispatcher of this accelerator starts to handle an entry; it becomes idle if
    /// [`Activity::of`] is `None`.
    Dispatches(UnitName),
    /// An A-DMA engine starts a transfer, which ends at this time.
    Moves(Time),
    /// The central manager is busy with a task.
    Manages {
        /// The time at which the manager's task begins.
        from: Time,
        /// The time at which the manager's task ends.
        until: Time,
    },
    /// A link of the on-chip network carries data.
    Carries {
        /// Index of the link in [`ServerShape::links`].
        link: usize,
        /// The beginning of the transfer on this link.
        from: Time,
        /// The end of the transfer on this link.
        until: Time,
    },
    /// The length of a queue has changed to this number of entries.
    Length(Queue, usize),
}

/// What a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// It waits for a processing element, in an input queue.
    Input,
    /// It waits for an entry of an input queue, in the overflow area of that queue.
    Overflow,
    /// It waits for an entry of an output queue, in the processing element that has its result.
    Output,
    /// It waits for a processing element, in the central manager's queue.
    Central,
    /// It waits for an entry of the central manager's queue, in the overflow area of that queue.
    CentralOverflow,
    /// It waits for the traffic shaper of its tenant, or for other traces of the tenant to end.
    Tenant,
    /// It waits for the core that handles it.
    Core,
}

/// What a core works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoreWork {
    /// Application logic, and the start of the chains after it.
    Application,
    /// A decision that an accelerator cannot make, such as a branch in a system without
    /// dispatchers.
    Decision,
    /// The start of a trace: an Enqueue by the core, or a repeated attempt of one.
    Start,
    /// The operating system's handling of an accelerator's exception.
    Exception,
    /// The rest of a trace, executed in software.
    Software,
    /// A notification that a trace has ended, or an interrupt that nothing waits for.
    Notice,
    /// A poll of a queue in memory (Cohort).
    Poll,
}

impl CoreWork {
    /// Returns the name of the work in reports.
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

/// Identifies a queue of a simulated server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Queue {
    /// The operations that wait for a processing element of this accelerator, including its
    /// overflow area.
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
