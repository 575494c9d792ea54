//! Exceptions: an element stops, a core is interrupted, the operating system handles it.

use accelflow_kernel::attribute_unit;
use accelflow_units::Time;

use super::SimError;
use super::engine::Engine;
use super::state::{Exception, JobId, Task};
use crate::stats::{Fallback, Part};

/// Where the attributes of a request that say which operations raise an exception begin.
const EXCEPTIONS: u64 = 1 << 40;
/// Where those begin that say how they end.
const ENDINGS: u64 = 1 << 41;

impl Engine<'_> {
    /// The exception that the operation which `job` begins raises of itself, if it does.
    pub(super) fn exception(&mut self, job: JobId, preparation: Time) -> Option<Exception> {
        if self.faults(job) {
            self.page_faults += 1;
            return Some(Exception {
                left: preparation,
                handling: self.run.config.tlb.fault_service,
                resumes: true,
            });
        }
        let config = &self.run.config.exception;
        if config.per_million == 0.0 {
            return None;
        }
        let job = self.jobs.get(job);
        let request = self.requests.get(job.request);
        let place = u64::from(request.phase) << 32
            | u64::from(job.chain) << 24
            | u64::from(job.steps) << 8
            | job.accel.index() as u64;
        let drawn =
            |purpose| attribute_unit(self.request_seed(request), request.number, purpose + place);
        (drawn(EXCEPTIONS) * 1e6 < config.per_million).then(|| Exception {
            left: preparation,
            handling: config.handling,
            resumes: drawn(ENDINGS) >= config.fall_back_share,
        })
    }

    /// "On an exception, the accelerator operation stops, a CPU core is interrupted, and the OS
    /// handles the exception" (AccelFlow, section IV.A). The operation of `job` has an element,
    /// which stays taken, and no event of its own is under way. The core of the request takes an
    /// interrupt and handles it; then the element goes on, or the core does in software.
    pub(super) fn raise(&mut self, job: JobId, exception: Exception, now: Time) {
        self.spend(job, Part::Accelerator, now);
        self.totals.exceptions += 1;
        let entry = self.jobs.get_mut(job);
        (entry.ends, entry.deposited) = (exception.left, now);
        let config = &self.run.config.core;
        let duration = config.interrupt + exception.handling;
        let task = if exception.resumes {
            Task::Handle(job)
        } else {
            Task::TakeOver(job)
        };
        let core = self.requests.get(self.jobs.get(job).request).core;
        self.interrupt_core(core, task, duration, now);
    }

    /// The exception of `job` has been handled, and its element goes on.
    pub(super) fn resume_element(&mut self, job: JobId, now: Time) {
        let entry = self.jobs.get(job);
        let (preparation, stopped) = (entry.ends, entry.deposited);
        self.totals.element_stopped += now - stopped;
        self.spend(job, Part::Cores, now);
        self.operate(job, preparation, now);
    }

    /// The exception of `job` has been handled, and the core that did goes on in its place.
    pub(super) fn take_over(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        let job = *self.jobs.get(id);
        let owner = self.requests.get(job.request).owner();
        self.totals.element_stopped += now - job.deposited;
        self.count_fallback(job.request, Fallback::Exception);
        self.spend(id, Part::Cores, now);
        self.station(job.unit()).abandon(owner, now);
        self.run_software(id, true, now)?;
        self.start_elements(job.unit(), now);
        self.element_known_free(job.unit());
        self.grant(job.accel, now);
        Ok(())
    }
}
