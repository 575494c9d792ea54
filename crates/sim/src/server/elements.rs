//! Queues and processing elements: admission, overflow, operations.

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use super::SimError;
use super::engine::Engine;
use super::state::{Event, Job, JobId, Task, Transfer, TransferKind, Unit};
use super::tenants::Waiting;
use crate::hardware::{Entry, Placed, Source, Started, Way};
use crate::plan::Operation;
use crate::stats::{Fallback, Part};

impl Engine<'_> {
    /// A chain starts on accelerators: the payload is in memory, or, for a message, at the TCP.
    pub(super) fn start_on_accelerators(
        &mut self,
        job: JobId,
        message: bool,
        now: Time,
    ) -> Result<(), SimError> {
        if message {
            return match self.may_run(Waiting::Message(job), now)? {
                true => self.admit_message(job, now),
                false => Ok(()),
            };
        }
        match self.may_run(Waiting::Enqueue(job), now)? {
            true => self.enqueue_by_core(job, true, now),
            false => Ok(()),
        }
    }

    /// A core executes Enqueue. It does not see the queues, so it asks one instance after the
    /// other, and gives up after some attempts: "if, after multiple attempts, the core cannot
    /// find it, trace execution falls back to the core" (AccelFlow, section IV.A). `running` says
    /// that the thread has the core.
    pub(super) fn enqueue_by_core(
        &mut self,
        id: JobId,
        running: bool,
        now: Time,
    ) -> Result<(), SimError> {
        let config = &self.run.config.accelerator;
        let Job {
            request,
            accel,
            attempts,
            ..
        } = *self.jobs.get(id);
        let (instances, limit) = (config.instances_of(accel) as u64, config.enqueue_attempts);
        let core = self.requests.get(request).core;
        let instance = ((u64::from(core) + u64::from(attempts)) % instances) as u8;
        let unit = Unit {
            instance,
            ..self.jobs.get(id).unit()
        };
        let reserved = match &mut self.central {
            Some(central) => central.reserve(),
            None => self.station(unit).reserve_input(),
        };
        if reserved {
            self.jobs.get_mut(id).instance = instance;
            match self.run.orchestrator.submission(self.run.config) {
                Some(visit) => self.visit_manager(visit, Event::Submitted(id), now),
                None if self.run.orchestrator.software_queues() => {
                    self.pushed(Event::Begun(id), now);
                }
                None => self.submitted(id, now),
            }
            return Ok(());
        }
        self.jobs.get_mut(id).attempts += 1;
        if u64::from(attempts) + 1 >= limit {
            self.station(unit).turned_away += 1;
            self.count_fallback(request, Fallback::EnqueueDenied);
            return self.run_software(id, running, now);
        }
        let again = self.run.orchestrator.start(self.run.config);
        if running {
            self.resume_task(core, Task::Enqueue(id), again, now);
        } else {
            let again = self.run.config.core.context_switch + again;
            self.push_task(core, Task::Enqueue(id), again, now);
        }
        Ok(())
    }

    /// A chain whose payload is in memory has a place in a queue.
    pub(super) fn submitted(&mut self, job: JobId, now: Time) {
        self.jobs.get_mut(job).known = true;
        if self.central.is_some() {
            self.deliver_centrally(job, now);
        } else {
            let unit = self.jobs.get(job).unit();
            self.deliver_payload(job, unit, now);
        }
    }

    /// Enqueue has stored the trace in an entry; an A-DMA engine collects the payload.
    fn deliver_payload(&mut self, job: JobId, unit: Unit, now: Time) {
        self.expect(job, 2);
        self.delivered(job, now);
        let way = Way::Read(Source::Core, unit.place());
        let transfer = Transfer {
            job,
            kind: TransferKind::Forward,
            source: None,
        };
        let movement = self.entry_movement(job, way);
        self.transfer(transfer, movement, now);
    }

    /// The reserved input entry of `job` is ready when so many sources have delivered to it.
    pub(super) fn expect(&mut self, job: JobId, sources: u8) {
        self.jobs.get_mut(job).missing = sources;
    }

    /// A source has delivered to the input entry of `job`: "the dispatcher marks the entry as
    /// ready when all data has arrived" (AccelFlow, section IV.A).
    pub(super) fn delivered(&mut self, job: JobId, now: Time) {
        let entry = self.jobs.get_mut(job);
        entry.missing = entry.missing.saturating_sub(1);
        if entry.missing == 0 {
            self.enqueue(job, now);
        }
    }

    /// Takes an entry for `job` at the instance of `accel` that it is to go to: in the input
    /// queue, or in the overflow area; `None` if both are full.
    pub(super) fn reserve(&mut self, id: JobId, accel: Accel) -> Option<TransferKind> {
        let unit = self.host_for(id, accel);
        let job = self.jobs.get_mut(id);
        (job.accel, job.host) = (accel, unit.accel);
        (job.instance, job.missing) = (unit.instance, 1);
        let station = self.station(unit);
        if station.reserve_input() {
            Some(TransferKind::Forward)
        } else if station.reserve_overflow() {
            Some(TransferKind::Spill)
        } else {
            None
        }
    }

    /// Responses leave by the TCP that has the connection, which is in its state; else the
    /// least loaded instance, the first of equals.
    pub(super) fn instance_for(&self, id: JobId, accel: Accel) -> u8 {
        let instances = self.run.config.accelerator.instances_of(accel);
        if instances == 1 {
            return 0;
        }
        let request = self.requests.get(self.jobs.get(id).request);
        if accel == Accel::Tcp && self.is_last_phase(request) {
            return request.tcp;
        }
        let unit = |instance: usize| Unit {
            accel,
            instance: instance as u8,
            part: self.jobs.get(id).part,
        };
        let load = |&instance: &usize| self.stations[self.place_of(unit(instance))].load();
        let least = (0..instances).min_by_key(load);
        least.map_or(0, |instance| instance as u8)
    }

    /// A message arrives at a TCP: from outside, so no DMA engine is involved.
    pub(super) fn admit_message(&mut self, job: JobId, now: Time) -> Result<(), SimError> {
        let unit = self.jobs.get(job).unit();
        self.receive_beyond(job, now);
        if self.central.is_some() {
            return self.admit_centrally(job, now);
        }
        if self.station(unit).reserve_input() {
            self.enqueue(job, now);
        } else if self.station(unit).reserve_overflow() {
            self.receive_overflow(job, now);
            self.spilled(job, now);
        } else {
            return self.fall_back(job, None, now);
        }
        Ok(())
    }

    /// A reserved input entry is ready.
    pub(super) fn enqueue(&mut self, id: JobId, now: Time) {
        let (entry, unit) = (self.entry(id), self.jobs.get(id).unit());
        self.jobs.get_mut(id).due = entry.due;
        let placed = self.station(unit).ready(entry, now);
        if placed != Placed::InOrder {
            let service = usize::from(entry.owner.service);
            let stats = &mut self.services[service];
            stats.exchanged += u64::from(placed == Placed::Exchanged);
            stats.expected_late += u64::from(placed == Placed::Late);
        }
        self.start_elements(unit, now);
    }

    /// What the input dispatcher reads of `job`.
    fn entry(&self, id: JobId) -> Entry<JobId> {
        let job = self.jobs.get(id);
        let request = self.requests.get(job.request);
        let (due, work) = if self.policy.has_deadlines() {
            (self.advance_deadline(job), self.element_time(id))
        } else {
            (job.due, Time::ZERO)
        };
        Entry {
            item: id,
            owner: request.owner(),
            priority: request.priority,
            due,
            work,
        }
    }

    pub(super) fn start_elements(&mut self, unit: Unit, now: Time) {
        while let Some(started) = self.station(unit).start(now) {
            let job = started.item;
            self.spend(job, Part::Queueing, now);
            let preparation = self.preparation(unit, started, now);
            self.jobs.get_mut(job).steps += 1;
            match self.exception(job, preparation) {
                Some(exception) => self.raise(job, exception, now),
                None => self.operate(job, preparation, now),
            }
            if let Some(refill) = self.station(unit).refill() {
                self.refill(refill, now);
            }
        }
    }

    /// "The hardware clears the state of a PE and its scratchpad in between executions of entries
    /// from different tenants" (AccelFlow, section IV.D), and "scratchpad initialization and
    /// wipeout" take time (section VI); what a service's requests share is loaded when the element
    /// goes on with another service.
    fn preparation(&mut self, unit: Unit, started: Started<JobId>, now: Time) -> Time {
        let config = &self.run.config.accelerator;
        let mut time = Time::ZERO;
        if started.wipes {
            time += config.wipe_bandwidth.transfer(config.scratchpad);
            time += config.initial_bandwidth.transfer(config.scratchpad);
        }
        let described = matches!(unit.accel, Accel::Ser | Accel::Dser);
        if started.reloads && described && config.service_state > Bytes(0) {
            let movement = self.state_movement(started.item, unit.place());
            time = self.uncore.carry(&movement, now + time) - now;
        }
        time
    }

    /// Loads into the scratchpad after `preparation`, computes and writes back. What lies beyond a
    /// queue entry comes from memory and goes there while the entry is loaded and written.
    pub(super) fn operate(&mut self, id: JobId, preparation: Time, now: Time) {
        let job = *self.jobs.get(id);
        let Operation { input, output, .. } = job.operation;
        let start = now + preparation;
        let filled = self.load_beyond(id, start).max(start + self.pad(input));
        let loaded = filled + self.more_pieces(job.host, input);
        let computed = loaded + self.compute_there(&job);
        let ends = if output > self.run.config.accelerator.inline {
            self.element_works(job.unit(), computed - now);
            self.schedule(computed, Event::Computed(id));
            computed + self.expected_move(job.host, output)
        } else {
            let written = computed + self.pad(output);
            self.element_works(job.unit(), written - now);
            self.schedule(written, Event::Operated(id));
            written
        };
        self.jobs.get_mut(id).ends = ends;
        self.station(job.unit()).runs_until(ends);
    }

    /// A result that does not fit a queue entry is written back.
    pub(super) fn computed(&mut self, id: JobId, now: Time) {
        let job = *self.jobs.get(id);
        let output = job.operation.output;
        let emptied = self.write_beyond(id, now).max(now + self.pad(output));
        let written = emptied + self.more_pieces(job.host, output);
        self.element_works(job.unit(), written - now);
        self.schedule(written, Event::Operated(id));
    }

    fn element_works(&mut self, unit: Unit, work: Time) {
        self.totals.element_work += work;
        self.station(unit).work += work;
    }

    /// Between a queue entry and the scratchpad.
    fn pad(&self, payload: Bytes) -> Time {
        let hardware = &self.run.config.accelerator;
        let rate = hardware.scratchpad_bandwidth;
        hardware.scratchpad_latency + rate.transfer(self.inline(payload))
    }

    /// What does not fit the scratchpad passes through it in pieces, each of which pays the
    /// latencies anew.
    fn more_pieces(&self, accel: Accel, payload: Bytes) -> Time {
        let hardware = &self.run.config.accelerator;
        match payload.beyond(hardware.scratchpad) {
            Bytes(0) => Time::ZERO,
            rest => {
                let more = rest.get().div_ceil(hardware.scratchpad.get());
                let latency = self.uncore.unloaded(accel, Bytes(0));
                (latency + hardware.scratchpad_latency) * more
            }
        }
    }

    /// How long a payload takes into or out of the scratchpad if nothing is in its way.
    fn expected_move(&self, accel: Accel, payload: Bytes) -> Time {
        let beyond = match payload.beyond(self.run.config.accelerator.inline) {
            Bytes(0) => Time::ZERO,
            rest => self.uncore.unloaded(accel, rest),
        };
        self.pad(payload).max(beyond) + self.more_pieces(accel, payload)
    }

    /// How long an element is expected to take for an operation: all of it, with nothing in its
    /// way.
    pub(super) fn element_time(&self, job: JobId) -> Time {
        let job = self.jobs.get(job);
        self.operation_time(job.accel, job.operation)
    }

    /// The same for any operation.
    pub(super) fn operation_time(&self, accel: Accel, operation: Operation) -> Time {
        let Operation {
            core,
            input,
            output,
        } = operation;
        self.expected_move(accel, input)
            + self.compute(accel, core, input)
            + self.expected_move(accel, output)
    }

    pub(super) fn spilled(&mut self, job: JobId, now: Time) {
        let (entry, unit) = (self.entry(job), self.jobs.get(job).unit());
        if let Some(refill) = self.station(unit).spilled(entry, now) {
            self.refill(refill, now);
        }
    }

    pub(super) fn refill(&mut self, job: JobId, now: Time) {
        self.spend(job, Part::Queueing, now);
        let place = self.jobs.get(job).unit().place();
        let movement = self.overflow_movement(job, Way::Read(Source::Memory, place));
        let done = self.uncore.carry(&movement, now);
        self.schedule(done, Event::Refilled(job));
    }

    /// An operation has completed in its processing element.
    pub(super) fn operated(&mut self, job: JobId, now: Time) -> Result<(), SimError> {
        self.spend(job, Part::Accelerator, now);
        let entry = *self.jobs.get(job);
        let unit = entry.unit();
        self.log(&entry, false, now);
        self.totals.on_accelerators[entry.accel.index()] += 1;
        self.jobs.get_mut(job).deposited = now;
        if entry.operation.output <= self.run.config.accelerator.inline {
            self.free_buffer(job);
        }
        let owner = self.requests.get(entry.request).owner();
        if entry.due < Time::MAX {
            let stats = &mut self.services[usize::from(owner.service)];
            stats.deadlines += 1;
            stats.deadlines_missed += u64::from(now > entry.due);
        }
        self.station(unit).stops(entry.ends);
        self.advance(job);
        if self.station(unit).deposit(job, owner, now) {
            self.start_elements(unit, now);
            self.decide(job, now)?;
        }
        Ok(())
    }

    /// The data of a job has left its output entry at `unit`.
    pub(super) fn withdraw(&mut self, id: JobId, unit: Unit, now: Time) {
        if let Some(blocked) = self.station(unit).withdraw(now) {
            self.unblocked.push(blocked);
        }
        self.end_dispatch(unit, id, now);
    }

    /// Lets results go on that were given an output entry, and traces start that waited for
    /// others of their tenants to end.
    pub(super) fn settle(&mut self, now: Time) -> Result<(), SimError> {
        loop {
            if let Some(job) = self.unblocked.pop() {
                self.start_elements(self.jobs.get(job).unit(), now);
                self.decide(job, now)?;
            } else if let Some(tenant) = self.admissible.pop() {
                self.admit_waiting(tenant, now)?;
            } else {
                return Ok(());
            }
        }
    }

    /// What of a payload is in a queue entry; the rest is in memory already.
    pub(super) fn inline(&self, payload: Bytes) -> Bytes {
        payload.min(self.run.config.accelerator.inline)
    }

    /// What crosses a wire with an entry: at most the inline part of the payload, and the rest of
    /// the entry.
    pub(super) fn entry_size(&self, payload: Bytes) -> Bytes {
        self.inline(payload) + self.run.config.network.entry_overhead
    }
}
