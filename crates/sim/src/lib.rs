//! A simulated server: 36 individual cores, nine accelerators with queues, dispatchers and
//! processing elements, A-DMA engines and wires, under one of the ways of orchestrating them
//! (AccelFlow, HPCA 2026, sections III to VII).
//!
//! Components are modelled at the level of transactions: a queue entry, a transfer, an operation.
//! What a trace does next is asked of [`accelflow_trace::step`], never decided here.

pub mod compare;
pub mod config;
mod hardware;
pub mod orchestrators;
pub mod plan;
mod server;
pub mod stats;

pub use config::Config;
pub use server::{Load, Run, SimError, Watch, simulate, simulate_logged, simulate_watched};
