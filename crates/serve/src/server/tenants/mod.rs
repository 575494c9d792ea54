//! The tenants of a running server, to which its connections belong. Each tenant has a traffic
//! shaper as in ARCUS, and one control plane manages all of them.

pub(crate) mod control;
pub(crate) mod gates;
pub(crate) mod parameters;
