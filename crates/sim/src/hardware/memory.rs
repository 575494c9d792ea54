use accelflow_units::{Bandwidth, Bytes, Time};

use super::assoc::{Associative, Victim};
use super::divisor::Divisor;
use super::network::Network;
use super::pipe::{Flow, Pipe};
use super::routes::Site;
use super::sizes::Sizes;
use super::topology::Place;
use crate::config::{Config, TRANSACTION};

/// The place of the data of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The private caches of the core that has just written the data.
    Core,
    /// The last-level cache or main memory.
    Memory,
}

/// The shared last-level cache, its slices spread over the cores' chiplet, and main memory behind
/// its controllers, as coherent DMA sees them (AccelFlow, sections IV.A and V.3, Table III).
///
/// A read finds the data in the cache, in a core's private caches, which the slice snoops, or in
/// memory. A write goes to the cache, which invalidates private copies. The content of the cache is
/// tracked exactly, in sets with least-recently-used replacement, at the granularity of a
/// transaction instead of a line.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// Base-2 logarithm of the size of a block in bytes.
    block_bits: u32,
    slices: Vec<Pipe>,
    /// The number of slices, of sets of a slice, and of controllers.
    counts_of: [Divisor; 3],
    kept: Associative,
    slice_latency: Time,
    slice_rate: Bandwidth,
    snoop: Time,
    invalidate: Time,
    controllers: Vec<Pipe>,
    dram_latency: Time,
    dram_rate: Bandwidth,
    fill_bytes_per_s: u64,
    /// Remainder of the fills of cores, in bytes times picoseconds per second.
    fill_left: u128,
    fills: u64,
    /// How long a line occupies a slice.
    line: Time,
    /// How long sizes occupy a slice and a controller.
    lengths: Sizes<(Time, Time)>,
    pub(crate) counts: MemoryCounts,
}

/// Bytes that accelerators and DMA have moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryCounts {
    /// Number of bytes that accelerators, DMA engines and page-table walks read from caches and
    /// main memory.
    pub read_bytes: u64,
    /// Number of the bytes in `read_bytes` that came from main memory.
    pub missed_bytes: u64,
    /// Number of bytes that accelerators and DMA engines wrote to the last-level cache.
    pub written_bytes: u64,
    /// Number of bytes read from and written to main memory, also by cores.
    pub dram_bytes: u64,
}

/// The first number of the blocks that cores bring into the cache, beyond all others.
const FILLS: u64 = 1 << 62;

const LINE: Bytes = Bytes(64);

const PS_PER_S: u128 = 1_000_000_000_000;

impl Memory {
    pub(crate) fn new(config: &Config) -> Memory {
        Memory::with_block(config, TRANSACTION)
    }

    /// The memory system with another granularity than that of a transaction, a power of two.
    pub(crate) fn with_block(config: &Config, block: Bytes) -> Memory {
        let memory = &config.memory;
        let clock = config.core.clock;
        let slices = memory.llc_slices;
        let sets = (memory.llc_slice.get() / block.get()) as usize / memory.llc_ways;
        let sets = sets.max(1);
        let rate = memory.llc_bytes.saturating_mul(clock.as_hz());
        let slice_rate = Bandwidth::from_bytes_per_s(rate).unwrap_or(memory.dram_bandwidth);
        Memory {
            block_bits: block.get().trailing_zeros(),
            line: slice_rate.transfer(LINE),
            lengths: Sizes::new(Bytes(0), (Time::ZERO, Time::ZERO)),
            slices: vec![Pipe::IDLE; slices],
            counts_of: [slices, sets, memory.controllers].map(Divisor::new),
            kept: Associative::new(slices * sets, memory.llc_ways),
            slice_latency: memory.llc.at(clock),
            slice_rate,
            snoop: memory.snoop.at(clock),
            invalidate: memory.invalidate.at(clock),
            controllers: vec![Pipe::IDLE; memory.controllers],
            dram_latency: memory.dram_latency,
            dram_rate: memory.dram_bandwidth,
            fill_bytes_per_s: memory.core_fill_bytes_per_s,
            fill_left: 0,
            fills: 0,
            counts: MemoryCounts::default(),
        }
    }

    /// Latency of a slice.
    pub(crate) fn slice_latency(&self) -> Time {
        self.slice_latency
    }

