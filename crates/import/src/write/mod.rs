//! Conversion of analysed operations to a workload: the content of a file of the schema
//! `accelflow.workload/1`.

mod chains;
mod distributions;
mod document;
mod names;
mod own_traces;
mod reached;

pub(crate) use document::{Origin, document};
