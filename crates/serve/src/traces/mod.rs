//! Custom traces of a service: their sources, checks and trace memory.

pub(crate) mod bodies;
pub(crate) mod fit;
pub(crate) mod memory;
pub(crate) mod refusal;
pub(crate) mod slot;
pub(crate) mod source;
