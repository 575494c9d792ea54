//! The trace memory.

use accelflow_units::Time;

/// The trace memory (section IV.A), which all output dispatchers read.
#[derive(Clone, Debug, PartialEq)]
pub struct AtmConfig {
    /// Time to read a word.
    pub latency: Time,
    /// Number of concurrent reads.
    pub ports: usize,
}
