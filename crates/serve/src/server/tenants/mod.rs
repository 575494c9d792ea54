//! Tenants: who a connection belongs to, and ARCUS's shaper in front of each.

pub(crate) mod gates;
pub(crate) mod settings;
