//! Sizes of one type of accelerator.

/// Sizes of one type of accelerator; 0 takes the number for all types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnSizes {
    /// Instances.
    pub instances: usize,
    /// Processing elements of each instance.
    pub pes: usize,
    /// Entries of each input queue.
    pub input_entries: usize,
    /// Entries of each output queue.
    pub output_entries: usize,
}
