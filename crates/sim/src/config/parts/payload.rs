//! Messages, and the buffers of their payloads.

/// Messages.
#[derive(Clone, Debug, PartialEq)]
pub struct PayloadConfig {
    /// Size of a message over its size when compressed.
    pub compression_ratio: f64,
    /// Whose heaps give out the buffers of payloads.
    pub heaps: Heaps,
}

/// Whose heaps give out the buffers of payloads. A heap gives out the buffer that was freed last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heaps {
    /// One of each core for each service.
    #[default]
    OfCores,
    /// One of each service.
    OfServices,
}

impl Heaps {
    /// By their numbers in `payload.heaps`.
    pub const ALL: [Heaps; 2] = [Heaps::OfCores, Heaps::OfServices];
}
