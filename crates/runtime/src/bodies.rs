//! The interface through which executors of traces call accelerators in software or on a device.

use accelflow_accel::{AccelError, Ensemble, Job};
use accelflow_trace::{Accel, Kind, Transform};

use crate::terms::Terms;

/// The accelerators that an executor calls when it runs traces. Implementations do the work in
/// software or on a device. A *job* is the message that the accelerators process, with its payload
/// and state.
///
/// If [`Bodies::run`], [`Bodies::run_own`] or [`Bodies::transform`] fails, the job is unchanged.
pub trait Bodies {
    /// Announces a run of `trace`. All steps of the run have the tenant, priority and deadline in
    /// `terms`. Implementations without queues ignore the call.
    fn begin(&mut self, trace: &str, terms: Terms) {
        let _ = (trace, terms);
    }

    /// Discards data that earlier jobs have left in the nine accelerators. Code that runs traces of
    /// several tenants calls this before a run for another tenant; [`Executor`](crate::Executor)
    /// does not. Implementations that discard such data by themselves ignore the call.
    fn forget(&mut self) {}

    /// Runs one of the nine accelerators on a job.
    ///
    /// # Errors
    /// The accelerator's error.
    fn run(&mut self, accel: Accel, job: &mut Job) -> Result<(), AccelError>;

    /// Runs the custom accelerator that traces declare as `kind` on a job. The default
    /// implementation has no custom accelerators, so it always fails.
    ///
    /// # Errors
    /// The errors of [`Ensemble::run_own`].
    fn run_own(&mut self, kind: &Kind, job: &mut Job) -> Result<(), AccelError> {
        let _ = job;
        Err(AccelError::no_body(kind))
    }

    /// Changes the format of a job's payload.
    ///
    /// # Errors
    /// The transformation's error.
    fn transform(&mut self, step: Transform, job: &mut Job) -> Result<(), AccelError>;
}

impl Bodies for Ensemble {
    fn forget(&mut self) {
        Ensemble::forget(self);
    }

    fn run(&mut self, accel: Accel, job: &mut Job) -> Result<(), AccelError> {
        Ensemble::run(self, accel, job)
    }

    fn run_own(&mut self, kind: &Kind, job: &mut Job) -> Result<(), AccelError> {
        Ensemble::run_own(self, kind, job)
    }

    fn transform(&mut self, step: Transform, job: &mut Job) -> Result<(), AccelError> {
        Ensemble::transform(self, step, job)
    }
}

impl<B: Bodies + ?Sized> Bodies for Box<B> {
    fn begin(&mut self, trace: &str, terms: Terms) {
        (**self).begin(trace, terms);
    }

    fn forget(&mut self) {
        (**self).forget();
    }

    fn run(&mut self, accel: Accel, job: &mut Job) -> Result<(), AccelError> {
        (**self).run(accel, job)
    }

    fn run_own(&mut self, kind: &Kind, job: &mut Job) -> Result<(), AccelError> {
        (**self).run_own(kind, job)
    }

    fn transform(&mut self, step: Transform, job: &mut Job) -> Result<(), AccelError> {
        (**self).transform(step, job)
    }
}
