//! Handlers on workers that have a core each.

pub(crate) mod settings;
pub(crate) mod workers;
