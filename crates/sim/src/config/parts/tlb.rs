//! Parameters of address translation and page faults.

use accelflow_units::{Bytes, Cycles, Time};

/// The parameters of address translation for accelerators (TLBs and IOMMUs) and of page faults.
#[derive(Clone, Debug, PartialEq)]
pub struct TlbConfig {
    /// Number of entries of each accelerator's TLB.
    pub entries: usize,
    /// Associativity of a TLB: the number of ways of each set.
    pub ways: usize,
    /// Number of cycles to look up a page in a TLB.
    pub hit: Cycles,
    /// Size of a memory page.
    pub page: Bytes,
    /// Number of page-table walks that all IOMMUs together can do at the same time.
    pub walkers: usize,
    /// Number of levels of a page table.
    pub walk_levels: u32,
    /// Number of entries of an IOMMU's page-walk cache, which holds the last but one level of the
    /// page table; 0 for no cache.
    pub walk_cache_entries: usize,
    /// Mean number of page faults per million operations on processing elements.
    pub faults_per_million: u64,
    /// Time of the operating system's work on a page fault, without the time to take the interrupt.
    pub fault_service: Time,
}
