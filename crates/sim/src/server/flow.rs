//! Jobs on their way: forwarded, parked, answered, ended, rescued.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::SimError;
use super::engine::Engine;
use super::state::{Event, Held, JobId, Transfer, TransferKind, Unit};
use super::tenants::Waiting;
use crate::config::Parking;
use crate::hardware::{Movement, Way};
use crate::orchestrators::Next;
use crate::stats::{Fallback, Part};

impl Engine<'_> {
    /// All decisions are taken: move the entry out of the output queue.
    pub(super) fn forward(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        if !self.arms.is_empty() {
            self.start_arms(id, now)?;
        }
        let job = *self.jobs.get(id);
        let source = Some(job.unit());
        let here = job.unit().place();
        match job.next {
            Next::Forward(_) if job.meets => return self.come_to_join(id, source, now),
            Next::Forward(to) if self.central.is_some() => {
                return self.forward_centrally(id, to, source, now);
            }
            Next::Forward(to) => {
                let Some(kind) = self.reserve(id, to) else {
                    return self.fall_back(id, source, now);
                };
                let movement = match kind {
                    TransferKind::Spill => self.overflow_movement(id, Way::Write(here)),
                    _ => {
                        let there = self.jobs.get(id).unit().place();
                        self.entry_movement(id, Way::Queues(here, there))
                    }
                };
                let transfer = Transfer {
                    job: id,
                    kind,
                    source,
                };
                self.transfer(transfer, movement, now);
            }
            Next::Park => {
                self.withdraw(id, job.unit(), now);
                self.park(id, now);
            }
            Next::End => {
                let movement = self.result_movement(id, job.operation.output, here);
                let transfer = Transfer {
                    job: id,
                    kind: TransferKind::Result,
                    source,
                };
                self.transfer(transfer, movement, now);
            }
        }
        Ok(())
    }

    /// The next trace waits at this TCP for a message. Where the accelerators keep it
    /// (`tcp.parking`), it takes an entry there; otherwise the core has posted a buffer, and the
    /// message finds the TCP.
    pub(super) fn park(&mut self, id: JobId, now: Time) {
        self.trace_ended(id);
        self.free_buffer(id);
        let here = Unit {
            accel: Accel::Tcp,
            ..self.jobs.get(id).unit()
        };
        let keeps = match self.run.config.tcp.parking {
            Parking::Traces => self.run.orchestrator.parks(),
            Parking::All => true,
            Parking::None => false,
        };
        let held = if !keeps {
            Held::Nowhere
        } else if let Some(entry) = self.hold_entry(here) {
            entry
        } else {
            self.station(here).turned_away += 1;
            let request = self.jobs.get(id).request;
            self.count_fallback(request, Fallback::OverflowFull);
            Held::Core
        };
        self.jobs.get_mut(id).held = held;
        self.await_message(id, now);
    }

    /// Takes an entry for what waits at `unit`, or in the queue that all accelerators share.
    fn hold_entry(&mut self, unit: Unit) -> Option<Held> {
        let input = match &mut self.central {
            Some(central) => central.reserve(),
            None => self.station(unit).reserve_input(),
        };
        if input {
            return Some(Held::Input);
        }
        let overflow = match &mut self.central {
            Some(central) => central.reserve_overflow(),
            None => self.station(unit).reserve_overflow(),
        };
        overflow.then_some(Held::Overflow)
    }

    /// Gives up the entry that a job has waited in for a message that does not come.
    pub(super) fn release_held(&mut self, held: Held, unit: Unit, now: Time) {
        match (held, &mut self.central) {
            (Held::Input, Some(central)) => {
                if let Some(next) = central.release() {
                    self.recall(next, now);
                }
            }
            (Held::Overflow, Some(central)) => central.release_overflow(),
            (Held::Input, None) => {
                if let Some(refill) = self.station(unit).release_input() {
                    self.refill(refill, now);
                }
            }
            (Held::Overflow, None) => self.station(unit).release_overflow(),
            (Held::Core | Held::Nowhere, _) => {}
        }
    }

    pub(super) fn await_message(&mut self, id: JobId, now: Time) {
        let wait = self.remote_wait(id);
        let timeout = self.run.config.tcp.timeout;
        let job = self.jobs.get_mut(id);
        if job.due < Time::MAX {
            job.due += wait.scale(job.stretch);
        }
        // What comes after the time-out finds nobody, so it need not come at all.
        if wait > timeout {
            self.schedule(now + timeout, Event::TimedOut(id));
        } else {
            self.schedule(now + wait, Event::Answered(id));
        }
    }

    /// The message that a parked job waits for is there.
    pub(super) fn answered(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        self.spend(id, Part::Remote, now);
        if self.jobs.get(id).held != Held::Core && !self.may_run(Waiting::Answer(id), now)? {
            return Ok(());
        }
        self.resume_parked(id, now)
    }

    /// A parked job goes on with its message.
    pub(super) fn resume_parked(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        let mut job = *self.jobs.get(id);
        self.read(&mut job, &mut Vec::new())?;
        let held = std::mem::take(&mut job.held);
        job.known = false;
        job.left = self.time_left(&job)?;
        *self.jobs.get_mut(id) = job;
        match held {
            Held::Input => {
                self.receive_beyond(id, now);
                match self.central {
                    Some(_) => self.entered(id, now),
                    None => self.enqueue(id, now),
                }
            }
            Held::Overflow => {
                self.receive_beyond(id, now);
                self.receive_overflow(id, now);
                match self.central {
                    Some(_) => self.central_spilled(id, now),
                    None => self.spilled(id, now),
                }
            }
            Held::Core => self.run_software(id, false, now)?,
            Held::Nowhere => self.admit_message(id, now)?,
        }
        Ok(())
    }

    /// Asks for an A-DMA engine to move something.
    pub(super) fn transfer(&mut self, transfer: Transfer, movement: Movement, now: Time) {
        if self.dma.request((transfer, movement), now) {
            self.move_data(transfer, &movement, now);
        }
    }

    /// An A-DMA engine is programmed and moves something.
    fn move_data(&mut self, transfer: Transfer, movement: &Movement, now: Time) {
        let programmed = now + self.run.config.network.dma_setup;
        let done = self.uncore.carry(movement, programmed);
        self.schedule(done, Event::Moved(transfer));
    }

    /// An A-DMA engine is done.
    pub(super) fn moved(&mut self, transfer: Transfer, now: Time) -> Result<(), SimError> {
        self.spend(transfer.job, Part::Communication, now);
        if let Some((next, movement)) = self.dma.release(now) {
            self.move_data(next, &movement, now);
        }
        if let Some(source) = transfer.source {
            self.withdraw(transfer.job, source, now);
        }
        match transfer.kind {
            TransferKind::Forward => self.delivered(transfer.job, now),
            TransferKind::Spill => self.spilled(transfer.job, now),
            TransferKind::Central => self.entered(transfer.job, now),
            TransferKind::Join => self.arrived(transfer.job, now)?,
            TransferKind::CentralSpill => self.central_spilled(transfer.job, now),
            TransferKind::Grant => self.granted(transfer.job, now),
            TransferKind::Result => self.notify(transfer.job, now),
            TransferKind::Rescue => self.run_software(transfer.job, false, now)?,
        }
        Ok(())
    }

    pub(super) fn notify(&mut self, job: JobId, now: Time) {
        self.trace_ended(job);
        let clock = self.run.config.core.clock;
        let latency = self.run.config.network.notification.at(clock);
        let core = self.requests.get(self.jobs.get(job).request).core;
        let seen = self.when_seen(core, now + latency);
        self.schedule(seen, Event::Notified(job));
    }

    /// Hands the rest of a job's trace to its core, as queue and overflow area are full: at once
    /// if its payload is in memory, otherwise when it has been moved there from `source`.
    pub(super) fn fall_back(
        &mut self,
        job: JobId,
        source: Option<Unit>,
        now: Time,
    ) -> Result<(), SimError> {
        let moved = *self.jobs.get(job);
        self.count_fallback(moved.request, Fallback::OverflowFull);
        self.station(moved.unit()).turned_away += 1;
        let Some(from) = source else {
            return self.run_software(job, false, now);
        };
        let movement = self.result_movement(job, moved.operation.input, from.place());
        let transfer = Transfer {
            job,
            kind: TransferKind::Rescue,
            source,
        };
        self.transfer(transfer, movement, now);
        Ok(())
    }
}
