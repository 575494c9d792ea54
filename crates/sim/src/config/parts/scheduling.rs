//! Input dispatchers.

pub use accelflow_shaping::dispatch::DispatchPolicy;

/// Input dispatchers (section IV.C).
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulingConfig {
    /// Order in which input dispatchers load ready entries.
    pub policy: DispatchPolicy,
}
