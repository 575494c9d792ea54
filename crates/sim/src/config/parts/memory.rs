//! The last-level cache and main memory.

use accelflow_units::{Bandwidth, Bytes, Cycles, Time};

/// The last-level cache and main memory.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryConfig {
    /// Slices of the last-level cache.
    pub llc_slices: usize,
    /// Size of a slice.
    pub llc_slice: Bytes,
    /// Ways of a slice.
    pub llc_ways: usize,
    /// Latency of a slice.
    pub llc: Cycles,
    /// Bytes per cycle that a slice reads or writes.
    pub llc_bytes: u64,
    /// Cycles to get data from the private caches of a core.
    pub snoop: Cycles,
    /// Cycles to remove private copies.
    pub invalidate: Cycles,
    /// Bytes per second that a busy core brings into the last-level cache.
    pub core_fill_bytes_per_s: u64,
    /// Memory controllers.
    pub controllers: usize,
    /// Rate of each controller.
    pub dram_bandwidth: Bandwidth,
    /// Latency of main memory.
    pub dram_latency: Time,
    /// Limit of each tenant's memory traffic.
    pub tenant_limit: Option<Bandwidth>,
}
