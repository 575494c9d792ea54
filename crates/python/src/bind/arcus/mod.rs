//! ARCUS, for `accelflow.arcus`: the traffic shaper and the host around it.

pub(crate) mod experiments;
pub(crate) mod plan;
pub(crate) mod shaping;
