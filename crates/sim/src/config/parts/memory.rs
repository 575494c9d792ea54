//! The last-level cache and main memory.

use accelflow_units::{Bandwidth, Bytes, Cycles, Time};

/// The parameters of the last-level cache (LLC) and main memory.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryConfig {
    /// Number of slices of the last-level cache.
    pub llc_slices: usize,
    /// Size of a slice of the last-level cache.
    pub llc_slice: Bytes,
    /// Associativity of a slice: its number of ways.
    pub llc_ways: usize,
    /// Latency of an access to a slice of the last-level cache, in cycles.
    pub llc: Cycles,
    /// Bytes per cycle that a slice of the last-level cache reads or writes.
    pub llc_bytes: u64,
    /// Cycles to get data from the private caches of a core.
    pub snoop: Cycles,
    /// Cycles to invalidate the copies of data in the private caches of a core.
    pub invalidate: Cycles,
    /// Bytes per second that a busy core brings from main memory into the last-level cache.
    pub core_fill_bytes_per_s: u64,
    /// Number of memory controllers.
    pub controllers: usize,
    /// Data rate of each memory controller.
    pub dram_bandwidth: Bandwidth,
    /// Latency of main memory.
    pub dram_latency: Time,
    /// Largest data rate between memory and accelerators or DMA engines for each tenant; `None` for
    /// no limit.
    pub tenant_limit: Option<Bandwidth>,
}
