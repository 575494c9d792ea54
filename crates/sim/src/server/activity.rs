//! The activities of a simulated server's hardware, which an observer may follow.

use accelflow_trace::{Accel, AtmAddress};
use accelflow_units::Time;

use crate::stats::Part;

/// The hardware of a simulated server (cores, accelerator instances, DMA engines, network links),
/// which an [`Observer`](crate::Observer) receives before the first event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerShape {
    /// The ID of the simulated server ([`ServicePlan::server`](crate::plan::ServicePlan::server)).
    pub server: usize,
    /// Number of cores.
    pub cores: usize,
    /// The accelerator instances or, if tenants reserve shares of the instances, these shares. The
    /// list is ordered by type, then by instance, then by share.
    pub units: Vec<UnitShape>,
    /// Number of A-DMA engines.
    pub dma_engines: usize,
    /// The names of the links of the on-chip network. The field `link` of
    /// [`HardwareEvent::Carries`] is an index in this list.
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
    /// Whether [`HardwareEvent::Dispatches`] may name this unit: true for an instance without
    /// shares, and for share 0. All shares of an instance have one output dispatcher, whose events
    /// name share 0.
    pub whole: bool,
}

/// The identity of an accelerator instance, or of a tenant's share of an instance
/// ([`crate::config::Isolation::Reserved`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitName {
    /// The type of the accelerator.
    pub accel: Accel,
    /// Index of the instance within its type, from 0.
    pub instance: usize,
    /// Index of the tenant's share of the instance, from 0. It is 0 if the instance has no shares.
    pub share: usize,
}

/// An activity of a simulated server's hardware, and the time at which the activity was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The ID of the simulated server ([`ServicePlan::server`](crate::plan::ServicePlan::server)).
    pub server: usize,
    /// The simulated time at which the activity was reported, since the start of the simulation.
    pub at: Time,
    /// The trace or application logic for which the hardware was active. `None` if the hardware was
    /// active for several traces or requests or for none, or if this is not known.
    pub of: Option<Execution>,
    /// What the hardware did: the kind of the activity, and its data.
    pub what: HardwareEvent,
}

/// The identity of the work for which hardware is active: a running trace (sequence of operations)
/// of a request, or the application logic of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Execution {
    /// Index, in the plan, of the request's service.
    pub service: usize,
    /// Sequence number of the request within its service, from 0. Requests that services send to
    /// each other have a random ID with the highest bit set instead.
    pub request: u64,
    /// ID of the running trace, unique among the traces that run at the same time on the server;
    /// `None` for application logic, and for the way from a client to the server.
    pub job: Option<u32>,
    /// The address of the running trace's first word; `None` if `job` is `None`.
    pub trace: Option<AtmAddress>,
}

/// The kinds of activities of a simulated server's hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HardwareEvent {
    /// A request has spent a stretch of time on one kind of work or wait ([`Part`]).
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
        /// The accelerator at which the current operation of the trace is, was or will be executed.
        /// `None` for application logic, traces that cores execute in software, and the way from a
        /// client to the server.
        unit: Option<UnitName>,
    },
    /// A request begins to await an answer. [`HardwareEvent::Spends`] with [`Part::Remote`] follows
    /// when the wait ends.
    Awaits {
        /// Index of the service whose answer the request awaits; `None` unless this service is
        /// simulated.
        callee: Option<usize>,
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
    /// The output dispatcher of this accelerator instance starts to handle an entry of the output
    /// queue or, if [`Activity::of`] is `None`, becomes idle. The share in the name is 0, since all
    /// shares of an instance have one output dispatcher.
    Dispatches(UnitName),
    /// An A-DMA engine starts a transfer, which will end at this simulated time.
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
    /// Strand `strand` of the request starts now because of strand `after`, or has waited for
    /// strand `after` until now. On the critical path, the stretches of `after` up to now come
    /// before the later stretches of `strand`.
    Continues {
        /// The strand that starts, or has waited.
        strand: Strand,
        /// The strand that has caused the start, or has ended the wait.
        after: Strand,
    },
}

/// A strand of a request: a sequence of work and waits. The strands of a request run in parallel.
/// [`HardwareEvent::Spends`] reports their stretches of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strand {
    /// The request itself, up to its response: the stretches whose [`Execution::job`] is `None`,
    /// such as application logic. After a phase of chains, this strand continues from the chain
    /// that ended last.
    Request,
    /// The running trace with this ID ([`Execution::job`]).
    Trace(u32),
    /// The pause before the next attempt of the chain with this index, within the current phase.
    Attempt(u16),
}

/// A kind of wait that counts as queueing ([`Part::Queueing`]): the queue entry, hardware or limit
/// for which a request waits.
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
    /// The request waits for the traffic shaper or the limit on accelerator time of its tenant, or
    /// for other traces of the tenant to end.
    Tenant,
    /// The request waits for its core, which has other work.
    Core,
}

/// A kind of work that a core does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoreWork {
    /// Application logic, and the start of the chains of the next phase.
    Application,
    /// A decision that an accelerator cannot make, such as a branch in a system without
    /// dispatchers.
    Decision,
    /// Another attempt to start a trace: an Enqueue instruction that is repeated because the queue
    /// was full, or the repetition of a failed chain.
    Start,
    /// The operating system's handling of an accelerator's exception.
    Exception,
    /// A trace, or the rest of a trace, that the core executes in software.
    Software,
    /// Work that no trace waits for: a notification that a trace has ended, a decision whose trace
    /// waits for a message anyway, or the hand-over of a fork's or join's arms to accelerators.
    Notice,
    /// A poll of the queue in memory through which accelerators send messages to the core (Cohort).
    Poll,
}

impl CoreWork {
    /// Returns the name of this kind of work in reports, such as `application`.
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

/// The identity of a queue of a simulated server: its kind, and the hardware that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Queue {
    /// The operations that wait for a processing element of this accelerator, in its input queue
    /// and overflow area. All taken entries of the overflow area count, even those whose data or
    /// message has not arrived.
    Input(UnitName),
    /// The entries of this accelerator's output queue that wait for its output dispatcher.
    Dispatcher(UnitName),
    /// The tasks that wait for the core with this index.
    Core(usize),
    /// The transfers that wait for an A-DMA engine.
    Dma,
    /// The operations of this accelerator type that wait in the central manager's queue.
    Central(Accel),
    /// The tasks that wait for the central manager. The number of tasks is estimated from the time
    /// of the manager's remaining work.
    Manager,
}
