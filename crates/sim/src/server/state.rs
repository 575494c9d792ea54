//! Requests, jobs and what they wait for.

use accelflow_trace::{Accel, AtmAddress, PositionMark};
use accelflow_units::{Bytes, Time};

use super::buffers::Buffer;
use super::tenants::Waiting;
use crate::hardware::{Owner, Place};
use crate::orchestrators::{Decision, Next};
use crate::plan::{Message, Operation};
use crate::stats::Breakdown;

/// Index of a request in flight.
pub(super) type RequestId = u32;
/// Index of a job in flight.
pub(super) type JobId = u32;
/// Index of a core.
pub(super) type CoreId = u16;

/// One instance of an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub accel: Accel,
    pub instance: u8,
    /// Whose share of it, if tenants have shares; else 0.
    pub part: u16,
}

impl Unit {
    pub(super) fn place(self) -> Place {
        Place::Accel(self.accel, u16::from(self.instance))
    }

    /// What all tenants share of it: its output dispatcher.
    pub(super) fn whole(self) -> Unit {
        Unit { part: 0, ..self }
    }
}

/// A request on its way through its service's path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub service: u16,
    /// Number within the service, which its attributes are derived from.
    pub number: u64,
    pub arrived: Time,
    pub phase: u16,
    /// Executions of the current phase that have not ended.
    pub outstanding: u16,
    pub core: CoreId,
    /// LdB has chosen the core.
    pub balanced: bool,
    pub measured: bool,
    pub responded: bool,
    /// A time-out or an error has ended it: it goes no further than what runs already.
    pub terminated: bool,
    /// Index of its tenant.
    pub tenant: u16,
    pub priority: u8,
    /// When its response is due; [`Time::MAX`] without an SLO.
    pub due: Time,
    /// The TCP that its connection is with.
    pub tcp: u8,
    /// What it has spent its time on until `since`.
    pub spent: Breakdown,
    pub since: Time,
    /// Of the application task that it waits for: application logic and context switch, and
    /// starting chains and seeing the last notification.
    pub cpu: Time,
    pub overhead: Time,
}

impl Request {
    pub(super) fn owner(&self) -> Owner {
        Owner {
            tenant: self.tenant,
            service: self.service,
        }
    }
}

/// One execution of a trace: what a queue entry carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub request: RequestId,
    pub chain: u16,
    /// The trace, by the address of its first word.
    pub trace: AtmAddress,
    /// The word being read.
    pub word: AtmAddress,
    pub mark: PositionMark,
    /// The accelerator that the current operation is one of.
    pub accel: Accel,
    /// The one that has, runs or is to run it: that, unless accelerators do others' work.
    pub host: Accel,
    /// Which of them.
    pub instance: u8,
    /// Whose share of it, if tenants have shares; else 0.
    pub part: u16,
    pub operation: Operation,
    /// Number of the trace within its chain, and the message it handles.
    pub ordinal: u16,
    pub message: Message,
    /// Whether the message is compressed after the current operation.
    pub compressed: bool,
    /// Whether the trace is one that a tail led to at once: what it sends is an error response.
    pub error: bool,
    pub next: Next,
    /// Whether it has come to a join: the next operation is what its arms meet at.
    pub meets: bool,
    /// Its place among the arms of a join.
    pub seat: Option<Seat>,
    pub decision: Decision,
    /// Since when the result has waited for an output entry.
    pub deposited: Time,
    /// Where the job waits for a message.
    pub held: Held,
    /// Sources that have not delivered to its input entry.
    pub missing: u8,
    /// Words of the trace memory that the dispatcher has yet to read for it.
    pub reads: u8,
    /// How often its core has tried to enqueue it.
    pub attempts: u16,
    /// Whether LdB has run in software, so that the core is chosen when the task ends.
    pub balances: bool,
    /// Whether it counts as a running trace of its tenant.
    pub counted: bool,
    /// When the current step is to have ended; [`Time::MAX`] without deadlines.
    pub due: Time,
    /// How much longer than unloaded each step may take.
    pub stretch: f64,
    /// When the operation that runs is expected to end, or, while it is stopped, what the element
    /// has to do before it.
    pub ends: Time,
    /// Operations begun.
    pub steps: u16,
    /// What its payload has in memory: all of it that a core is to read or has written, or what
    /// does not fit a queue entry.
    pub buffer: Option<Buffer>,
    /// Whether a manager with a central queue knows that the current operation is wanted.
    pub known: bool,
    /// What its request has spent its time on, along the way of this job, until `since`.
    pub spent: Breakdown,
    pub since: Time,
    /// The core time of the trace that it has in software.
    pub software: Time,
    /// With a central queue: unloaded time to the end of the chain, this operation included.
    pub left: Time,
}

