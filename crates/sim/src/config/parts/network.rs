//! Parameters of networks and A-DMA engines.

use accelflow_units::{Bandwidth, Bytes, Cycles, Time};

/// The parameters of on-chip networks, links between chiplets and A-DMA engines (DMA engines that
/// move data between accelerator queues and memory).
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkConfig {
    /// Number of A-DMA engines, which all accelerators share.
    pub dma_engines: usize,
    /// Time to program an A-DMA engine for a transfer.
    pub dma_setup: Time,
    /// Latency of one hop between neighbouring routers of a chiplet's mesh, in cycles.
    pub hop: Cycles,
    /// Number of bytes per cycle that a link of a chiplet's mesh moves.
    pub link_bytes: u64,
    /// Number of chiplets: 1, 2, 3, 4 or 6, as in AccelFlow, Fig. 18.
    pub chiplets: usize,
    /// Latency of a crossing from one chiplet to another, in cycles.
    pub inter_chiplet: Cycles,
    /// Data rate of a link between chiplets.
    pub inter_chiplet_bandwidth: Bandwidth,
    /// Latency of a notification from an accelerator to a core, in cycles.
    pub notification: Cycles,
    /// Size of the fields of a queue entry other than the payload, such as the trace and the
    /// tenant's ID.
    pub entry_overhead: Bytes,
}
