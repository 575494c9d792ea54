//! The tasks that cores execute.

use accelflow_units::Time;

use super::ids::{CoreId, JobId, RequestId};

/// A task of a core.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// Executes application logic, then starts the next phase.
    Application(RequestId),
    /// Decides what an accelerator cannot, while the job waits.
    Decide(JobId),
    /// Retries the Enqueue of a job.
    Enqueue(JobId),
    /// Starts the chain of a job after a failed attempt.
    Again(JobId),
    /// Handles an exception, after which the element goes on.
    Handle(JobId),
    /// Handles an exception, after which the core goes on in software.
    TakeOver(JobId),
    /// Executes a trace in software until it ends or waits for a message.
    Software(JobId),
    /// Sees a notification, or handles an interrupt that nothing waits for.
    Notice,
    /// Polls the core's software queue.
    Poll(CoreId),
}

/// An entry of a core's software queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CoreMessage {
    /// A task, and its duration.
    Ask(Task, Time),
    /// The end of a job.
    Ended(JobId),
}
