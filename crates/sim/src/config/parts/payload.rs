//! Messages, and the buffers of their payloads.

/// Messages.
#[derive(Clone, Debug, PartialEq)]
pub struct PayloadConfig {
    /// Size of a message over its size when compressed.
    pub compression_ratio: f64,
    /// The heaps that buffers of payloads are allocated from.
    pub heaps: Heaps,
}

/// The heaps that buffers of payloads are allocated from. A heap hands out first the buffer that
/// was freed last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heaps {
    /// A heap for each pair of core and service.
    #[default]
    OfCores,
    /// A heap for each service.
    OfServices,
}

impl Heaps {
    /// By their numbers in `payload.heaps`.
    pub const ALL: [Heaps; 2] = [Heaps::OfCores, Heaps::OfServices];
}
