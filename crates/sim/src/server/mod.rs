//! The simulated server.
//!
//! [`engine`] composes the server from [`parts`] and runs the event loop. [`way`] has the steps of
//! a request, one file for each step. [`state`] has requests, jobs and events.

mod activity;
mod engine;
mod error;
mod observer;
mod parts;
mod report;
mod run;
mod servers;
mod showing;
mod simulate;
mod state;
mod way;

pub use activity::{
    Activity, CoreWork, Execution, HardwareEvent, Queue, ServerShape, Strand, UnitName, UnitShape,
    Wait,
};
pub use error::SimError;
pub use observer::{Awaited, Observer, RequestEvent, Seen};
pub use parts::SizedSpeedups;
pub use run::{Limits, Load, Run, Watch};
pub use simulate::{
    ServerResult, simulate, simulate_logged, simulate_observed, simulate_servers,
    simulate_servers_observed, simulate_servers_watched, simulate_watched,
};
