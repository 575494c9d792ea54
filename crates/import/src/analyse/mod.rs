//! Analysis of distributed traces: the operations of services, and the calls that each operation
//! makes for a request, with their frequencies and durations.

mod analysis;
mod arrivals;
mod calls;
mod durations;
mod groups;
mod sample;
mod shapes;
mod tree;

pub(crate) use analysis::Analysis;
pub(crate) use calls::Class;
pub(crate) use sample::Sample;
pub(crate) use shapes::{ItemStats, Operation, Shape, Totals};
