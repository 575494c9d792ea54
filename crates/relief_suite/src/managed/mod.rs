//! The simulated systems with a manager: RELIEF, and first come, first served (FCFS).

mod engine;
mod queue;
mod scratchpad;

pub(crate) use engine::run;
pub(crate) use queue::LaunchOrder;
