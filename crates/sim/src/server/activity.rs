//! The activities of a server's hardware, for observers.

use accelflow_trace::{Accel, AtmAddress};
use accelflow_units::Time;

use crate::stats::Part;

/// The hardware of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerShape {
    /// The number of the server.
    pub server: usize,
    /// Number of cores.
    pub cores: usize,
    /// The accelerators, by type, instance and tenant's share.
    pub units: Vec<UnitShape>,
    /// Number of A-DMA engines.
    pub dma_engines: usize,
    /// Names of the links of the network, by index.
    pub links: Vec<String>,
    /// Whether a manager orders the operations of all accelerators in one queue.
    pub central: bool,
}

/// An instance of an accelerator, or a tenant's share of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitShape {
    /// The name of the unit.
    pub unit: UnitName,
    /// Number of processing elements.
    pub elements: u64,
    /// Whether it is the first share of the instance, which has the dispatcher.
    pub whole: bool,
}

/// Names an instance of an accelerator, or a tenant's share of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitName {
    /// The type.
    pub accel: Accel,
    /// The number of the instance.
    pub instance: usize,
    /// The number of the share; 0 without reserved shares.
    pub share: usize,
}

/// An activity of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The number of the server.
    pub server: usize,
    /// The time at which it happened.
    pub at: Time,
    /// The execution to which it belongs. `None` if there are several or it is unknown.
    pub of: Option<Execution>,
    /// What the hardware did.
    pub what: Deed,
}

/// The identity of an execution: a request, and its trace or application logic that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Execution {
    /// Index of the service.
    pub service: usize,
    /// Number of the request within the service. Requests that services send to each other have
    /// the highest bit set.
    pub request: u64,
    /// Distinguishes traces that run at the same time on one server; `None` for application logic.
    pub job: Option<u32>,
    /// The trace, by the address of its first word; none for application logic.
    pub trace: Option<AtmAddress>,
}

/// A kind of activity of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// A part of a request's time has passed.
    Spends {
        /// The part that the time was spent on.
        part: Part,
        /// Its beginning.
        from: Time,
        /// Its end: now, unless other parts have passed since.
        until: Time,
        /// The reason of the wait, if `part` is [`Part::Queueing`].
        wait: Option<Wait>,
        /// The core of the request.
        core: usize,
        /// The accelerator of its trace, unless it is at a core.
        unit: Option<UnitName>,
    },
    /// A core starts or resumes a task, or becomes idle.
    Runs {
        /// The core.
        core: usize,
        /// The work of the core; none if it is idle.
        work: Option<CoreWork>,
    },
    /// An element begins an operation.
    Operates(UnitName),
    /// The operation's element is free.
    Freed(UnitName),
    /// The output dispatcher of an instance starts handling an entry; without a request it is idle.
    Dispatches(UnitName),
    /// An A-DMA engine starts a transfer, which ends at this time.
    Moves(Time),
    /// The manager serves a visit.
    Manages {
        /// Its beginning.
        from: Time,
        /// Its end.
        until: Time,
    },
    /// A link carries data.
    Carries {
        /// Index of the link.
        link: usize,
        /// Its beginning.
        from: Time,
        /// Its end.
        until: Time,
    },
    /// A queue has another length.
    Length(Queue, usize),
}

/// The reason why a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// For an element, in an input queue.
    Input,
    /// For an input entry, in an overflow area.
    Overflow,
    /// For an output entry, in its element.
    Output,
    /// For an element that the manager assigns.
    Central,
    /// For an entry of the manager's queue, in its overflow area.
    CentralOverflow,
    /// For the traffic shaper, or for other traces of its tenant to end.
    Tenant,
    /// For its core.
    Core,
}

/// The kinds of work of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoreWork {
    /// Application logic, and the start of the chains after it.
    Application,
    /// A decision that an accelerator cannot take.
    Decision,
    /// The start of a trace.
    Start,
    /// The operating system's handling of an exception.
    Exception,
    /// A trace in software.
    Software,
    /// A notification, or an interrupt that nothing waits for.
    Notice,
    /// A poll of a queue in memory.
    Poll,
}

impl CoreWork {
    /// The name in reports.
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

/// A queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Queue {
    /// Operations that wait for an element, those in the overflow area too.
    Input(UnitName),
    /// Entries of an output queue that wait for their dispatcher.
    Dispatcher(UnitName),
    /// Tasks that wait for a core.
    Core(usize),
    /// Transfers that wait for an A-DMA engine.
    Dma,
    /// Operations of an accelerator that wait in the manager's queue.
    Central(Accel),
    /// Visits that wait for the manager.
    Manager,
}
