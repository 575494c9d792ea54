//! The trace language (`accelflow_trace`) for `accelflow.trace`: nodes, libraries and images.

pub(crate) mod failure;
pub(crate) mod image;
pub(crate) mod library;
pub(crate) mod node;