    /// Reads `size` bytes at `address` for `to`. Returns the time when the last byte arrives. All
    /// transactions are requested at once.
    pub(crate) fn read(
        &mut self,
        network: &mut Network,
        (address, size): (u64, Bytes),
        source: Source,
        to: Place,
        now: Time,
    ) -> Time {
        self.counts.read_bytes += size.get();
        let mut done = now;
        let to = network.site(to);
        for (block, part) in blocks(self.block_bits, address, size) {
            let (slice, set) = self.home(block);
            let there = network.site(Place::Slice(slice as u16));
            let asked = Flow::at(now + network.latency(to, there));
            let length = self.lengths(part).0;
            let mut flow = self.slices[slice].pass(asked, length, self.slice_latency);
            let found = self.kept.touch(block, set, source == Source::Core);
            if source == Source::Core {
                flow = flow.after(self.snoop);
            } else if found.is_err() {
                self.counts.missed_bytes += part.get();
                flow = self.fetch_from_dram(network, block, there, part, flow);
            }
            self.evict(network, found, there, flow.head);
            done = done.max(network.transfer(there, to, part, flow).tail);
        }
        done
    }

    /// Writes `size` bytes at `address` from `from`. Returns the time when the cache has the last
    /// byte and no core has a copy.
    pub(crate) fn write(
        &mut self,
        network: &mut Network,
        (address, size): (u64, Bytes),
        from: Place,
        now: Time,
    ) -> Time {
        self.counts.written_bytes += size.get();
        let mut done = now;
        let from = network.site(from);
        for (block, part) in blocks(self.block_bits, address, size) {
            let (slice, set) = self.home(block);
            let there = network.site(Place::Slice(slice as u16));
            let arrived = network.transfer(from, there, part, Flow::at(now));
            let length = self.lengths(part).0;
            let flow = self.slices[slice]
                .pass(arrived, length, self.slice_latency)
                .after(self.invalidate);
            let found = self.kept.touch(block, set, true);
            self.evict(network, found, there, flow.head);
            done = done.max(flow.tail);
        }
        done
    }

    /// Puts data from outside the package into the cache; nothing waits for it.
    pub(crate) fn deliver(&mut self, network: &mut Network, address: u64, size: Bytes, now: Time) {
        for (block, _) in blocks(self.block_bits, address, size) {
            let (slice, set) = self.home(block);
            let found = self.kept.touch(block, set, true);
            let there = network.site(Place::Slice(slice as u16));
            self.evict(network, found, there, now);
        }
    }

    /// Brings the data of a core that runs for `duration` into the cache, which evicts other data.
    pub(crate) fn core_runs(&mut self, network: &mut Network, duration: Time, now: Time) {
        self.fill_left += u128::from(self.fill_bytes_per_s) * u128::from(duration.as_ps());
        let size = Bytes(1 << self.block_bits);
        let one = u128::from(size.get()) * PS_PER_S;
        while self.fill_left >= one {
            self.fill_left -= one;
            let block = FILLS + self.fills;
            self.fills += 1;
            let (slice, set) = self.home(block);
            let controller = self.controller(block);
            self.dram(controller, size, Flow::at(now));
            let found = self.kept.touch(block, set, false);
            let there = network.site(Place::Slice(slice as u16));
            self.evict(network, found, there, now);
        }
    }

    /// Returns the time when a component has read another word of the block that it has just read,
    /// if there was no other access in between. The block is then the most recently used of its
    /// set.
    #[inline]
    pub(crate) fn read_beside(&mut self, (slice, way): (usize, Time), now: Time) -> Time {
        let length = self.line;
        self.counts.read_bytes += LINE.get();
        let passed = self.slices[slice].pass(Flow::at(now + way), length, self.slice_latency);
        passed.head + way
    }

    /// The size of a block.
    pub(crate) fn block_size(&self) -> u64 {
        1 << self.block_bits
    }

    /// The block of an address.
    pub(crate) fn block(&self, address: u64) -> u64 {
        address >> self.block_bits
    }

    /// The slice of a block, and the time of a command from `to` there.
    pub(crate) fn way_to(&self, network: &mut Network, block: u64, to: Site) -> (usize, Time) {
        let slice = self.home(block).0;
        let there = network.site(Place::Slice(slice as u16));
        (slice, network.latency(to, there))
    }

