//! Measures the cost of an offload to the ensemble and the times of the software accelerators on
//! this machine. These are the inputs of Accelerometer's equations (Sriraman and Dhanotia, ASPLOS
//! 2020, Table 5): A (speedup of the accelerator), o0 (setup), L (transfer), o1 (thread switch).
//!
//! The host is one core, and the ensemble's workers are on another. Each round measures the
//! software accelerators on both cores, offloads to accelerators that do nothing, and thread
//! switches. Each result of a round is the median of many calls, offloads or switches, so that
//! interruptions of a few of them do not count.

mod bodies;
mod error;
mod machine;
mod offloads;

pub use bodies::SIZES;
pub use error::MeasureError;
pub use machine::{
    ChainCosts, MeasureOptions, MeasuredBodies, MeasuredBody, SizeTimes, measure, measure_chains,
};
pub use offloads::{NothingEnsemble, OffloadCost, switch_ns};
