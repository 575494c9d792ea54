//! A service and the accelerators for its kernels.

mod crossing;
mod evaluate;
mod outcome;
mod relation;
mod selected;
mod service;
mod shared;
mod solver;

pub use outcome::{KernelResult, Limit, Losses, ScenarioResult};
pub use relation::RELATION_TOLERANCE;
pub(crate) use selected::Selected;
pub use service::{HostCost, Kernel, Queueing, Scaling, Scenario, Selection, Transfer};
