//! Notification of cores at the end of traces.

use accelflow_units::Time;

use crate::config::FlagChecks;
use crate::orchestrators::Notification;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{CoreId, CoreMessage, Event, Job, JobId, Path, Task};
use crate::stats::Part;

impl Engine<'_> {
    /// Sends the notification that a job has ended.
    pub(crate) fn notify(&mut self, id: JobId, now: Time) {
        self.trace_ended(id, now);
        let config = self.run.config;
        let latency = config.network.notification.at(config.core.clock);
        let core = self.requests.get(self.jobs.get(id).request).core;
        let seen = self.when_seen(core, now + latency);
        self.schedule(seen, Event::Notified(id));
    }

    /// The time when a core next checks for notifications, for one that arrives at `at`.
    pub(crate) fn when_seen(&self, core: CoreId, at: Time) -> Time {
        let config = &self.run.config.core;
        let period = config.notice_period.as_ps();
        let flag = self.properties.notification == Notification::Flag;
        if !flag || config.notification != FlagChecks::Periodically || period == 0 {
            return at;
        }
        // The timers of cores are staggered evenly over the period.
        let offset = period / self.cores.count() as u64 * u64::from(core);
        let since = (at.as_ps() + period - offset) % period;
        at + Time::from_ps((period - since) % period)
    }

    /// The notification of a job is there.
    pub(crate) fn notified(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        self.spend(id, Part::Communication, now);
        if self.has_software_queues() {
            let core = self.requests.get(self.jobs.get(id).request).core;
            self.post(core, CoreMessage::Ended(id), now);
            return Ok(());
        }
        self.see_end(id, now)
    }

    /// The core sees that a job has ended.
    pub(crate) fn see_end(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        self.follow(id, now);
        let Job {
            request, cursor, ..
        } = *self.jobs.get(id);
        self.give_buffer(id);
        self.remove_job(id);
        let core = self.requests.get(request).core;
        let cost = self.charge_notice(core, now);
        self.measures.charge_cores(cost);
        self.requests.get_mut(request).overhead = cost;
        self.execution_ended(request, cursor.chain, false, now)
    }

    /// Sets the path of a request to that of a job, the last of its phase so far to end.
    pub(crate) fn follow(&mut self, id: JobId, now: Time) {
        let job = self.jobs.get(id);
        self.requests.get_mut(job.request).path = Path {
            since: now,
            ..job.path
        };
        self.show_request_continues(id, now);
    }

    /// Charges a core for seeing that a trace has ended. Returns the time charged.
    pub(crate) fn charge_notice(&mut self, core: CoreId, now: Time) -> Time {
        let config = &self.run.config.core;
        let mut cost = self.properties.notified;
        let notification = self.properties.notification;
        let flag = notification == Notification::Flag;
        if flag && config.notification == FlagChecks::WhenWoken && self.cores.is_idle(core) {
            cost += config.wake;
        }
        if cost > Time::ZERO && notification == Notification::Interrupt {
            self.interrupt_core(core, Task::Notice, cost, now);
        } else if cost > Time::ZERO {
            self.push_task(core, Task::Notice, cost, now);
        }
        cost
    }

    /// Whether idle cores poll flags.
    pub(crate) fn cores_poll(&self) -> bool {
        let flag = self.properties.notification == Notification::Flag;
        let always = self.run.config.core.notification == FlagChecks::Always;
        self.properties.accelerated && flag && always
    }
}
