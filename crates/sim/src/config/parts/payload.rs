//! Messages, and the buffers of their payloads.

/// Messages.
#[derive(Clone, Debug, PartialEq)]
pub struct PayloadConfig {
    /// Compression ratio: size of a message over its compressed size.
    pub compression_ratio: f64,
    /// The heaps from which buffers of payloads are allocated.
    pub heaps: Heaps,
}

/// The heaps from which buffers of payloads are allocated. A heap reuses the most recently freed
/// buffer first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heaps {
    /// A heap for each pair of core and service.
    #[default]
    OfCores,
    /// A heap for each service.
    OfServices,
}

impl Heaps {
    /// Both, indexed by the numeric value of `payload.heaps`.
    pub const ALL: [Heaps; 2] = [Heaps::OfCores, Heaps::OfServices];
}
