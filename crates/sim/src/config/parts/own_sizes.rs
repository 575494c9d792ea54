//! Sizes of one type of accelerator.

use accelflow_units::Time;

/// Sizes of one type of accelerator, which override the numbers for all types. `None` means no
/// override. A chip with 0 instances, elements, input entries or output entries of an accelerator
/// does not have that accelerator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnSizes {
    /// Instances.
    pub instances: Option<usize>,
    /// Processing elements of each instance.
    pub pes: Option<usize>,
    /// Entries of each input queue.
    pub input_entries: Option<usize>,
    /// Entries of each output queue.
    pub output_entries: Option<usize>,
    /// Entries of the overflow area of each input queue.
    pub overflow_entries: Option<usize>,
    /// Fixed time of every operation. 0 means that the speedup applies instead.
    pub mean_operation: Time,
}