    /// Reads a word at `address` for a component at `to`. Returns the time when it arrives. A word
    /// uses the command lanes, and occupies a slice and a controller for a line.
    pub(crate) fn read_word(
        &mut self,
        network: &mut Network,
        address: u64,
        to: Site,
        now: Time,
    ) -> Time {
        let block = address >> self.block_bits;
        let (slice, set) = self.home(block);
        let there = network.site(Place::Slice(slice as u16));
        let way = network.latency(to, there);
        let length = self.line;
        self.counts.read_bytes += LINE.get();
        let passed = self.slices[slice].pass(Flow::at(now + way), length, self.slice_latency);
        let found = self.kept.touch(block, set, false);
        if found.is_ok() {
            return passed.head + way;
        }
        self.counts.missed_bytes += LINE.get();
        let controller = self.controller(block);
        let place = network.site(Place::Controller(controller as u16));
        let further = network.latency(there, place);
        let read = self.dram(controller, LINE, Flow::at(passed.head + further));
        let known = read.head + self.dram_latency + further;
        self.evict(network, found, there, known);
        known + way
    }

    fn fetch_from_dram(
        &mut self,
        network: &mut Network,
        block: u64,
        slice: Site,
        size: Bytes,
        flow: Flow,
    ) -> Flow {
        let controller = self.controller(block);
        let there = network.site(Place::Controller(controller as u16));
        let asked = Flow::at(flow.head + network.latency(slice, there));
        let read = self.dram(controller, size, asked).after(self.dram_latency);
        network.transfer(there, slice, size, read)
    }

    /// Writes back an evicted block that was written; nothing waits for it.
    #[inline]
    fn evict(
        &mut self,
        network: &mut Network,
        found: Result<(), Option<Victim>>,
        slice: Site,
        now: Time,
    ) {
        if let Err(Some(Victim { tag, written: true })) = found {
            let controller = self.counts_of[2].divide(tag).1 as usize;
            let size = Bytes(1 << self.block_bits);
            let there = network.site(Place::Controller(controller as u16));
            let flow = network.transfer(slice, there, size, Flow::at(now));
            self.dram(controller, size, flow);
        }
    }

    fn dram(&mut self, controller: usize, size: Bytes, flow: Flow) -> Flow {
        self.counts.dram_bytes += size.get();
        let length = self.lengths(size).1;
        self.controllers[controller].pass(flow, length, Time::ZERO)
    }

    /// How long `size` occupies a slice, and a controller.
    #[inline(always)]
    fn lengths(&mut self, size: Bytes) -> (Time, Time) {
        let (slice, controller) = (self.slice_rate, self.dram_rate);
        let derive = |size| (slice.transfer(size), controller.transfer(size));
        *self.lengths.get(size, derive)
    }

    /// Slice and set of a block. Addresses are interleaved by a multiplicative hash.
    #[inline]
    pub(super) fn home(&self, block: u64) -> (usize, u64) {
        let [slices, sets, _] = self.counts_of;
        let (row, slice) = slices.divide(spread(block));
        let (_, set) = sets.divide(row);
        (
            slice as usize,
            u64::from(slice) * u64::from(sets.by()) + u64::from(set),
        )
    }

    #[inline]
    pub(super) fn controller(&self, block: u64) -> usize {
        self.counts_of[2].divide(spread(block + 1)).1 as usize
    }
}

