//! Traces of a service's own: their sources, the check that they fit, and their trace memory.

pub(crate) mod bodies;
pub(crate) mod fit;
pub(crate) mod memory;
pub(crate) mod refusal;
pub(crate) mod slot;
pub(crate) mod source;
