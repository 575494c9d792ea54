//! The systems with a manager: RELIEF and its first-come-first-served base.

mod engine;
mod queue;
mod scratchpad;

pub(crate) use engine::run;
pub(crate) use queue::LaunchOrder;
