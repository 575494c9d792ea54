//! Sizes of one type of accelerator.

use accelflow_units::Time;

/// Sizes of one type of accelerator in place of the numbers for all types. Where it has none of its
/// own, a count of at least 1 is 0 here, and one that may be 0 is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnSizes {
    /// Instances; 0 for a chip without this accelerator.
    pub instances: Option<usize>,
    /// Processing elements of each instance.
    pub pes: usize,
    /// Entries of each input queue.
    pub input_entries: usize,
    /// Entries of each output queue.
    pub output_entries: usize,
    /// Entries of the overflow area of each input queue.
    pub overflow_entries: Option<usize>,
    /// Time of every operation, whatever its payload; 0 applies the speedup.
    pub mean_operation: Time,
}
