//! Tenants: the owners of connections, each behind a traffic shaper of ARCUS, and its control
//! plane.

pub(crate) mod control;
pub(crate) mod gates;
pub(crate) mod parameters;
pub(crate) mod settings;