impl Job {
    /// Where it is.
    pub(super) fn unit(&self) -> Unit {
        Unit {
            accel: self.host,
            instance: self.instance,
            part: self.part,
        }
    }
}

/// The place of an execution among the arms of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    pub join: u32,
    /// Its number, in the order of the trace.
    pub arm: u8,
}

/// A join whose arms have not all come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Join {
    /// The place in the join around it.
    pub outer: Option<Seat>,
    pub arms: u8,
    /// Arms that were told where they come to.
    pub decided: u8,
    /// The arm that came first and goes on when all have come.
    pub lead: Option<JobId>,
    /// Where they meet, once there is a first.
    pub at: Meeting,
    /// What is in the entry; the rest is in memory.
    pub filled: Bytes,
}

/// Where the arms of a join meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    /// In an input entry, or one of the central queue.
    Entry,
    /// In the overflow area of either.
    Overflow,
    /// At the core, which goes on in software.
    Core,
}

/// What an operation meets that the hardware cannot handle (AccelFlow, section IV.A).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exception {
    /// What the element has to do before the operation, when it is resumed.
    pub left: Time,
    /// What the operating system does about it, beside taking the interrupt.
    pub handling: Time,
    /// Whether the element goes on afterwards; otherwise the core goes on in software.
    pub resumes: bool,
}

/// Where a job waits for a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Held {
    /// In no queue: the message will ask for an entry.
    #[default]
    Nowhere,
    /// In an input entry of TCP.
    Input,
    /// In the overflow area of TCP.
    Overflow,
    /// At its core, which will execute the next trace in software.
    Core,
}

/// What happens at a point in time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The next request of a load arrives.
    Arrive(u16),
    /// A processing element has computed a result that does not fit a queue entry.
    Computed(JobId),
    /// A processing element has completed a job's operation.
    Operated(JobId),
    /// A dispatcher has read a word of the trace memory.
    Looked(JobId),
    /// The dispatcher has decided.
    Dispatched(JobId),
    /// The manager has decided.
    Managed(JobId),
    /// The manager has taken a chain that a core submits.
    Submitted(JobId),
    /// The manager has taken note of a message in its queue.
    Registered(JobId),
    /// An overflow entry has reached the central queue.
    Recalled(JobId),
    /// An accelerator has seen a chain that a core has put into its software queue.
    Begun(JobId),
    /// An accelerator has seen a job that a core has put into its software queue.
    Fetched(JobId),
    /// An A-DMA engine has moved something.
    Moved(Transfer),
    /// An overflow entry has reached the input queue.
    Refilled(JobId),
    /// A message for a parked job has arrived.
    Answered(JobId),
    /// The message for a parked job has not come in time.
    TimedOut(JobId),
    /// A core has been told that a message has not come.
    Terminated(JobId),
    /// A core has been told that a job has ended.
    Notified(JobId),
    /// The traffic shaper may let a trace pass.
    Grants,
    /// A trace has passed it.
    Released(Waiting),
    /// A core has completed the task that it started as this number.
    CoreDone(CoreId, u64),
}

/// What an A-DMA engine moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub job: JobId,
    pub kind: TransferKind,
    /// The accelerator whose output entry is freed at the end; none if the data was in memory.
    pub source: Option<Unit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferKind {
    /// Into a reserved input entry.
    Forward,
    /// Into a reserved overflow entry.
    Spill,
    /// Into a reserved entry of the central queue.
    Central,
    /// Into a reserved entry of the central queue's overflow area.
    CentralSpill,
    /// Into what was reserved for the arms of a join.
    Join,
    /// From the central queue to the element that it was given.
    Grant,
    /// A result to memory, for the core.
    Result,
    /// A payload to memory, for a core that takes over.
    Rescue,
}

/// What a core does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// Application logic, then the start of the next phase.
    Application(RequestId),
    /// Decides what an accelerator cannot, while the job waits.
    Decide(JobId),
    /// Tries once more to enqueue a job.
    Enqueue(JobId),
    /// Handles an exception, after which the element goes on.
    Handle(JobId),
    /// Handles an exception, after which the core goes on.
    TakeOver(JobId),
    /// Executes a trace in software up to its end or until it waits for a message.
    Software(JobId),
    /// Sees a notification, or handles an interrupt that nobody waits for.
    Notice,
    /// Looks at its software queues.
    Look(CoreId),
}

/// What an accelerator puts into the software queue of a core.
#[derive(Clone, Copy, Debug)]
pub(super) enum Letter {
    /// A task, and how long it takes.
    Ask(Task, Time),
    /// The end of a job.
    Ended(JobId),
}