/// A multiplicative hash with 2^64 over the golden ratio, which spreads consecutive numbers.
#[inline]
fn spread(number: u64) -> u32 {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

/// The blocks of `size` bytes at `address`, and the number of bytes in each.
#[inline]
fn blocks(bits: u32, address: u64, size: Bytes) -> impl Iterator<Item = (u64, Bytes)> {
    let end = address + size.get();
    let last = (touched(end, address) - 1) >> bits;
    (address >> bits..last + 1).map(move |number| {
        let (first, next) = (number << bits, (number + 1) << bits);
        (number, Bytes(end.min(next) - address.max(first)))
    })
}

/// The end of an access that begins at `address`; one without data still touches a byte.
pub(super) fn touched(end: u64, address: u64) -> u64 {
    end.max(address + 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use accelflow_trace::Accel;

    use super::*;

    const SER: Place = Place::Accel(Accel::Ser, 0);
    const KIB: Bytes = Bytes(1024);

    /// One slice at (0, 0) and one controller at (0, 3), so that all ways are known.
    fn server(values: &[(&str, f64)]) -> (Network, Memory) {
        let mut config = Config::default();
        for (key, value) in [("memory.llc_slices", 1.0), ("memory.controllers", 1.0)] {
            config.set(key, value).unwrap();
        }
        for (key, value) in values {
            config.set(key, *value).unwrap();
        }
        (Network::new(&config), Memory::new(&config))
    }

    fn ns(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    /// From Ser at (0, 2) to its port at (1, 1), and from (3, 5) to (0, 0).
    const HOPS: u64 = 2 + 8;
    /// Those hops and the crossing.
    const WAY: Time = Time::from_ps(25_000 + HOPS * 1_250);
    const SLICE: Time = Time::from_ns(15);
    /// 36 cycles.
    const SNOOP: Time = Time::from_ns(15);
    /// 1,024 B at 38.4 GB/s, up to a picosecond.
    const KIB_ON_LINKS: Time = Time::from_ps(26_667);
    /// Three hops each way, and the latency of the memory.
    const DRAM: Time = Time::from_ps(2 * 3 * 1_250 + 50_000);

    #[test]
    fn a_read_takes_the_way_there_the_slice_and_the_way_back() {
        let (mut network, mut memory) = server(&[]);
        memory.deliver(&mut network, 0, KIB, Time::ZERO);
        let at = ns(1_000);
        let done = memory.read(&mut network, (0, KIB), Source::Memory, SER, at);
        assert_eq!(done - at, WAY + SLICE + WAY + KIB_ON_LINKS);
        assert_eq!(memory.counts.missed_bytes, 0);
        assert_eq!(memory.counts.dram_bytes, 0);
    }

    #[test]
    fn what_a_core_has_just_written_is_snooped() {
        let (mut network, mut memory) = server(&[]);
        let done = memory.read(&mut network, (0, KIB), Source::Core, SER, Time::ZERO);
        assert_eq!(done, WAY + SLICE + SNOOP + WAY + KIB_ON_LINKS);
        // From now on the cache has it.
        let at = ns(1_000);
        let again = memory.read(&mut network, (0, KIB), Source::Memory, SER, at);
        assert_eq!(again - at, WAY + SLICE + WAY + KIB_ON_LINKS);
    }

    #[test]
    fn a_miss_goes_on_to_a_controller() {
        let (mut network, mut memory) = server(&[]);
        let done = memory.read(&mut network, (0, KIB), Source::Memory, SER, Time::ZERO);
        assert_eq!(done, WAY + SLICE + DRAM + WAY + KIB_ON_LINKS);
        assert_eq!(memory.counts.missed_bytes, 1_024);
        assert_eq!(memory.counts.dram_bytes, 1_024);
        // At a tenth of the links' rate the memory sets the pace.
        let (mut network, mut memory) = server(&[("memory.dram_gb_per_s", 3.84)]);
        let slow = memory.read(&mut network, (0, KIB), Source::Memory, SER, Time::ZERO);
        let kib_in_memory = Time::from_ps(266_667);
        assert_eq!(slow, WAY + SLICE + DRAM + WAY + kib_in_memory);
    }

    #[test]
    fn a_write_ends_when_no_core_has_a_copy() {
        let (mut network, mut memory) = server(&[]);
        let done = memory.write(&mut network, (0, KIB), SER, Time::ZERO);
        assert_eq!(done, WAY + KIB_ON_LINKS + SLICE + SNOOP);
        assert_eq!(memory.counts.written_bytes, 1_024);
    }

    #[test]
    fn reads_wait_for_a_slice_and_for_a_controller() {
        // Links and a memory so wide that only the slice at 1 B a cycle counts.
        let wide = [
            ("network.link_bytes", 4096.0),
            ("network.inter_chiplet_gb_per_s", 10_000.0),
            ("network.inter_chiplet_cycles", 0.0),
            ("network.hop_cycles", 0.0),
            ("memory.dram_gb_per_s", 10_000.0),
        ];
        let kib = Bytes(960);
        let mut narrow_slice = wide.to_vec();
        narrow_slice.push(("memory.llc_bytes_per_cycle", 1.0));
        let (mut network, mut memory) = server(&narrow_slice);
        let mut read = |memory: &mut Memory, source| {
            memory.read(&mut network, (0, kib), source, SER, Time::ZERO)
        };
        assert_eq!(read(&mut memory, Source::Core), SLICE + SNOOP + ns(400));
        assert_eq!(read(&mut memory, Source::Memory), SLICE + ns(2 * 400));
        let mut narrow_memory = wide.to_vec();
        narrow_memory[4].1 = 0.96;
        let (mut network, mut memory) = server(&narrow_memory);
        let mut miss = |address| {
            let data = (address, kib);
            memory.read(&mut network, data, Source::Memory, SER, Time::ZERO)
        };
        // The slice lets the second through 15 ns after it asks, and 960 B at 153.6 GB/s later.
        assert_eq!(miss(0), SLICE + ns(50) + ns(1_000));
        assert_eq!(miss(4_096), SLICE + ns(50) + ns(2_000));
    }

    #[test]
    fn a_payload_comes_in_transactions_from_several_slices() {
        let (mut network, mut memory) = server(&[("memory.llc_slices", 36.0)]);
        let size = Bytes::from_kib(8);
        memory.deliver(&mut network, 1 << 20, size, Time::ZERO);
        let homes: std::collections::HashSet<usize> = blocks(11, 1 << 20, size)
            .map(|(block, _)| memory.home(block).0)
            .collect();
        assert_eq!(homes.len(), 4);
        let at = ns(1_000);
        let data = (1 << 20, size);
        let done = memory.read(&mut network, data, Source::Memory, SER, at);
        // The link into the accelerator's router carries all of it, from the nearest slice on.
        let all = Bandwidth::from_bytes_per_s(38_400_000_000)
            .unwrap()
            .transfer(size);
        assert!(done - at > all + SLICE + ns(50), "{}", done - at);
        assert!(done - at < all + SLICE + WAY * 2, "{}", done - at);
    }

    #[test]
    fn addresses_are_spread_evenly() {
        let (_, memory) = server(&[("memory.llc_slices", 36.0), ("memory.controllers", 4.0)]);
        let (mut slices, mut controllers) = ([0; 36], [0; 4]);
        for block in 0..3_600 {
            slices[memory.home(block).0] += 1;
            controllers[memory.controller(block)] += 1;
        }
        assert!(
            slices.iter().all(|count| (80..=120).contains(count)),
            "{slices:?}"
        );
        assert!(
            controllers
                .iter()
                .all(|count| (800..=1_000).contains(count))
        );
    }

    #[test]
    fn parts_of_blocks_add_up() {
        let parts: Vec<(u64, Bytes)> = blocks(11, 2_000, Bytes(2_200)).collect();
        let expected = [(0, Bytes(48)), (1, Bytes(2_048)), (2, Bytes(104))];
        assert_eq!(parts, expected);
        let nothing: Vec<(u64, Bytes)> = blocks(11, 4_096, Bytes(0)).collect();
        assert_eq!(nothing, [(2, Bytes(0))], "the way is the same without data");
    }

    #[test]
    fn the_cache_holds_its_capacity_and_writes_back_what_goes() {
        // 32 KiB: one set of 16 ways.
        let (mut network, mut memory) = server(&[("memory.llc_slice_kib", 32.0)]);
        let put = |memory: &mut Memory, network: &mut Network, blocks: u64| {
            for block in 0..blocks {
                memory.write(network, (block * 2_048, TRANSACTION), SER, Time::ZERO);
            }
        };
        let missed = |memory: &mut Memory, network: &mut Network| {
            let before = memory.counts.missed_bytes;
            let data = (0, TRANSACTION);
            memory.read(network, data, Source::Memory, SER, Time::ZERO);
            memory.counts.missed_bytes - before
        };
        put(&mut memory, &mut network, 16);
        assert_eq!(memory.counts.dram_bytes, 0);
        assert_eq!(missed(&mut memory, &mut network), 0);
        put(&mut memory, &mut network, 17);
        // The first of the 17 went, and came back in the place of the second.
        assert_eq!(memory.counts.dram_bytes, 2_048);
        assert_eq!(missed(&mut memory, &mut network), 2_048);
        assert_eq!(memory.counts.dram_bytes, 3 * 2_048);
    }

    #[test]
    fn cores_at_work_push_payloads_out() {
        let values = [
            ("memory.llc_slice_kib", 32.0),
            ("memory.core_fill_gb_per_s", 2.048),
        ];
        let (mut network, mut memory) = server(&values);
        memory.write(&mut network, (0, TRANSACTION), SER, Time::ZERO);
        // A block a microsecond; the sixteenth takes the payload's place.
        memory.core_runs(&mut network, Time::from_ns(15_999), Time::ZERO);
        assert_eq!(memory.counts.dram_bytes, 15 * 2_048);
        memory.core_runs(&mut network, Time::from_ns(1), Time::ZERO);
        assert_eq!(memory.counts.dram_bytes, (16 + 1) * 2_048);
    }
}
