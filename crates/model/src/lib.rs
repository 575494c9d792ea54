//! Closed-form models of acceleration, for questions before anything is simulated or built.
//!
//! * [`accelerometer`]: the speedup of an accelerator (Sriraman and Dhanotia, ASPLOS 2020).
//! * [`cerebros`]: the cost of leaving a part of the RPC layer on the core (Pourhabibi, Sutherland,
//!   Daglis and Falsafi, MICRO 2021).
//! * [`area`] and [`power`]: the area and power of the accelerators and their orchestration, and
//!   the energy of a run in joules (AccelFlow, HPCA 2026, sections VI and VII.B.5).
//! * [`rpc_place`]: the cost of RPC accelerators that are private to each core.
//!
//! Everything here is arithmetic on stated inputs, so it is deterministic to the bit; only
//! [`accelerometer::uncertainty`] and [`accelerometer::simulation`] use random numbers, and these
//! are seeded.

pub mod accelerometer;
pub mod area;
pub mod cerebros;
mod inputs;
pub mod power;
mod rpc_layer;
pub mod rpc_place;
mod tables;

pub use accelflow_parameters::Refusal;
