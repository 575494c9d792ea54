//! Requests, jobs and what they wait for.

use accelflow_trace::{Accel, AtmAddress, PositionMark};
use accelflow_units::Time;

use crate::orchestrators::{Decision, Next};
use crate::plan::{Message, Operation};

/// Index of a request in flight.
pub(super) type RequestId = u32;
/// Index of a job in flight.
pub(super) type JobId = u32;
/// Index of a core.
pub(super) type CoreId = u16;

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
    pub measured: bool,
    pub responded: bool,
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
    /// The accelerator that has, runs or is to run the current operation.
    pub accel: Accel,
    pub operation: Operation,
    /// Number of the trace within its chain, and the message it handles.
    pub ordinal: u16,
    pub message: Message,
    pub next: Next,
    pub decision: Decision,
    /// Since when the result has waited for an output entry.
    pub deposited: Time,
    /// Where the job waits for a message.
    pub held: Held,
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
    /// A processing element has completed a job's operation.
    Operated(JobId),
    /// The dispatcher has decided.
    Dispatched(JobId),
    /// The manager has decided.
    Managed(JobId),
    /// An A-DMA engine has moved something.
    Moved(Transfer),
    /// An overflow entry has reached the input queue.
    Refilled(JobId),
    /// A message for a parked job has arrived.
    Answered(JobId),
    /// A core has been told that a job has ended.
    Notified(JobId),
    /// A core has completed its task.
    CoreDone(CoreId),
}

/// What an A-DMA engine moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub job: JobId,
    pub kind: TransferKind,
    /// The accelerator whose output entry is freed at the end; none if the data was in memory.
    pub source: Option<Accel>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferKind {
    /// Into a reserved input entry.
    Forward,
    /// Into a reserved overflow entry.
    Spill,
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
    /// Executes a trace in software up to its end or until it waits for a message.
    Software(JobId),
    /// Sees a notification, or handles an interrupt that nobody waits for.
    Notice,
}
