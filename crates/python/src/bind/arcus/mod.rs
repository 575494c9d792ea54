//! ARCUS, for `accelflow.arcus`: the traffic shaper and the host around it.

pub(crate) mod host;
pub(crate) mod shaping;
