//! Messages that do not come in time.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::SimError;
use super::engine::Engine;
use super::state::{Event, JobId, Unit};
use crate::stats::Fallback;

impl Engine<'_> {
    /// "These input queue entries in a TCP accelerator are not held indefinitely waiting for a
    /// response. After a specified timeout, the core is notified and terminates the request"
    /// (AccelFlow, section IV.B).
    pub(super) fn timed_out(&mut self, id: JobId, now: Time) {
        let job = *self.jobs.get(id);
        let unit = Unit {
            accel: Accel::Tcp,
            ..job.unit()
        };
        self.release_held(job.held, unit, now);
        self.count_fallback(job.request, Fallback::TimedOut);
        let mut at = now;
        if self.run.orchestrator.accelerated() {
            at += self
                .run
                .config
                .network
                .notification
                .at(self.run.config.core.clock);
        }
        let core = self.requests.get(job.request).core;
        let at = self.when_seen(core, at);
        self.schedule(at, Event::Terminated(id));
    }

    /// The core knows that a message has not come.
    pub(super) fn terminated(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        let request = self.jobs.get(id).request;
        self.remove_job(id);
        if self.run.orchestrator.accelerated() {
            let core = self.requests.get(request).core;
            self.tell_core(core, now);
        }
        self.terminate(request, now);
        self.execution_ended(request, false, now)
    }
}
