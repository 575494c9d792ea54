//! Operations on processing elements.

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use crate::hardware::Started;
use crate::plan::Operation;
use crate::server::activity::Wait;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{Event, Job, JobId, Unit};
use crate::stats::Part;

impl Engine<'_> {
    /// Starts operations on the idle elements of `unit`.
    #[inline]
    pub(crate) fn start_elements(&mut self, unit: Unit, now: Time) {
        if self.ensemble.station(unit).can_start() {
            self.start_ready(unit, now);
        }
    }

    fn start_ready(&mut self, unit: Unit, now: Time) {
        while let Some(started) = self.start_next(unit, now) {
            self.begin_operation(unit, started, now);
        }
    }

    /// Begins an operation on the element of `unit` that it was given.
    pub(crate) fn begin_operation(&mut self, unit: Unit, started: Started<JobId>, now: Time) {
        let id = started.item;
        self.spend_waiting(id, Wait::Input, now);
        let preparation = self.preparation(unit, started, now);
        self.jobs.get_mut(id).run.steps += 1;
        match self.exception(id, preparation) {
            Some(exception) => self.raise(id, exception, now),
            None => self.operate(id, preparation, now),
        }
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

    /// Executes an operation after `preparation`: loads the payload into the scratchpad, computes,
    /// and writes back. The part beyond a queue entry is moved from and to memory while the entry is
    /// loaded and written.
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
        self.tenancy.spend(id, until - now);
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
        self.tenancy.spend(id, written - now);
        self.schedule(written, Event::Operated(id));
    }

    /// Time of the job's operation on an element of an idle server.
    pub(crate) fn operation_time(&self, job: &Job) -> Time {
        self.timing
            .operation(&self.uncore, job.accel, job.operation)
    }

    /// An element has completed an operation.
    pub(crate) fn operated(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        self.spend(id, Part::Accelerator, now);
        let job = self.jobs.get_mut(id);
        job.run.waits_since = now;
        let (unit, ends) = (job.unit, job.run.ends);
        let fits = job.operation.output <= self.run.config.accelerator.inline;
        let request = self.requests.get(job.request);
        let owner = request.owner();
        self.measures.count_operation(request, job, false, now);
        if job.deadline.is_set() {
            self.measures
                .count_deadline(request, now > job.deadline.due);
        }
        if fits {
            self.free_buffer(id);
        }
        self.advance(id);
        let station = self.ensemble.station_mut(unit);
        station.stops(ends);
        if station.deposit(id, owner, now) {
            self.show_freed(id, now);
            self.start_elements(unit, now);
            self.decide(id, now)?;
        }
        Ok(())
    }
}
