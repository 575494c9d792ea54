//! Exceptions: an element stops, a core is interrupted, and the operating system handles the
//! exception.

use accelflow_kernel::attribute_unit;
use accelflow_units::Time;

use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{Exception, JobId, Task, chain_place};
use crate::stats::{Fallback, Part};

/// The first of the attributes that choose how exceptions end.
const ENDINGS: u64 = 1 << 41;
impl Engine<'_> {
    /// The exception that the operation of `job` raises, if it raises one.
    #[inline(never)]
    pub(crate) fn exception(&mut self, id: JobId, preparation: Time) -> Option<Exception> {
        let job = self.jobs.get(id);
        if self.exceptions.faults(job) {
            self.measures.count_page_fault();
            return Some(Exception {
                preparation,
                handling: self.run.config.tlb.fault_service,
                resumes: true,
            });
        }
        self.exceptions.raises(job).then(|| {
            let config = &self.run.config.exception;
            let request = self.requests.get(job.request);
            let seed = self.requests.seed(request);
            let step = u64::from(job.run.steps) << 8 | job.accel.index() as u64;
            let place = chain_place(job.phase, job.cursor.chain) | step;
            let drawn = attribute_unit(seed, request.number, ENDINGS + place);
            Exception {
                preparation,
                handling: config.handling,
                resumes: drawn >= config.fall_back_share,
            }
        })
    }

    /// "On an exception, the accelerator operation stops, a CPU core is interrupted, and the OS
    /// handles the exception" (AccelFlow, section IV.A). The operation of `id` keeps its element.
    /// The core of the request takes an interrupt and handles it; then the element resumes, or the
    /// core continues in software.
    pub(crate) fn raise(&mut self, id: JobId, exception: Exception, now: Time) {
        self.spend(id, Part::Accelerator, now);
        self.measures.count_exception();
        let job = self.jobs.get_mut(id);
        (job.run.ends, job.run.waits_since) = (exception.preparation, now);
        let core = self.requests.get(job.request).core;
        let duration = self.run.config.core.interrupt + exception.handling;
        let task = if exception.resumes {
            Task::Handle(id)
        } else {
            Task::TakeOver(id)
        };
        self.interrupt_core(core, task, duration, now);
    }

    /// An exception has been handled, and the element goes on.
    pub(crate) fn resume_element(&mut self, id: JobId, now: Time) {
        let run = self.jobs.get(id).run;
        self.measures.add_stopped(now - run.waits_since);
        self.spend(id, Part::Cores, now);
        self.operate(id, run.ends, now);
    }

    /// An exception has been handled, and the core that handled it goes on in software.
    pub(crate) fn take_over(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        let job = self.jobs.get(id);
        let (request, stopped, unit, accel) =
            (job.request, job.run.waits_since, job.unit, job.accel);
        let owner = self.requests.get(request).owner();
        self.measures.add_stopped(now - stopped);
        self.count_fallback(request, Fallback::Exception);
        self.spend(id, Part::Cores, now);
        self.show_freed(id, now);
        self.ensemble.station_mut(unit).abandon(owner, now);
        self.run_software(id, true, now)?;
        self.start_elements(unit, now);
        self.free_central_element(unit);
        self.grant(accel, now);
        Ok(())
    }
}
