//! A simulated server: individual cores (36 by default), nine accelerators with queues,
//! dispatchers and processing elements, A-DMA engines and networks, under one of several
//! orchestrators (AccelFlow, HPCA 2026, sections III to VII).
//!
//! Components are modelled at the level of transactions: a queue entry, a transfer, an operation.
//! Only [`accelflow_trace::step`] decides the next action of a trace.

pub mod compare;
pub mod config;
mod groups;
mod hardware;
pub mod orchestrators;
pub mod plan;
mod server;
mod server_use;
pub mod stats;

pub use config::Config;
pub use server::{
    Activity, Awaited, CoreWork, Execution, HardwareEvent, Limits, Load, Observer, Queue,
    RequestEvent, Run, Seen, ServerResult, ServerShape, SimError, SizedSpeedups, Strand, UnitName,
    UnitShape, Wait, Watch, simulate, simulate_logged, simulate_observed, simulate_servers,
    simulate_servers_observed, simulate_servers_watched, simulate_watched,
};
