//! Networks and A-DMA engines.

use accelflow_units::{Bandwidth, Bytes, Cycles, Time};

/// Networks and A-DMA engines.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkConfig {
    /// A-DMA engines, shared by all accelerators.
    pub dma_engines: usize,
    /// Time to program an engine.
    pub dma_setup: Time,
    /// Latency of one hop in a chiplet's mesh.
    pub hop: Cycles,
    /// Bytes per cycle that a mesh link moves.
    pub link_bytes: u64,
    /// Chiplets: 1, 2, 3, 4 or 6, as in Fig. 18.
    pub chiplets: usize,
    /// Latency of a crossing between chiplets.
    pub inter_chiplet: Cycles,
    /// Rate between chiplets.
    pub inter_chiplet_bandwidth: Bandwidth,
    /// Latency of a notification from an accelerator to a core.
    pub notification: Cycles,
    /// Bytes of a queue entry in addition to the payload.
    pub entry_overhead: Bytes,
}
