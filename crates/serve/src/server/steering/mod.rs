//! Handlers on workers that have a core each.

pub(crate) mod workers;
