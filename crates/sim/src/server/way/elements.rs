//! The start, execution and end of operations on processing elements.

use accelflow_units::Time;

use crate::hardware::Element;
use crate::plan::Operation;
use crate::server::activity::Wait;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{Event, Job, JobId, Unit};
use crate::stats::Part;

impl Engine<'_> {
    /// Starts operations on the idle elements of `unit`.
    #[inline(always)]
    pub(crate) fn start_elements(&mut self, unit: Unit, now: Time) {
        if self.ensemble.station(unit).can_start() {
            self.start_ready(unit, now);
        }
    }

    #[inline(never)]
    fn start_ready(&mut self, unit: Unit, now: Time) {
        while let Some((id, element)) = self.start_next(unit, now) {
            self.begin_at_once(id, element, now);
        }
    }

    /// Begins the operation of a job on the element that it was given: most operations neither wait
    /// for the element nor are stopped, and their payloads fit queue entries.
    #[inline(always)]
    pub(crate) fn begin_at_once(&mut self, id: JobId, element: Element, now: Time) {
        self.show_waited(id, Wait::Input, now);
        let job = self.jobs.get_mut(id);
        job.path.spend(Part::Queueing, now);
        job.run.steps += 1;
        let (unit, Operation { input, output, .. }) = (job.unit, job.operation);
        let fits = unit.accel == job.accel && input.max(output) <= self.timing.held();
        let loads = element.reloads && self.timing.loads_state(unit.accel);
        if !fits || element.wipes || loads || self.exceptions.stops(job) {
            return self.begin_any(id, element, now);
        }
        let loaded = self.timing.pad_of(input);
        // Most operations leave the size of a payload as it is.
        let written = match output == input {
            true => loaded,
            false => self.timing.pad_of(output),
        };
        let compute = self.timing.compute(job.accel, job.operation.core, input);
        let work = loaded + compute + written;
        let ends = now + work;
        job.run.ends = ends;
        if self.tenancy.limits_time() {
            // Nothing delays this operation: the element is as if idle.
            self.tenancy.spend(id, work, work);
        }
        self.measures.add_work(work);
        let station = self.ensemble.station_mut(unit);
        station.runs_until(ends);
        let refills = station.has_overflow();
        self.schedule(ends, Event::Operated(id));
        if refills {
            self.refill_input(unit, now);
        }
    }

    /// Begins an operation in any case.
    #[inline(never)]
    fn begin_any(&mut self, id: JobId, element: Element, now: Time) {
        let preparation = self.preparation(id, element, now);
        match self.exception(id, preparation) {
            Some(exception) => self.raise(id, exception, now),
            None => self.operate(id, preparation, now),
        }
        let unit = self.jobs.get(id).unit;
        if self.ensemble.station(unit).has_overflow() {
            self.refill_input(unit, now);
        }
    }

    /// Moves the next overflow entry of `unit` to the input entry that has become free.
    #[inline(never)]
    fn refill_input(&mut self, unit: Unit, now: Time) {
        if let Some(refill) = self.refill_next(unit, now) {
            self.refill(refill, now);
        }
    }

    /// The time to prepare the element for an operation.
    ///
    /// "The hardware clears the state of a PE and its scratchpad in between executions of entries
    /// from different tenants" (AccelFlow, section IV.D), and "scratchpad initialization and
    /// wipeout" take time (section VI). The state that a service's requests share is loaded when
    /// the element switches to another service.
    fn preparation(&mut self, id: JobId, element: Element, now: Time) -> Time {
        let unit = self.jobs.get(id).unit;
        let config = &self.run.config.accelerator;
        let mut time = Time::ZERO;
        if element.wipes {
            time += config.wipe_bandwidth.transfer(config.scratchpad);
            time += config.initial_bandwidth.transfer(config.scratchpad);
        }
        if element.reloads && self.timing.loads_state(unit.accel) {
            let movement = self.state_movement(id, unit.place());
            time = self.uncore.carry(&movement, now + time) - now;
        }
        time
    }

    /// Executes an operation after `preparation`: loads the payload into the scratchpad, computes,
    /// and writes back. The part beyond a queue entry is moved from and to memory while the entry
    /// is loaded and written.
    pub(crate) fn operate(&mut self, id: JobId, preparation: Time, now: Time) {
        let job = self.jobs.get(id);
        let (unit, Operation { input, output, .. }) = (job.unit, job.operation);
        let compute = self.compute_there(job);
        let start = now + preparation;
        let entry_loaded = start + self.timing.pad(input);
        let filled = self.load_beyond(id, start).max(entry_loaded);
        let loaded = filled + self.timing.more_pieces(&self.uncore, unit.accel, input);
        let computed = loaded + compute;
        let (until, ends) = if output > self.run.config.accelerator.inline {
            self.schedule(computed, Event::Computed(id));
            let expected = self.timing.expected_move(&self.uncore, unit.accel, output);
            (computed, computed + expected)
        } else {
            let written = computed + self.timing.pad(output);
            self.schedule(written, Event::Operated(id));
            (written, written)
        };
        self.jobs.get_mut(id).run.ends = ends;
        self.measures.add_work(until - now);
        if self.tenancy.limits_time() {
            // The operation alone: not the element's preparation for another tenant, nor waits for
            // memory.
            let due = self.operation_time(self.jobs.get(id));
            self.tenancy.spend(id, until - now, due);
        }
        self.ensemble.station_mut(unit).runs_until(ends);
    }

    /// Writes back a result that does not fit a queue entry.
    pub(crate) fn computed(&mut self, id: JobId, now: Time) {
        let job = self.jobs.get(id);
        let (unit, output) = (job.unit, job.operation.output);
        let entry_written = now + self.timing.pad(output);
        let emptied = self.write_beyond(id, now).max(entry_written);
        let written = emptied + self.timing.more_pieces(&self.uncore, unit.accel, output);
        self.measures.add_work(written - now);
        if self.tenancy.limits_time() {
            self.tenancy.spend(id, written - now, Time::ZERO);
        }
        self.schedule(written, Event::Operated(id));
    }

    /// Time of the job's operation on an element of an idle server.
    pub(crate) fn operation_time(&self, job: &Job) -> Time {
        self.timing
            .operation(&self.uncore, job.accel, job.operation)
    }

    /// An element has completed an operation.
    pub(crate) fn operated(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        self.show_part(id, Part::Accelerator, now);
        let job = self.jobs.get_mut(id);
        job.path.spend(Part::Accelerator, now);
        job.run.waits_since = now;
        self.measures
            .count_operation(&self.requests, job, false, now);
        if job.deadline.is_set() {
            let request = self.requests.get(job.request);
            self.measures
                .count_deadline(request, now > job.deadline.due);
        }
        let fits = self.timing.fits_entry(job.operation.output);
        let frees = fits && job.payload.buffer.is_some();
        let unit = job.unit;
        let station = self.ensemble.station_mut(unit);
        station.stops(job.run.ends);
        let deposited = station.deposit(id, job.owner, now);
        let starts = station.can_start();
        if frees {
            self.free_buffer(id);
        }
        if self.manager.is_central() {
            self.advance(id);
        }
        if !deposited {
            return Ok(());
        }
        self.show_freed(id, now);
        if starts {
            self.start_ready(unit, now);
        }
        self.decide_at_once(id, now)
    }
}
