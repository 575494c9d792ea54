//! The parts of the simulated server. Each owns its fields and offers methods; the engine composes
//! them.

mod accounts;
mod arrivals;
mod buffers;
mod calls;
mod chain_walk;
mod code;
mod cores;
mod deadlines;
mod dispatchers;
mod ensemble;
mod joins;
mod manager;
mod measures;
mod policies;
mod reader;
mod requests;
mod retries;
mod saturation;
mod shaping;
mod tenancy;
mod timing;
mod usage;
mod watching;
mod window;

pub(super) use arrivals::{Arrival, Arrivals};
pub(super) use buffers::{Buffers, REGION};
pub(super) use calls::Calls;
pub(super) use cores::Cores;
pub(super) use deadlines::{Deadlines, round_trip, unloaded_phases};
pub(super) use dispatchers::Dispatchers;
pub(super) use ensemble::Ensemble;
pub(super) use joins::Joins;
pub(super) use manager::Manager;
pub(super) use measures::{Measured, Measures};
pub(super) use policies::{Policies, Seen};
pub(super) use reader::{Forked, Reading};
pub(super) use requests::Requests;
pub(super) use retries::Retries;
pub(super) use saturation::{Queues, saturation};
pub(super) use tenancy::Tenancy;
pub(super) use timing::Timing;
pub(super) use usage::Usage;
pub(super) use watching::{Shared, Watching};
pub(super) use window::{Busy, Window, WindowEnd};
