//! The start of traces, subject to the traffic shaper and the limit on running traces of their
//! tenant.

use accelflow_shaping::Message;
use accelflow_units::{Bytes, Time};

use crate::server::activity::Wait;
use crate::server::engine::{Engine, TOO_LONG, check_time};
use crate::server::error::Failure;
use crate::server::state::{By, Event, Held, Job, JobId, Start, Unit};

impl Engine<'_> {
    /// Whether a trace may start now. If not, it waits. A trace of a shaped tenant passes the
    /// traffic shaper first.
    pub(crate) fn may_start(&mut self, start: Start, now: Time) -> Result<bool, Failure> {
        if self.shape(start, now)? {
            return Ok(false);
        }
        Ok(self.within_limit(start, now))
    }

    /// Queues a trace at the traffic shaper if its tenant is shaped. Returns whether it is.
    fn shape(&mut self, start: Start, now: Time) -> Result<bool, Failure> {
        let tenant = self.tenant_of(start.job);
        let Some(flow) = self.tenancy.flow_of(tenant) else {
            return Ok(false);
        };
        let message = Message {
            tag: u64::from(start.job),
            size: self.first_input(start)?.max(Bytes(1)),
        };
        self.tenancy.shape(flow, start, message, now)?;
        self.look_at_shaper();
        Ok(true)
    }

    /// The bytes that the first operation of a trace reads.
    pub(crate) fn first_input(&self, start: Start) -> Result<Bytes, Failure> {
        let mut job = *self.jobs.get(start.job);
        if start.by == By::Answer {
            self.requests.read(&mut job, &mut Vec::new())?;
        }
        Ok(job.operation.input)
    }

    /// Schedules a check of the traffic shaper for its next grant.
    fn look_at_shaper(&mut self) {
        if let Some(at) = self.tenancy.plan_look() {
            // With a limit close to 0, a trace may wait for longer than any simulation lasts.
            self.schedule(at.min(TOO_LONG), Event::Grants);
        }
    }

    /// Releases the traces that have passed the traffic shaper.
    pub(crate) fn grant_due(&mut self, now: Time) -> Result<(), Failure> {
        check_time(now)?;
        if !self.tenancy.look_is_due(now) {
            return Ok(());
        }
        while let Some((start, released)) = self.tenancy.next_passed(now)? {
            self.schedule(released, Event::Released(start.by, start.job));
        }
        self.look_at_shaper();
        Ok(())
    }

    /// A trace has passed the shaper: it starts, unless its tenant has too many running.
    pub(crate) fn released(&mut self, start: Start, now: Time) -> Result<(), Failure> {
        self.spend_waiting(start.job, Wait::Tenant, now);
        if self.within_limit(start, now) {
            self.begin_trace(start, now)?;
        }
        Ok(())
    }

    fn within_limit(&mut self, start: Start, now: Time) -> bool {
        let tenant = self.tenant_of(start.job);
        let admitted = self.tenancy.admit(tenant, start, now);
        self.jobs.get_mut(start.job).entry.counted = admitted;
        if !admitted {
            self.bar(start.job, now);
        }
        admitted
    }

    /// Notes that a trace may have to wait for operations in the overflow area before it goes on,
    /// if it has an input entry.
    pub(crate) fn bar(&mut self, id: JobId, now: Time) {
        if self.jobs.get(id).entry.held == Held::Input {
            let unit = self.tcp_of(id);
            match self.manager.queue() {
                Some(queue) => queue.bar(),
                None => self.ensemble.station_mut(unit).bar(),
            }
            self.make_room(unit, now);
        }
    }

    /// Notes that a trace of [`Engine::bar`] goes on.
    pub(crate) fn unbar(&mut self, id: JobId) {
        if self.jobs.get(id).entry.held == Held::Input {
            let unit = self.tcp_of(id);
            match self.manager.queue() {
                Some(queue) => queue.unbar(),
                None => self.ensemble.station_mut(unit).unbar(),
            }
        }
    }

    /// Prevents a deadlock in which operations in the overflow area of `unit` wait for traces that
    /// wait for them. When such traces hold all input entries, the one that has waited for the
    /// shortest time is exchanged with the next overflow entry.
    pub(crate) fn make_room(&mut self, unit: Unit, now: Time) {
        let barred = match self.manager.queue() {
            Some(queue) => queue.is_barred(),
            None => self.ensemble.station(unit).is_barred(),
        };
        let last = barred.then(|| self.last_barred(unit)).flatten();
        let Some(last) = last else {
            return;
        };
        self.jobs.get_mut(last).entry.held = Held::Overflow;
        if let Some(queue) = self.manager.queue() {
            if let Some(next) = queue.change_places() {
                self.recall(next, now);
            }
        } else if let Some(next) = self.change_places(unit, now) {
            self.refill(next, now);
        }
    }

    /// The last trace of [`Engine::bar`] in input entries of `unit`: among those that wait for
    /// their tenants, or else among those that wait for other services.
    fn last_barred(&self, unit: Unit) -> Option<JobId> {
        let central = self.manager.is_central();
        let limited = self
            .tenancy
            .waiting_for_limit()
            .rev()
            .map(|start| start.job);
        let mut waiting = limited.chain(self.calls.jobs().rev());
        waiting.find(|&id| {
            let held = self.jobs.get(id).entry.held == Held::Input;
            held && (central || self.tcp_of(id) == unit)
        })
    }

    /// Counts an arm of a fork as a running trace, if its parent counts as one.
    pub(crate) fn count_arm(&mut self, arm: &Job) {
        if arm.entry.counted {
            let tenant = self.requests.get(arm.request).tenant;
            self.tenancy.begin_arm(tenant);
        }
    }

    /// Notes that a trace has ended, waits for a message, or continues in software.
    pub(crate) fn trace_ended(&mut self, id: JobId, now: Time) {
        if std::mem::take(&mut self.jobs.get_mut(id).entry.counted) {
            let tenant = self.tenant_of(id);
            self.tenancy.end(tenant);
            if self.tenancy.settle(id, now) {
                self.look_at_shaper();
            }
        }
    }

    /// Starts traces that wait for `tenant` to have fewer traces running.
    pub(crate) fn admit_waiting(&mut self, tenant: u16, now: Time) -> Result<(), Failure> {
        while let Some(start) = self.tenancy.next_waiting(tenant, now) {
            self.jobs.get_mut(start.job).entry.counted = true;
            self.unbar(start.job);
            self.spend_waiting(start.job, Wait::Tenant, now);
            self.begin_trace(start, now)?;
        }
        Ok(())
    }

    /// Starts a trace that has waited.
    fn begin_trace(&mut self, start: Start, now: Time) -> Result<(), Failure> {
        match start {
            Start {
                job,
                by: By::Enqueue,
            } => self.enqueue_by_core(job, false, now),
            Start {
                job,
                by: By::Message,
            } => self.admit_message(job, now),
            Start {
                job,
                by: By::Answer,
            } => self.resume_parked(job, now),
        }
    }

    /// Index of a job's tenant.
    fn tenant_of(&self, id: JobId) -> u16 {
        self.requests.get(self.jobs.get(id).request).tenant
    }
}
