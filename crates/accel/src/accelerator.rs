//! The interface that the nine accelerators implement.

use accelflow_trace::Accel;

use crate::error::AccelError;
use crate::job::Job;

/// The implementation of an accelerator, in software or on a device: it processes the bytes of a
/// [`Job`], which is a message on its way through a trace (a program of accelerator calls).
///
/// Contract:
/// - `run` reads `job.bytes` and the fields of the job that the accelerator's documentation names.
///   It replaces `job.bytes` by the accelerator's output. Only the load balancer LdB leaves the
///   bytes unchanged, and sets `job.core`.
/// - On an error the job is unchanged, so that a core can take over the same input (`cpu_fallback`
///   in the paper's Listing 2): outputs are built separately and swapped in at the end.
/// - No input makes the accelerator panic, or allocate memory beyond its [`Limits`](crate::Limits).
/// - The result depends only on the job and the accelerator's settings; the core that LdB sets
///   depends also on the loads of the cores and the state of LdB's policy. Instances keep scratch
///   memory between jobs, but no later job can see its contents.
pub trait Accelerator: Send {
    /// Returns which of the nine accelerators this is.
    fn kind(&self) -> Accel;

    /// Processes one job (a message): replaces the job's bytes by the accelerator's output. LdB
    /// sets the job's core instead.
    ///
    /// # Errors
    /// The error of the accelerator. The job is then unchanged.
    fn run(&mut self, job: &mut Job) -> Result<(), AccelError>;

    /// Frees the working memory that may hold data of earlier jobs, such as a compression context.
    /// Callers call this method before a job of another tenant. Accelerators without such memory do
    /// nothing.
    fn forget(&mut self) {}
}
