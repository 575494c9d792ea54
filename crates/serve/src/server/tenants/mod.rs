//! Tenants, which own connections. Each has a traffic shaper of ARCUS, and all have ARCUS's control
//! plane.

pub(crate) mod control;
pub(crate) mod gates;
pub(crate) mod parameters;
