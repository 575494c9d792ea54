//! Closed-form models of acceleration, which answer before anything is simulated or built.
//!
//! * [`accelerometer`]: does an accelerator pay (Sriraman and Dhanotia, ASPLOS 2020)?
//! * [`cerebros`]: the cost of leaving a part of the RPC layer on the core (Pourhabibi, Sutherland,
//!   Daglis and Falsafi, MICRO 2021)?
//! * [`area`] and [`power`]: the area and power of the accelerators and their orchestration, and
//!   the energy of a run in joules (AccelFlow, HPCA 2026, sections VI and VII.B.5)?
//! * [`rpc_place`]: the cost of RPC accelerators that are private to each core.
//!
//! Everything here is arithmetic on stated inputs, so it is deterministic to the bit; the only
//! dice are those of [`accelerometer::uncertainty`] and [`accelerometer::simulation`], and they are
//! seeded.

pub mod accelerometer;
pub mod area;
pub mod cerebros;
mod inputs;
pub mod power;
mod rpc_layer;
pub mod rpc_place;
mod tables;

pub use accelflow_parameters::Refusal;
