//! Ensemble execution: each accelerator has its own workers behind bounded queues.
//!
//! As in the paper's hardware (AccelFlow, section IV.A), an accelerator has an input queue, and an
//! overflow area behind it; there may be several instances of each. If all of them are full, the
//! core that asked for the step does it: queues never grow. The bodies and the traces are those of
//! inline execution, and so are the results, byte for byte.

mod bodies;
mod instance;
mod pace;
mod settings;
mod workers;

pub use bodies::PooledBodies;
pub use settings::{PoolCounters, PoolError, PoolSettings};
pub use workers::Pools;
