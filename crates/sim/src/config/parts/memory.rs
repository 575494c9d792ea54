//! Parameters of the last-level cache and main memory.

use accelflow_units::{Bandwidth, Bytes, Cycles, Time};

/// The parameters of the last-level cache (LLC) and main memory.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryConfig {
    /// Number of slices of the last-level cache.
    pub llc_slices: usize,
    /// Size of a slice of the last-level cache.
    pub llc_slice: Bytes,
    /// Associativity of a slice of the last-level cache: the number of ways of each set.
    pub llc_ways: usize,
    /// Latency of an access to a slice of the last-level cache, in cycles.
    pub llc: Cycles,
    /// Number of bytes per cycle that a slice of the last-level cache reads or writes.
    pub llc_bytes: u64,
    /// Number of cycles to get data from the private caches of a core.
    pub snoop: Cycles,
    /// Number of cycles to invalidate the copies of data in the private caches of a core.
    pub invalidate: Cycles,
    /// Number of bytes per second that a busy core brings from main memory into the last-level
    /// cache.
    pub core_fill_bytes_per_s: u64,
    /// Number of memory controllers.
    pub controllers: usize,
    /// Data rate of each memory controller.
    pub dram_bandwidth: Bandwidth,
    /// Latency of an access to main memory.
    pub dram_latency: Time,
    /// Largest rate at which accelerators and DMA engines move the data of one tenant to and from
    /// memory; `None` for no limit.
    pub tenant_limit: Option<Bandwidth>,
}
