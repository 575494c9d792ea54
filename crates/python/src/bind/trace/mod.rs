//! The trace language (`accelflow_trace`) and runs of traces on bytes, for `accelflow.trace`.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod ending;
pub(crate) mod ensemble;
pub(crate) mod execution;
pub(crate) mod failure;
pub(crate) mod image;
pub(crate) mod library;
pub(crate) mod node;
