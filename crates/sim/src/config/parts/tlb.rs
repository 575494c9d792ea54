//! Address translation and page faults.

use accelflow_units::{Bytes, Cycles, Time};

/// Address translation and page faults.
#[derive(Clone, Debug, PartialEq)]
pub struct TlbConfig {
    /// Entries of each accelerator's TLB.
    pub entries: usize,
    /// Ways of each set.
    pub ways: usize,
    /// Cycles to look a page up.
    pub hit: Cycles,
    /// Size of a page.
    pub page: Bytes,
    /// Concurrent walks of all IOMMUs together.
    pub walkers: usize,
    /// Levels of a page table.
    pub walk_levels: u32,
    /// Entries of an IOMMU's cache of the last but one page-table level.
    pub walk_cache_entries: usize,
    /// Operations per million that cause a page fault.
    pub faults_per_million: u64,
    /// The operating system's work on a page fault.
    pub fault_service: Time,
}
