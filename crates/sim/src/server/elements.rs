//! Queues and processing elements: admission, overflow, operations.

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use super::SimError;
use super::engine::Engine;
use super::state::{Event, JobId, Transfer, TransferKind};
use crate::hardware::Place;
use crate::plan::Operation;
use crate::stats::Fallback;

impl Engine<'_> {
    /// A chain starts on accelerators: the payload is in memory, or, for a message, at the TCP.
    pub(super) fn start_on_accelerators(
        &mut self,
        job: JobId,
        message: bool,
        now: Time,
    ) -> Result<(), SimError> {
        let accel = self.jobs.get(job).accel;
        if message {
            return self.admit_message(job, now);
        }
        if !self.station(accel).reserve_input() {
            // The thread that has tried has the core.
            self.count_fallback(self.jobs.get(job).request, Fallback::EnqueueDenied);
            return self.run_software(job, true, now);
        }
        let size = self.entry_size(self.jobs.get(job).operation.input);
        let duration = self
            .network
            .transfer(Place::Memory, Place::Accel(accel), size);
        self.transfer(
            Transfer {
                job,
                kind: TransferKind::Forward,
                source: None,
            },
            duration,
            now,
        );
        Ok(())
    }

    /// A message arrives at a TCP: from outside, so no DMA engine is involved.
    pub(super) fn admit_message(&mut self, job: JobId, now: Time) -> Result<(), SimError> {
        let accel = self.jobs.get(job).accel;
        if self.station(accel).reserve_input() {
            self.enqueue(job, now);
        } else if self.station(accel).reserve_overflow() {
            self.spilled(job, now);
        } else {
            return self.fall_back(job, None, now);
        }
        Ok(())
    }

    /// A reserved input entry is ready.
    pub(super) fn enqueue(&mut self, job: JobId, now: Time) {
        let accel = self.jobs.get(job).accel;
        self.station(accel).ready(job);
        self.start_elements(accel, now);
    }

    pub(super) fn start_elements(&mut self, accel: Accel, now: Time) {
        while let Some(job) = self.station(accel).start(now) {
            let work = self.element_time(job);
            self.totals.element_work += work;
            self.station(accel).work += work;
            self.schedule(now + work, Event::Operated(job));
            if let Some(refill) = self.station(accel).refill() {
                self.refill(refill, now);
            }
        }
    }

    /// Load into the scratchpad, compute, write back; the parts beyond the queue entry come from
    /// and go to memory.
    pub(super) fn element_time(&self, job: JobId) -> Time {
        let job = self.jobs.get(job);
        let hardware = &self.run.config.accelerator;
        let pad = |size: Bytes| {
            hardware.scratchpad_latency + hardware.scratchpad_bandwidth.transfer(size)
        };
        let beyond = |size: Bytes| match size.beyond(hardware.inline) {
            Bytes(0) => Time::ZERO,
            rest => {
                let here = Place::Accel(job.accel);
                self.network.transfer(Place::Memory, here, rest)
            }
        };
        let Operation {
            core,
            input,
            output,
        } = job.operation;
        let compute = self.run.config.accelerated(job.accel, core);
        let moved = |size: Bytes| pad(self.inline(size)) + beyond(size);
        moved(input) + compute + moved(output)
    }

    pub(super) fn spilled(&mut self, job: JobId, now: Time) {
        let accel = self.jobs.get(job).accel;
        if let Some(refill) = self.station(accel).spilled(job) {
            self.refill(refill, now);
        }
    }

    pub(super) fn refill(&mut self, job: JobId, now: Time) {
        let entry = self.jobs.get(job);
        let size = self.entry_size(entry.operation.input);
        let duration = self
            .network
            .transfer(Place::Memory, Place::Accel(entry.accel), size);
        self.schedule(now + duration, Event::Refilled(job));
    }

    /// An operation has completed in its processing element.
    pub(super) fn operated(&mut self, job: JobId, now: Time) -> Result<(), SimError> {
        let accel = self.jobs.get(job).accel;
        let entry = *self.jobs.get(job);
        self.log(&entry, false, now);
        self.totals.on_accelerators[accel.index()] += 1;
        self.jobs.get_mut(job).deposited = now;
        if self.station(accel).deposit(job, now) {
            self.start_elements(accel, now);
            self.decide(job, now)?;
        }
        Ok(())
    }

    pub(super) fn withdraw(&mut self, accel: Accel, now: Time) {
        if let Some(blocked) = self.station(accel).withdraw(now) {
            self.unblocked.push(blocked);
        }
    }

    /// Lets results go on that were given an output entry.
    pub(super) fn settle(&mut self, now: Time) -> Result<(), SimError> {
        while let Some(job) = self.unblocked.pop() {
            let accel = self.jobs.get(job).accel;
            self.start_elements(accel, now);
            self.decide(job, now)?;
        }
        Ok(())
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
