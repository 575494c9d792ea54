//! Traces become operations: what each does for a request, how often and how long.

mod analysis;
mod calls;
mod groups;
mod sample;
mod shapes;
mod tree;

pub(crate) use analysis::Analysis;
pub(crate) use calls::Class;
pub(crate) use sample::Sample;
pub(crate) use shapes::{ItemStats, Operation, Shape, Totals};
