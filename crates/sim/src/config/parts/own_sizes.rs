//! Sizes of one type of accelerator.

use accelflow_units::Time;

/// Sizes of one accelerator type, which override those of all types ([`super::AcceleratorConfig`]).
/// `None` means no override. A chip with 0 instances, elements, input entries or output entries of
/// an accelerator does not have that accelerator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnSizes {
    /// Number of instances of this accelerator type.
    pub instances: Option<usize>,
    /// Number of processing elements of each instance.
    pub pes: Option<usize>,
    /// Number of entries of each input queue.
    pub input_entries: Option<usize>,
    /// Number of entries of each output queue.
    pub output_entries: Option<usize>,
    /// Number of entries of the overflow area that each input queue has.
    pub overflow_entries: Option<usize>,
    /// Fixed time of every operation of this accelerator type. 0 means that its speedup applies
    /// instead.
    pub mean_operation: Time,
}
