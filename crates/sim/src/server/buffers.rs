//! Buffers of payloads: what a service's allocator gives out, and when it gets them back.

use accelflow_kernel::attribute;
use accelflow_units::Bytes;

use super::engine::Engine;
use super::state::{CoreId, JobId, RequestId};

/// Addresses of a service.
pub(super) const REGION: u64 = 1 << 40;

/// Where in its region a service's memory may begin: at any page of 2 MiB in its first half.
const PLACES: u64 = REGION / PLACE / 2;
const PLACE: u64 = 1 << 21;
/// The seed of the layout.
const LAYOUT: u64 = 1;

/// The smallest size that is given out: a transaction, so that none is of two buffers.
const SMALLEST: u64 = 2_048;
/// How many sizes there are, each twice the one before.
const SIZES: usize = 29;

/// A piece of a service's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Buffer {
    pub address: u64,
    /// Where it comes from and goes back to.
    list: usize,
}

/// The allocators of all services, and what threads have been given.
///
/// As in allocators whose heaps are threads' or cores' own, what is freed goes back to the heap
/// that it came from, whoever frees it, and a heap gives out what was freed last.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    services: Vec<Memory>,
    heaps: usize,
    /// By request in flight: what its chains have left in memory for its thread.
    given: Vec<Vec<Buffer>>,
}

/// Where the buffers of a service begin. Address spaces are laid out at random, so that services do
/// not meet in the same sets of a TLB.
fn beginning(service: usize) -> u64 {
    let service = service as u64;
    REGION * (service + 1) + attribute(LAYOUT, service, 0) % PLACES * PLACE
}

/// The memory of a service.
#[derive(Clone, Debug)]
struct Memory {
    /// What is free, by size, then by heap; what was freed last is the last.
    free: Vec<Vec<u64>>,
    /// Where begins what was never given out.
    unused: u64,
}

impl Buffers {
    /// Allocators of `services` services with `heaps` each.
    pub(super) fn new(services: usize, heaps: usize) -> Buffers {
        let memory = |service: usize| Memory {
            free: vec![Vec::new(); SIZES * heaps],
            unused: beginning(service),
        };
        Buffers {
            services: (0..services).map(memory).collect(),
            heaps,
            given: Vec::new(),
        }
    }

    /// Gives a thread of `service` on `core` a buffer of `size` at least.
    fn allocate(&mut self, service: u16, core: CoreId, size: Bytes) -> Buffer {
        let smallest = size.get().div_ceil(SMALLEST).max(1);
        let order = (smallest.next_power_of_two().ilog2() as usize).min(SIZES - 1);
        let list = order * self.heaps + usize::from(core) % self.heaps;
        let memory = &mut self.services[usize::from(service)];
        let address = memory.free[list].pop().unwrap_or_else(|| {
            let bytes = SMALLEST << order;
            let address = memory.unused.next_multiple_of(bytes);
            memory.unused = address + bytes;
            address
        });
        Buffer { address, list }
    }

    /// Takes back a buffer of `service`.
    fn free(&mut self, service: u16, buffer: Buffer) {
        self.services[usize::from(service)].free[buffer.list].push(buffer.address);
    }
}

impl Engine<'_> {
    /// Where the payload of a job is in memory: in a buffer of its core's with room for `size`,
    /// if it has none yet.
    pub(super) fn payload(&mut self, id: JobId, size: Bytes) -> u64 {
        match self.jobs.get(id).buffer {
            Some(buffer) => buffer.address,
            None => self.new_buffer(id, size),
        }
    }

    /// Gives a job another buffer, of `size`; what it had is free.
    pub(super) fn new_buffer(&mut self, id: JobId, size: Bytes) -> u64 {
        let request = self.requests.get(self.jobs.get(id).request);
        let buffer = self.buffers.allocate(request.service, request.core, size);
        self.free_buffer(id);
        self.jobs.get_mut(id).buffer = Some(buffer);
        buffer.address
    }

    /// What a job has in memory has been read for the last time.
    pub(super) fn free_buffer(&mut self, id: JobId) {
        let job = self.jobs.get_mut(id);
        if let Some(buffer) = job.buffer.take() {
            let request = self.requests.get(job.request);
            self.buffers.free(request.service, buffer);
        }
    }

    /// A job has ended, and nobody reads what it has in memory.
    pub(super) fn remove_job(&mut self, id: JobId) {
        self.free_buffer(id);
        self.jobs.remove(id);
    }

    /// The thread of a job's request has what the job has in memory from now on.
    pub(super) fn give_buffer(&mut self, id: JobId) {
        let job = self.jobs.get_mut(id);
        if let Some(buffer) = job.buffer.take() {
            let request = job.request as usize;
            let given = &mut self.buffers.given;
            if given.len() <= request {
                given.resize(request + 1, Vec::new());
            }
            given[request].push(buffer);
        }
    }

    /// The thread of a request has done with what it was given.
    pub(super) fn free_given(&mut self, id: RequestId) {
        let service = self.requests.get(id).service;
        let Some(given) = self.buffers.given.get_mut(id as usize) else {
            return;
        };
        for buffer in std::mem::take(given) {
            self.buffers.free(service, buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Bytes = Bytes::from_kib(2);

    #[test]
    fn what_was_freed_last_is_given_out_first() {
        let mut buffers = Buffers::new(1, 2);
        let [a, b] = [0, 0].map(|core| buffers.allocate(0, core, SMALL));
        let begins = beginning(0);
        assert_eq!([a.address, b.address], [begins, begins + 2_048]);
        buffers.free(0, a);
        buffers.free(0, b);
        assert_eq!(buffers.allocate(0, 0, SMALL), b);
        assert_eq!(buffers.allocate(0, 0, SMALL), a);
        assert_eq!(buffers.allocate(0, 0, SMALL).address, begins + 4_096);
    }

    #[test]
    fn heaps_and_services_have_lists_of_their_own() {
        let mut buffers = Buffers::new(2, 2);
        let a = buffers.allocate(0, 0, SMALL);
        buffers.free(0, a);
        assert_ne!(buffers.allocate(0, 1, SMALL).address, a.address);
        assert_eq!(buffers.allocate(1, 0, SMALL).address, beginning(1));
        assert_eq!(buffers.allocate(0, 2, SMALL), a, "the heap of two cores");
    }

    #[test]
    fn sizes_are_powers_of_two_and_do_not_mix() {
        let mut buffers = Buffers::new(1, 1);
        let small = buffers.allocate(0, 0, Bytes(0));
        let large = buffers.allocate(0, 0, Bytes(2_049));
        let largest = buffers.allocate(0, 0, Bytes(4_097));
        let addresses = [small, large, largest].map(|it| it.address - beginning(0));
        assert_eq!(addresses, [0, 4_096, 8_192], "each a multiple of its size");
        buffers.free(0, small);
        assert_eq!(
            buffers.allocate(0, 0, Bytes(4_096)).address,
            beginning(0) + 16_384
        );
        assert_eq!(buffers.allocate(0, 0, SMALL), small);
    }
}
