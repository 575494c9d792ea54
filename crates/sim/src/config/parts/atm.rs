//! Parameters of the accelerator trace memory.

use accelflow_units::Time;

/// The parameters of the accelerator trace memory (AccelFlow, section IV.A), from which all output
/// dispatchers read traces (sequences of accelerator operations).
#[derive(Clone, Debug, PartialEq)]
pub struct AtmConfig {
    /// Time to read a word of the trace memory.
    pub latency: Time,
    /// Number of reads of the trace memory that are possible at the same time.
    pub ports: usize,
}
