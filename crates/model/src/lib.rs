//! Closed-form models of acceleration, for questions before anything is simulated or built.
//!
//! * [`accelerometer`]: the speedup of an accelerator (Sriraman and Dhanotia, ASPLOS 2020).
//! * [`cerebros`]: the cycles of an RPC layer if tasks stay on the core (Pourhabibi, Sutherland,
//!   Daglis and Falsafi, MICRO 2021).
//! * [`area`] and [`power`]: the area and power of the accelerators and their orchestration, and
//!   the energy of a run in joules (AccelFlow, HPCA 2026, sections VI and VII.B.5).
//! * [`rpc_place`]: the area and power of RPC accelerators that are shared, in the NIC, or private
//!   to each core.
//!
//! All results are arithmetic on stated inputs, so they are deterministic to the bit. Only
//! [`accelerometer::uncertainty`] and [`accelerometer::simulation`] use random numbers, from a
//! seed.

pub mod accelerometer;
pub mod area;
pub mod cerebros;
mod inputs;
pub mod power;
mod rpc_layer;
pub mod rpc_place;
mod tables;

pub use accelflow_parameters::Refusal;
