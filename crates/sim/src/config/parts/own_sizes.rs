//! Parameters of one accelerator type.

use accelflow_units::Time;

/// The sizes and the fixed operation time of one accelerator type, which override the values that
/// apply to all types ([`super::AcceleratorConfig`]). `None` means no override. With 0 instances,
/// processing elements, input entries or output entries, the chip does not have the accelerator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnSizes {
    /// Number of instances of this accelerator type, 0 for none; `None` for the number that all
    /// types have.
    pub instances: Option<usize>,
    /// Number of processing elements of each instance; `None` for the number that all types have.
    pub pes: Option<usize>,
    /// Number of entries of each input queue; `None` for the number that all types have.
    pub input_entries: Option<usize>,
    /// Number of entries of each output queue; `None` for the number that all types have.
    pub output_entries: Option<usize>,
    /// Number of entries of the overflow area that each input queue has; `None` for the number
    /// that all types have.
    pub overflow_entries: Option<usize>,
    /// Fixed time of every operation of this accelerator type, without loading the payload and
    /// writing it back. 0 means that the type's speedup over a core applies instead (for RPC,
    /// [`super::AcceleratorConfig::rpc_message`] comes first). Without effect for Ser and Dser if
    /// the RPC accelerator serializes payloads ([`super::RpcProcessor::Whole`]).
    pub mean_operation: Time,
}
