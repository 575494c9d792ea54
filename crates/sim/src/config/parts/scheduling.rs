//! Parameters of input dispatchers.

pub use accelflow_shaping::dispatch::DispatchPolicy;

/// The parameters of input dispatchers (AccelFlow, section IV.C).
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulingConfig {
    /// The order in which an input dispatcher loads the ready entries of its queue.
    pub policy: DispatchPolicy,
}
