//! The tenants of a running server. Each tenant has a traffic shaper as in ARCUS, and one control
//! plane manages all tenants.

pub(crate) mod control;
pub(crate) mod gates;
pub(crate) mod parameters;
