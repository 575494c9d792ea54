//! Parameters of input dispatchers.

pub use accelflow_shaping::dispatch::DispatchPolicy;

/// The parameters of input dispatchers, which choose the next entry of an accelerator's input queue
/// (AccelFlow, section IV.C).
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulingConfig {
    /// The order in which an input dispatcher loads the ready entries of its queue.
    pub policy: DispatchPolicy,
}
