//! Python bindings of ARCUS, for `accelflow.arcus`: the traffic shaper, and the simulated host
//! whose accelerators tenants share.

pub(crate) mod experiments;
pub(crate) mod plan;
pub(crate) mod shaping;
