//! Tenants: the owners of connections, each behind a traffic shaper of ARCUS.

pub(crate) mod gates;
pub(crate) mod settings;
