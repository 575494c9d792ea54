//! Where data is, what moves it, and what an operation meets on the way: page faults.

use accelflow_units::{Bytes, Time};

use super::buffers::REGION;
use super::engine::Engine;
use super::state::{Job, JobId};
use crate::hardware::{Movement, Place, Source, Way};

/// Attributes of a request from this one on say which operations meet a page fault.
const FAULTS: u64 = 1 << 63;

/// What a service's requests share lies at the end of the region before its buffers.
const SHARED: u64 = 1 << 30;
/// Overflow areas come after all services, each in a region of its own.
const OVERFLOW: u64 = 1 << 17;
/// Addresses of an overflow entry.
const OVERFLOW_ENTRY: u64 = 4 * 1024;

const MILLION: u64 = 1_000_000;

impl Engine<'_> {
    /// Moves the entry of a job to the queue of its accelerator, from a queue or from its payload
    /// in memory.
    pub(super) fn entry_movement(&mut self, id: JobId, way: Way) -> Movement {
        let job = *self.jobs.get(id);
        let address = match way {
            Way::Queues(..) => 0,
            Way::Read(..) | Way::Write(_) => self.payload(id, job.operation.input),
        };
        Movement {
            way,
            address,
            size: self.entry_size(job.operation.input),
            tenant: self.tenant(&job),
        }
    }

    /// Moves the entry of a job to or from the overflow area of its accelerator.
    pub(super) fn overflow_movement(&self, id: JobId, way: Way) -> Movement {
        let entries = self.run.config.accelerator.overflow_entries.max(1) as u64;
        let job = self.jobs.get(id);
        let area = REGION * (OVERFLOW + job.host.index() as u64);
        Movement {
            way,
            address: area + u64::from(id) % entries * OVERFLOW_ENTRY,
            size: self.entry_size(job.operation.input),
            tenant: self.tenant(job),
        }
    }

    /// Moves what a queue entry holds of `payload` from `place` to memory, before what lies there
    /// of it, for the core.
    pub(super) fn result_movement(&mut self, id: JobId, payload: Bytes, place: Place) -> Movement {
        Movement {
            way: Way::Write(place),
            address: self.payload(id, payload),
            size: self.inline(payload),
            tenant: self.tenant(self.jobs.get(id)),
        }
    }

    /// Brings what the requests of a service share to the element that has `id`.
    pub(super) fn state_movement(&self, id: JobId, place: Place) -> Movement {
        let request = self.requests.get(self.jobs.get(id).request);
        Movement {
            way: Way::Read(Source::Memory, place),
            address: REGION * (u64::from(request.service) + 1) - SHARED,
            size: self.run.config.accelerator.service_state,
            tenant: request.tenant,
        }
    }

    /// A message has arrived: what does not fit a queue entry is in memory.
    pub(super) fn receive_beyond(&mut self, id: JobId, now: Time) {
        let job = *self.jobs.get(id);
        let inline = self.run.config.accelerator.inline;
        if job.operation.input > inline {
            let buffer = self.new_buffer(id, job.operation.input);
            let beyond = job.operation.input.beyond(inline);
            self.uncore.deliver(buffer + inline.get(), beyond, now);
        }
    }

    /// A message has arrived, and its entry is in the overflow area.
    pub(super) fn receive_overflow(&mut self, id: JobId, now: Time) {
        let place = self.jobs.get(id).unit().place();
        let entry = self.overflow_movement(id, Way::Write(place));
        self.uncore.deliver(entry.address, entry.size, now);
    }

    /// Brings what lies beyond the queue entry to the element: when it is there.
    pub(super) fn load_beyond(&mut self, id: JobId, now: Time) -> Time {
        let job = *self.jobs.get(id);
        if job.operation.input <= self.run.config.accelerator.inline {
            return now;
        }
        let address = self.payload(id, job.operation.input);
        let way = Way::Read(Source::Memory, job.unit().place());
        self.move_beyond(&job, way, address, job.operation.input, now)
    }

    /// Writes what does not fit the queue entry to a new buffer: when it is there.
    pub(super) fn write_beyond(&mut self, id: JobId, now: Time) -> Time {
        let job = *self.jobs.get(id);
        let buffer = self.new_buffer(id, job.operation.output);
        let way = Way::Write(job.unit().place());
        self.move_beyond(&job, way, buffer, job.operation.output, now)
    }

    fn move_beyond(&mut self, job: &Job, way: Way, buffer: u64, payload: Bytes, now: Time) -> Time {
        let inline = self.run.config.accelerator.inline;
        let movement = Movement {
            way,
            address: buffer + inline.get(),
            size: payload.beyond(inline),
            tenant: self.tenant(job),
        };
        self.uncore.carry(&movement, now)
    }

    /// Whether the operation of a job meets a page fault: the same in every system.
    pub(super) fn faults(&self, id: JobId) -> bool {
        let rate = self.run.config.tlb.faults_per_million;
        if rate == 0 {
            return false;
        }
        let job = self.jobs.get(id);
        let request = self.requests.get(job.request);
        let operation = (job.mark.index() as u64) << 8 | job.accel.index() as u64;
        let purpose = FAULTS | self.trace_of_request(job) << 16 | operation;
        self.attribute(request, purpose) % MILLION < rate
    }

    /// The tenant whose memory traffic this is.
    fn tenant(&self, job: &Job) -> u16 {
        self.requests.get(job.request).tenant
    }

    /// A number for the trace within the request.
    fn trace_of_request(&self, job: &Job) -> u64 {
        let phase = self.requests.get(job.request).phase;
        u64::from(phase) << 24 | u64::from(job.chain & 0xFFF) << 12 | u64::from(job.ordinal & 0xFFF)
    }
}
