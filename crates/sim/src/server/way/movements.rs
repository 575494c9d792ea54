//! The memory addresses of data, and the movements of data between memory and queues.

use accelflow_units::{Bytes, Time};

use crate::hardware::{Endpoints, Movement, Place, Source};
use crate::server::engine::Engine;
use crate::server::parts::REGION;
use crate::server::state::{Job, JobId, RequestId};

/// The state that a service's requests share lies this far before the end of the region before its
/// buffers.
const SHARED: u64 = 1 << 30;
/// Overflow areas come after all services, each in a region of its own.
const OVERFLOW: u64 = 1 << 17;
/// Size of the addresses of an overflow entry.
const OVERFLOW_ENTRY: u64 = 4 * 1024;

impl Engine<'_> {
    /// The movement of a job's entry to the queue of its accelerator, from another queue or from
    /// its payload in memory.
    pub(crate) fn entry_movement(&mut self, id: JobId, endpoints: Endpoints) -> Movement {
        let input = self.jobs.get(id).operation.input;
        let address = match endpoints {
            Endpoints::Queues(..) => 0,
            Endpoints::Read(..) | Endpoints::Write(_) => self.payload_address(id, input),
        };
        Movement {
            endpoints,
            address,
            size: self.timing.entry_size(input),
            tenant: self.tenant_number(self.jobs.get(id)),
        }
    }

    /// The movement of a job's entry to or from the overflow area of its accelerator.
    pub(crate) fn overflow_movement(&self, id: JobId, endpoints: Endpoints) -> Movement {
        let job = self.jobs.get(id);
        let hardware = &self.run.config.accelerator;
        let entries = hardware.overflow_entries_of(job.unit.accel).max(1) as u64;
        let area = REGION * (OVERFLOW + job.unit.accel.index() as u64);
        Movement {
            endpoints,
            address: area + u64::from(id) % entries * OVERFLOW_ENTRY,
            size: self.timing.entry_size(job.operation.input),
            tenant: self.tenant_number(job),
        }
    }

    /// The movement of the inline part of `payload` from `place` to memory, where the core reads
    /// it.
    pub(crate) fn result_movement(&mut self, id: JobId, payload: Bytes, place: Place) -> Movement {
        Movement {
            endpoints: Endpoints::Write(place),
            address: self.payload_address(id, payload),
            size: self.timing.inline(payload),
            tenant: self.tenant_number(self.jobs.get(id)),
        }
    }

    /// The movement of the state that a service's requests share to the element that executes `id`.
    pub(crate) fn state_movement(&self, id: JobId, place: Place) -> Movement {
        let request = self.requests.get(self.jobs.get(id).request);
        Movement {
            endpoints: Endpoints::Read(Source::Memory, place),
            address: REGION * (u64::from(request.service) + 1) - SHARED,
            size: self.run.config.accelerator.service_state,
            tenant: request.tenant,
        }
    }

    /// Puts the part of an arrived message that does not fit a queue entry into memory.
    pub(crate) fn receive_beyond(&mut self, id: JobId, now: Time) {
        let input = self.jobs.get(id).operation.input;
        let inline = self.run.config.accelerator.inline;
        if input > inline {
            let buffer = self.new_buffer(id, input);
            let beyond = input.beyond(inline);
            self.uncore.deliver(buffer + inline.get(), beyond, now);
        }
    }

    /// Puts the entry of an arrived message into the overflow area.
    pub(crate) fn receive_overflow(&mut self, id: JobId, now: Time) {
        let place = self.jobs.get(id).unit.place();
        let entry = self.overflow_movement(id, Endpoints::Write(place));
        self.uncore.deliver(entry.address, entry.size, now);
    }

    /// Brings the part of the input beyond the queue entry to the element. Returns the time when it
    /// arrives.
    pub(crate) fn load_beyond(&mut self, id: JobId, now: Time) -> Time {
        let job = self.jobs.get(id);
        let input = job.operation.input;
        if input <= self.run.config.accelerator.inline {
            return now;
        }
        let endpoints = Endpoints::Read(Source::Memory, job.unit.place());
        let address = self.payload_address(id, input);
        self.move_beyond(id, endpoints, address, input, now)
    }

    /// Writes the part of the output beyond the queue entry to a new buffer. Returns the time when
    /// it arrives.
    pub(crate) fn write_beyond(&mut self, id: JobId, now: Time) -> Time {
        let job = self.jobs.get(id);
        let (output, endpoints) = (job.operation.output, Endpoints::Write(job.unit.place()));
        let buffer = self.new_buffer(id, output);
        self.move_beyond(id, endpoints, buffer, output, now)
    }

    fn move_beyond(
        &mut self,
        id: JobId,
        endpoints: Endpoints,
        buffer: u64,
        payload: Bytes,
        now: Time,
    ) -> Time {
        let inline = self.run.config.accelerator.inline;
        let movement = Movement {
            endpoints,
            address: buffer + inline.get(),
            size: payload.beyond(inline),
            tenant: self.tenant_number(self.jobs.get(id)),
        };
        self.uncore.carry(&movement, now)
    }

    /// The tenant that the memory traffic of a job is counted for.
    fn tenant_number(&self, job: &Job) -> u16 {
        self.requests.get(job.request).tenant
    }

    /// The address of a job's payload in memory. A job without a buffer gets one of `size` from its
    /// core's heap.
    pub(crate) fn payload_address(&mut self, id: JobId, size: Bytes) -> u64 {
        match self.jobs.get(id).payload.buffer {
            Some(buffer) => buffer.address,
            None => self.new_buffer(id, size),
        }
    }

    /// Gives a job another buffer, of `size`, and frees its old one.
    pub(crate) fn new_buffer(&mut self, id: JobId, size: Bytes) -> u64 {
        let request = self.requests.get(self.jobs.get(id).request);
        let buffer = self.buffers.allocate(request.service, request.core, size);
        self.free_buffer(id);
        self.jobs.get_mut(id).payload.buffer = Some(buffer);
        buffer.address
    }

    /// Frees the buffer of a job, which has been read for the last time.
    pub(crate) fn free_buffer(&mut self, id: JobId) {
        let job = self.jobs.get_mut(id);
        if let Some(buffer) = job.payload.buffer.take() {
            let request = self.requests.get(job.request);
            self.buffers.free(request.service, buffer);
        }
    }

    /// Hands the buffer of a job to the thread of its request.
    pub(crate) fn give_buffer(&mut self, id: JobId) {
        let job = self.jobs.get_mut(id);
        if let Some(buffer) = job.payload.buffer.take() {
            self.buffers.give(job.request, buffer);
        }
    }

    /// Frees the buffers of the thread of a request.
    pub(crate) fn free_thread_buffers(&mut self, id: RequestId) {
        let service = self.requests.get(id).service;
        self.buffers.free_given(id, service);
    }

    /// Removes a job that has ended, with its buffer.
    pub(crate) fn remove_job(&mut self, id: JobId) {
        self.free_buffer(id);
        self.jobs.remove(id);
    }
}
