//! How operations enter the input queues of accelerators.

use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::hardware::{Endpoints, Entry, Placed, Source};
use crate::server::activity::Wait;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{By, Event, JobId, Start, Task, Transfer, TransferKind, Unit};
use crate::stats::Fallback;

impl Engine<'_> {
    /// Starts a chain on accelerators. Its payload is in memory or, for a message, at the TCP.
    pub(crate) fn start_on_accelerators(
        &mut self,
        job: JobId,
        message: bool,
        now: Time,
    ) -> Result<(), Failure> {
        if message {
            let start = Start {
                job,
                by: By::Message,
            };
            if !self.has_memory(start, now)? {
                return Ok(());
            }
            return match self.may_start(start, now)? {
                true => self.admit_message(job, now),
                false => Ok(()),
            };
        }
        match self.may_start(
            Start {
                job,
                by: By::Enqueue,
            },
            now,
        )? {
            true => self.enqueue_by_core(job, true, now),
            false => Ok(()),
        }
    }

    /// A core executes Enqueue. It does not see the queues, so it tries one instance after the
    /// other: "if, after multiple attempts, the core cannot find it, trace execution falls back to
    /// the core" (AccelFlow, section IV.A). `running`: whether the thread has the core.
    pub(crate) fn enqueue_by_core(
        &mut self,
        id: JobId,
        running: bool,
        now: Time,
    ) -> Result<(), Failure> {
        let config = self.run.config;
        let job = self.jobs.get(id);
        let (request, attempts) = (job.request, job.entry.attempts);
        let core = self.requests.get(request).core;
        let accel = match self.manager.is_central() {
            true => job.accel,
            false => config.element_of(job.accel),
        };
        let instances = self.ensemble.instances_of(accel) as u64;
        if instances == 0 {
            self.count_fallback(request, Fallback::NoAccelerator);
            return self.run_software(id, running, now);
        }
        if !self.knows_function(request, accel) {
            self.count_fallback(request, Fallback::UnknownFunction);
            return self.run_software(id, running, now);
        }
        let instance = ((u64::from(core) + u64::from(attempts)) % instances) as u8;
        let unit = self.ensemble.unit(accel, instance, job.unit.share);
        if self.reserve_entry(unit) {
            self.jobs.get_mut(id).unit = unit;
            self.submit(id, now);
            return Ok(());
        }
        self.jobs.get_mut(id).entry.attempts += 1;
        if u64::from(attempts) + 1 >= config.accelerator.enqueue_attempts {
            self.ensemble.station_mut(unit).turned_away += 1;
            self.count_fallback(request, Fallback::EnqueueDenied);
            return self.run_software(id, running, now);
        }
        let again = self.properties.start;
        if running {
            self.resume_task(core, Task::Enqueue(id), again, now);
        } else {
            let again = config.core.context_switch + again;
            self.push_task(core, Task::Enqueue(id), again, now);
        }
        Ok(())
    }

    /// Submits a chain that has a reserved entry: to the manager, through a software queue, or
    /// straight to the accelerator.
    fn submit(&mut self, id: JobId, now: Time) {
        match self.properties.submission {
            Some(visit) => self.visit_manager(visit, Event::Submitted(id), now),
            None if self.has_software_queues() => self.hand_to_accelerator(Event::Begun(id), now),
            None => self.submitted(id, now),
        }
    }

    /// A chain has been submitted. Enqueue has stored the trace in an entry; an A-DMA engine
    /// collects the payload.
    pub(crate) fn submitted(&mut self, job: JobId, now: Time) {
        let entry = self.jobs.get_mut(job);
        entry.entry.known = true;
        if self.manager.is_central() {
            self.deliver_centrally(job, now);
            return;
        }
        // The trace is the first of two sources.
        entry.entry.missing = 1;
        let endpoints = Endpoints::Read(Source::Core, entry.unit.place());
        let movement = self.entry_movement(job, endpoints);
        let transfer = Transfer {
            kind: TransferKind::Forward,
            source: None,
        };
        self.transfer(job, transfer, movement, now);
    }

    /// A source has delivered to the input entry of `job`: "the dispatcher marks the entry as
    /// ready when all data has arrived" (AccelFlow, section IV.A).
    #[inline(always)]
    pub(crate) fn delivered(&mut self, job: JobId, now: Time) {
        let entry = &mut self.jobs.get_mut(job).entry;
        entry.missing = entry.missing.saturating_sub(1);
        if entry.missing == 0 {
            self.enqueue_at_once(job, now);
        }
    }

    /// Reserves an entry for `job` at the accelerator that will execute its operation of `accel`:
    /// in the input queue or in the overflow area. `None` if both are full, or if the chip does not
    /// have the accelerator.
    pub(crate) fn reserve(&mut self, id: JobId, accel: Accel) -> Option<TransferKind> {
        let unit = self.host_for(id, accel);
        let job = self.jobs.get_mut(id);
        (job.accel, job.unit, job.entry.missing) = (accel, unit, 1);
        let request = job.request;
        if !self.has(unit.accel) || !self.knows_function(request, unit.accel) {
            return None;
        }
        let station = self.ensemble.station_mut(unit);
        if station.reserve_input() {
            Some(TransferKind::Forward)
        } else if station.reserve_overflow() {
            Some(TransferKind::Spill)
        } else {
            None
        }
    }

    /// Reserves an input entry of `unit` or, with a central queue, an entry there.
    pub(crate) fn reserve_entry(&mut self, unit: Unit) -> bool {
        match self.manager.queue() {
            Some(queue) => queue.reserve(),
            None => self.ensemble.station_mut(unit).reserve_input(),
        }
    }

    /// Reserves an entry in the overflow area of `unit` or of the central queue.
    pub(crate) fn reserve_overflow(&mut self, unit: Unit) -> bool {
        match self.manager.queue() {
            Some(queue) => queue.reserve_overflow(),
            None => self.ensemble.station_mut(unit).reserve_overflow(),
        }
    }

    /// A message arrives at a TCP from outside, so no A-DMA engine is involved.
    pub(crate) fn admit_message(&mut self, job: JobId, now: Time) -> Result<(), Failure> {
        let unit = self.tcp_of(job);
        self.jobs.get_mut(job).unit = unit;
        if !self.has(unit.accel) {
            return self.fall_back(job, None, now);
        }
        self.receive_beyond(job, now);
        if self.reserve_entry(unit) {
            self.entry_filled(job, now);
        } else if self.reserve_overflow(unit) {
            self.receive_overflow(job, now);
            self.overflow_filled(job, now);
        } else {
            return self.fall_back(job, None, now);
        }
        Ok(())
    }

    /// A reserved entry, of an input queue or of the central queue, has its data.
    pub(crate) fn entry_filled(&mut self, job: JobId, now: Time) {
        if self.manager.is_central() {
            self.entered(job, now);
        } else {
            self.enqueue(job, now);
        }
    }

    /// A reserved entry of an overflow area has its data.
    pub(crate) fn overflow_filled(&mut self, job: JobId, now: Time) {
        if self.manager.is_central() {
            self.central_spilled(job, now);
        } else {
            self.spilled(job, now);
        }
    }

    /// A reserved input entry is ready.
    #[inline(never)]
    pub(crate) fn enqueue(&mut self, id: JobId, now: Time) {
        self.enqueue_at_once(id, now);
    }

    #[inline(always)]
    fn enqueue_at_once(&mut self, id: JobId, now: Time) {
        if self.policies.needs_estimates() {
            return self.enqueue_in_order(id, now);
        }
        let job = self.jobs.get(id);
        let station = self.ensemble.station_mut(job.unit);
        match station.start_at_once(job.owner, now) {
            Some(element) => self.begin_at_once(id, element, now),
            None => self.enqueue_in_order(id, now),
        }
    }

    /// Puts a ready entry into the queue where the policy wants it.
    #[inline(never)]
    fn enqueue_in_order(&mut self, id: JobId, now: Time) {
        let entry = self.queue_entry(id);
        let job = self.jobs.get_mut(id);
        job.deadline.due = entry.due;
        let unit = job.unit;
        let station = self.ensemble.station_mut(unit);
        if !self.policies.order_queues()
            && let Some(element) = station.start_at_once(entry.owner, now)
        {
            self.begin_at_once(id, element, now);
            return;
        }
        let placed = station.ready(entry, now);
        if placed != Placed::InOrder {
            self.measures.count_placed(entry.owner.service, placed);
        }
        self.start_elements(unit, now);
    }

    /// The entry of `job` as the input dispatcher reads it.
    fn queue_entry(&self, id: JobId) -> Entry<JobId> {
        let job = self.jobs.get(id);
        let mut entry = Entry {
            item: id,
            owner: job.owner,
            priority: job.priority,
            due: job.deadline.due,
            work: Time::ZERO,
        };
        if self.policies.needs_estimates() {
            entry.work = self.operation_time(job);
            if job.deadline.is_set() {
                entry.due = job.deadline.after(entry.work);
            }
        }
        entry
    }

    /// A reserved entry of an accelerator's overflow area has its data.
    fn spilled(&mut self, job: JobId, now: Time) {
        let (entry, unit) = (self.queue_entry(job), self.jobs.get(job).unit);
        match self.spill_entry(unit, entry, now) {
            Some(refill) => self.refill(refill, now),
            None => self.make_room(unit, now),
        }
    }

    /// Moves an overflow entry to the input queue.
    pub(crate) fn refill(&mut self, job: JobId, now: Time) {
        self.spend_waiting(job, Wait::Overflow, now);
        let place = self.jobs.get(job).unit.place();
        let movement = self.overflow_movement(job, Endpoints::Read(Source::Memory, place));
        let done = self.uncore.carry(&movement, now);
        self.schedule(done, Event::Refilled(job));
    }
}
