//! Ensemble execution: each accelerator is workers of its own behind bounded queues.
//!
//! As in the paper's hardware (AccelFlow, section IV.A), an accelerator has an input queue, and an
//! overflow area behind it; there may be several instances of each. A step that finds all of them
//! full is done by the core that asked for it: a full queue is a value and not a reason to grow.
//! The bodies and the traces are those of inline execution, and so are the results, byte for byte.

mod bodies;
mod instance;
mod pace;
mod settings;
mod workers;

pub use bodies::PooledBodies;
pub use settings::{PoolCounters, PoolError, PoolSettings};
pub use workers::Pools;
