//! What the time of a request is spent on, along the path that its response waits for.

use accelflow_units::Time;

use super::engine::Engine;
use super::state::{JobId, RequestId};
use crate::stats::{Breakdown, Part};

impl Engine<'_> {
    /// The job has spent the time since the last such call on `part`.
    pub(super) fn spend(&mut self, id: JobId, part: Part, now: Time) {
        let job = self.jobs.get_mut(id);
        job.spent.add(part, now - job.since);
        job.since = now;
    }

    /// The job goes on from where its request stands.
    pub(super) fn inherit(&mut self, id: JobId, now: Time) {
        let spent = self.requests.get(self.jobs.get(id).request).spent;
        let job = self.jobs.get_mut(id);
        (job.spent, job.since) = (spent, now);
    }

    /// The arm of a fork has come the way of its parent.
    pub(super) fn inherit_from(&mut self, arm: JobId, parent: JobId) {
        let parent = *self.jobs.get(parent);
        let arm = self.jobs.get_mut(arm);
        (arm.spent, arm.since) = (parent.spent, parent.since);
    }

    /// The request goes on from where this job stands: it is the last of its phase so far.
    pub(super) fn follow(&mut self, id: JobId, now: Time) {
        let job = *self.jobs.get(id);
        let request = self.requests.get_mut(job.request);
        (request.spent, request.since) = (job.spent, now);
    }

    /// The job's trace has been executed in software.
    pub(super) fn spend_software(&mut self, id: JobId, now: Time) {
        let job = self.jobs.get_mut(id);
        let elapsed = now - job.since;
        let cpu = job.software.min(elapsed);
        job.spent.add(Part::Cpu, cpu);
        job.spent.add(Part::Queueing, elapsed - cpu);
        job.since = now;
    }

    /// The request's application task has ended. What it waited for beyond its own time is first
    /// the notification that was put in the core's queue before it.
    pub(super) fn spend_application(&mut self, id: RequestId, now: Time) {
        let request = self.requests.get_mut(id);
        let elapsed = now - request.since;
        let cpu = request.cpu.min(elapsed);
        let overhead = request.overhead.min(elapsed - cpu);
        request.spent.add(Part::Cpu, cpu);
        request.spent.add(Part::Cores, overhead);
        request.spent.add(Part::Queueing, elapsed - cpu - overhead);
        (request.since, request.overhead) = (now, Time::ZERO);
    }

    /// The parts of a response time are counted.
    pub(super) fn count_spent(&mut self, service: usize, measured: bool, spent: &Breakdown) {
        self.totals.spent_ps += u128::from(spent.total().as_ps());
        if measured {
            self.services[service].spent += *spent;
        }
    }
}
