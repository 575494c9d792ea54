//! Parameters of messages, and of the buffers of their payloads.

/// The parameters of messages and their buffers.
#[derive(Clone, Debug, PartialEq)]
pub struct PayloadConfig {
    /// Size of an uncompressed message divided by its compressed size.
    pub compression_ratio: f64,
    /// From which heaps the buffers of payloads are allocated.
    pub heaps: Heaps,
}

/// The heaps from which a service allocates the buffers of payloads: one for each core, or one for
/// all cores. A heap reuses its most recently freed buffer first, so the choice determines when
/// cores and services reuse the same memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heaps {
    /// Each service has a heap for each core.
    #[default]
    OfCores,
    /// Each service has one heap, which all cores share.
    OfServices,
}

impl Heaps {
    /// Both choices, indexed by the numeric value of the parameter `payload.heaps`.
    pub const ALL: [Heaps; 2] = [Heaps::OfCores, Heaps::OfServices];
}
