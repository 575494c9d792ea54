//! The memory allocators of services, which provide buffers for payloads.

use accelflow_kernel::attribute;
use accelflow_units::Bytes;

use crate::server::state::{Buffer, CoreId, RequestId};

/// Size of the address region of a service.
pub(crate) const REGION: u64 = 1 << 40;

/// Number of places where a service's memory may begin: every 2 MiB in the first half of its
/// region.
const PLACES: u64 = REGION / PLACE / 2;
/// Distance between these places.
const PLACE: u64 = 1 << 21;
/// The seed of the address layout.
const LAYOUT: u64 = 1;

/// The smallest buffer: a transaction, so that no transaction spans two buffers.
const SMALLEST: u64 = 2_048;
/// Number of buffer sizes, each twice the one before.
const SIZES: usize = 29;

/// The allocators of all services, and the buffers that threads hold.
///
/// As in allocators with a heap for each thread or core, a freed buffer goes back to the heap that
/// it came from, and a heap first hands out the buffer that was freed last.
#[derive(Clone, Debug)]
pub(crate) struct Buffers {
    services: Vec<Memory>,
    heaps: usize,
    /// By request in flight: the buffers that its chains have left for its thread.
    given: Vec<Vec<Buffer>>,
}

/// The address at which the buffers of a service begin. It is random, so that services do not
/// collide in the same sets of a TLB.
fn beginning(service: usize) -> u64 {
    let service = service as u64;
    REGION * (service + 1) + attribute(LAYOUT, service, 0) % PLACES * PLACE
}

/// The memory of a service.
#[derive(Clone, Debug)]
struct Memory {
    /// Free addresses, by size, then by heap; the one freed last is the last.
    free: Vec<Vec<u64>>,
    /// The first address that was never handed out.
    unused: u64,
}

impl Buffers {
    /// Allocators of `services` services with `heaps` heaps each.
    pub(crate) fn new(services: usize, heaps: usize) -> Buffers {
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

    /// Allocates at least `size` for a thread of `service` on `core`.
    pub(crate) fn allocate(&mut self, service: u16, core: CoreId, size: Bytes) -> Buffer {
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

    /// Frees a buffer of `service`.
    pub(crate) fn free(&mut self, service: u16, buffer: Buffer) {
        self.services[usize::from(service)].free[buffer.list].push(buffer.address);
    }

    /// Hands a buffer to the thread of `request`.
    pub(crate) fn give(&mut self, request: RequestId, buffer: Buffer) {
        let request = request as usize;
        if self.given.len() <= request {
            self.given.resize(request + 1, Vec::new());
        }
        self.given[request].push(buffer);
    }

    /// Frees the buffers of the thread of `request`, which is of `service`.
    pub(crate) fn free_given(&mut self, request: RequestId, service: u16) {
        let Some(given) = self.given.get_mut(request as usize) else {
            return;
        };
        let memory = &mut self.services[usize::from(service)];
        for buffer in given.drain(..) {
            memory.free[buffer.list].push(buffer.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Bytes = Bytes::from_kib(2);

    #[test]
    fn the_buffer_freed_last_is_handed_out_first() {
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
        let addresses = [small, large, largest].map(|buffer| buffer.address - beginning(0));
        assert_eq!(addresses, [0, 4_096, 8_192], "each a multiple of its size");
        buffers.free(0, small);
        assert_eq!(
            buffers.allocate(0, 0, Bytes(4_096)).address,
            beginning(0) + 16_384
        );
        assert_eq!(buffers.allocate(0, 0, SMALL), small);
    }
}
