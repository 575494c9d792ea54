//! Statistics of a simulation run, and over several runs.

mod bins;
mod interval;
mod samples;
mod time_average;

pub use bins::BIN_ERROR;
pub use interval::ConfidenceInterval;
pub use samples::Samples;
pub use time_average::{BusyTime, TimeAverage};
