//! Events of the simulation, and their data.

use super::ids::{CoreId, JobId, RequestId, Unit};

/// Something that happens at a point in time. It fits a word.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// The next request of a load arrives.
    Arrive(u16),
    /// The message of a request has come from its client to the server.
    Received(RequestId),
    /// A processing element has computed a result that does not fit a queue entry.
    Computed(JobId),
    /// A processing element has completed a job's operation.
    Operated(JobId),
    /// A dispatcher has read a word of the trace memory.
    WordRead(JobId),
    /// The dispatcher has decided.
    Dispatched(JobId),
    /// The manager has decided.
    Managed(JobId),
    /// The manager has accepted a chain from a core.
    Submitted(JobId),
    /// The manager has accepted the rest of a chain from a core.
    Resubmitted(JobId),
    /// The manager has registered a message in its queue.
    Registered(JobId),
    /// An overflow entry has reached the central queue.
    Recalled(JobId),
    /// An accelerator has seen a chain that a core has put into its software queue.
    Begun(JobId),
    /// An accelerator has seen a job that a core has put into its software queue.
    Fetched(JobId),
    /// An A-DMA engine has completed the transfer of a job.
    Moved(JobId),
    /// An overflow entry has reached the input queue.
    Refilled(JobId),
    /// A message for a parked job has arrived.
    Answered(JobId),
    /// The message for a parked job has not arrived in time.
    TimedOut(JobId),
    /// A core has learned that a message has not arrived in time.
    Terminated(JobId),
    /// A request that another service has sent arrives.
    Invoked(u32),
    /// The response to a call arrives; the number is the lower half of the call's.
    Returned(u32),
    /// A check of the calls that may time out is due.
    CallsDue,
    /// The pause before another attempt of a chain is over.
    Again(RequestId, u16),
    /// A core can see that a job has ended.
    Notified(JobId),
    /// The traffic shaper may let a trace pass.
    Grants,
    /// A trace has passed the traffic shaper.
    Released(By, JobId),
    /// A message for which the RPC processor had no memory comes again.
    Resent(By, JobId),
    /// A core has completed a task or its time slice; the number is that of the task's start.
    CoreDone(CoreId, u32),
    /// The caches need the data of the next part of a long task; the number of parts that are left.
    CoreFills(u32),
}

impl Event {
    /// The job that the manager decides on, for events after a visit.
    pub(crate) fn job(self) -> Option<JobId> {
        match self {
            Event::Managed(job)
            | Event::Submitted(job)
            | Event::Resubmitted(job)
            | Event::Registered(job) => Some(job),
            _ => None,
        }
    }
}

const _: () = assert!(size_of::<Event>() == 8);

/// A transfer of a job by an A-DMA engine. A job has one at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// The destination of the transfer.
    pub kind: TransferKind,
    /// The accelerator whose entry of the output queue becomes free when the transfer ends; `None`
    /// for data from a core, from memory or from the central queue.
    pub source: Option<Unit>,
}

/// The destination of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransferKind {
    /// A reserved input entry.
    Forward,
    /// A reserved overflow entry.
    Spill,
    /// A reserved entry of the central queue.
    Central,
    /// A reserved entry of the central queue's overflow area.
    CentralSpill,
    /// The place that was reserved for the arms of a join.
    Join,
    /// The element that the manager has assigned; the source is the central queue.
    Grant,
    /// Memory, where the core reads the result.
    Result,
    /// Memory, where a core that takes over reads the payload.
    Rescue,
}

/// A trace that is to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// Index of the trace's execution in the table of executions.
    pub job: JobId,
    /// What starts the trace: a core's Enqueue, the message of a request, or an answer.
    pub by: By,
}

/// What starts a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A core's Enqueue.
    Enqueue,
    /// The message of a request, from a client or from another service.
    Message,
    /// The message that the trace has waited for.
    Answer,
}
