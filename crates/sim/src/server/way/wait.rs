//! Waits of traces for messages: parking, the answer, and the time-out.

use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::config::Parking;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::observer::{Awaited, RequestEvent};
use crate::server::state::{By, Event, Held, Job, JobId, Start, Unit};
use crate::stats::{Fallback, Part};

impl Engine<'_> {
    /// The next trace waits at this TCP for a message. If the accelerators keep it (`tcp.parking`),
    /// it takes an entry there. Otherwise the core has posted a buffer, and the message finds the
    /// TCP.
    pub(crate) fn park(&mut self, id: JobId, now: Time) {
        self.trace_ended(id, now);
        self.free_buffer(id);
        let keeps = match self.run.config.tcp.parking {
            Parking::Traces => self.properties.parks,
            Parking::All => true,
            Parking::None => false,
        };
        self.jobs.get_mut(id).entry.held = if keeps && self.has(Accel::Tcp) {
            self.hold_entry(id)
        } else {
            Held::Nowhere
        };
        self.await_message(id, now);
    }

    /// The TCP at which a job waits or its message arrives: by the number of the instance that it
    /// was at last, of which TCP may have fewer.
    pub(crate) fn tcp_of(&self, id: JobId) -> Unit {
        let unit = self.jobs.get(id).unit;
        let instances = self.ensemble.instances_of(Accel::Tcp);
        let instance = usize::from(unit.instance) % instances.max(1);
        self.ensemble.unit(Accel::Tcp, instance as u8, unit.share)
    }

    /// The unit of a job, at an accelerator of the type of its operation.
    pub(crate) fn at_own_type(&self, job: &Job) -> Unit {
        let Unit {
            instance, share, ..
        } = job.unit;
        self.ensemble.unit(job.accel, instance, share)
    }

    /// Takes an entry for a job that waits, of its TCP or of the central queue. Without a free one
    /// it waits at its core.
    fn hold_entry(&mut self, id: JobId) -> Held {
        let unit = self.tcp_of(id);
        let held = if self.reserve_entry(unit) {
            Held::Input
        } else if self.reserve_overflow(unit) {
            Held::Overflow
        } else {
            self.ensemble.station_mut(unit).turned_away += 1;
            let request = self.jobs.get(id).request;
            self.count_fallback(request, Fallback::OverflowFull);
            return Held::Core;
        };
        if !self.manager.is_central() {
            self.ensemble.station_mut(unit).park();
        }
        held
    }

    /// Notes that the message of a job that waited in an entry has come, or is too late.
    fn unpark(&mut self, held: Held, unit: Unit) {
        if matches!(held, Held::Input | Held::Overflow) && !self.manager.is_central() {
            self.ensemble.station_mut(unit).unpark();
        }
    }

    /// Gives up the entry in which a job has waited.
    pub(crate) fn release_held(&mut self, id: JobId, now: Time) {
        let unit = self.tcp_of(id);
        self.unpark(self.jobs.get(id).entry.held, unit);
        match (self.jobs.get(id).entry.held, self.manager.queue()) {
            (Held::Input, Some(queue)) => {
                if let Some(next) = queue.release() {
                    self.recall(next, now);
                }
            }
            (Held::Overflow, Some(queue)) => queue.release_overflow(),
            (Held::Input, None) => {
                if let Some(refill) = self.release_input(unit, now) {
                    self.refill(refill, now);
                }
            }
            (Held::Overflow, None) => self.ensemble.station_mut(unit).release_overflow(),
            (Held::Core | Held::Nowhere, _) => {}
        }
    }

    /// The answer that `job` awaits, or has received last.
    pub(crate) fn awaited(&self, job: &Job) -> Awaited {
        let trace = job.cursor.trace;
        let compressed = |chain| self.requests.arrives_compressed(job.request, chain, trace);
        Awaited {
            phase: usize::from(self.requests.get(job.request).phase),
            chain: usize::from(job.cursor.chain),
            trace,
            compressed: self.requests.chain(job).is_some_and(compressed),
        }
    }

    /// Schedules the message that a job waits for, or the time-out.
    pub(crate) fn await_message(&mut self, id: JobId, now: Time) {
        let request = self.jobs.get(id).request;
        self.requests.get_mut(request).remote += 1;
        self.show(request, now, |engine| {
            RequestEvent::Sent(engine.awaited(engine.jobs.get(id)))
        });
        self.show_awaits(id, now);
        let job = self.jobs.get(id);
        let callee = self.requests.chain(job).and_then(|chain| chain.calls);
        if job.deadline.is_set() {
            // How long the message really takes is not known yet.
            let expected = self.expected_wait(job);
            let deadline = &mut self.jobs.get_mut(id).deadline;
            deadline.due = deadline.after(expected);
        }
        if let Some(callee) = callee {
            self.call(id, callee, now);
            return;
        }
        let job = self.jobs.get(id);
        let wait = self.requests.remote_wait(job, self.attempt_of(job));
        let timeout = self.run.config.tcp.timeout;
        // A message after the time-out has no effect, so its arrival is not simulated.
        if wait > timeout {
            self.schedule(now + timeout, Event::TimedOut(id));
        } else {
            self.schedule(now + wait, Event::Answered(id));
        }
    }

    /// The message that a parked job waits for has arrived.
    pub(crate) fn answered(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        self.spend_awaiting(id, now);
        let request = self.jobs.get(id).request;
        self.requests.get_mut(request).remote -= 1;
        self.show(request, now, |engine| {
            RequestEvent::Answered(engine.awaited(engine.jobs.get(id)))
        });
        let start = Start {
            job: id,
            by: By::Answer,
        };
        match self.has_memory(start, now)? {
            true => self.answer_came(id, now),
            false => Ok(()),
        }
    }

    /// The answer to a parked job is in the server.
    pub(crate) fn answer_came(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        let at_core = self.jobs.get(id).entry.held == Held::Core;
        if !at_core
            && !self.may_start(
                Start {
                    job: id,
                    by: By::Answer,
                },
                now,
            )?
        {
            return Ok(());
        }
        self.resume_parked(id, now)
    }

    /// A parked job goes on with its message.
    pub(crate) fn resume_parked(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        let job = self.jobs.get_mut(id);
        self.requests.read(job, &mut Vec::new())?;
        let held = std::mem::take(&mut job.entry.held);
        job.entry.known = false;
        let job = self.jobs.get(id);
        let unit = match held {
            Held::Input | Held::Overflow => self.tcp_of(id),
            Held::Core | Held::Nowhere => self.at_own_type(job),
        };
        let left = self.time_left(job)?;
        let job = self.jobs.get_mut(id);
        (job.unit, job.left) = (unit, left);
        self.unpark(held, unit);
        match held {
            Held::Input => {
                self.receive_beyond(id, now);
                self.entry_filled(id, now);
            }
            Held::Overflow => {
                self.receive_beyond(id, now);
                self.receive_overflow(id, now);
                self.overflow_filled(id, now);
            }
            Held::Core => self.run_software(id, false, now)?,
            Held::Nowhere => self.admit_message(id, now)?,
        }
        Ok(())
    }

    /// "These input queue entries in a TCP accelerator are not held indefinitely waiting for a
    /// response. After a specified timeout, the core is notified and terminates the request"
    /// (AccelFlow, section IV.B).
    pub(crate) fn timed_out(&mut self, id: JobId, now: Time) {
        self.spend_awaiting(id, now);
        self.release_held(id, now);
        let request = self.jobs.get(id).request;
        self.requests.get_mut(request).remote -= 1;
        self.show(request, now, |engine| {
            RequestEvent::TimedOut(engine.awaited(engine.jobs.get(id)))
        });
        self.count_fallback(request, Fallback::TimedOut);
        let config = self.run.config;
        let mut at = now;
        if self.properties.accelerated {
            at += config.network.notification.at(config.core.clock);
        }
        let core = self.requests.get(request).core;
        let at = self.when_seen(core, at);
        self.schedule(at, Event::Terminated(id));
    }

    /// The core has learned that a message has not arrived in time.
    pub(crate) fn terminated(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        let Job {
            request, cursor, ..
        } = *self.jobs.get(id);
        self.spend(id, Part::Communication, now);
        self.show_request_continues(id, now);
        self.remove_job(id);
        if self.properties.accelerated {
            let core = self.requests.get(request).core;
            let cost = self.charge_notice(core, now);
            self.measures.charge_cores(cost);
        }
        self.terminate(request, cursor.chain, now);
        self.execution_ended(request, cursor.chain, false, now)
    }
}
