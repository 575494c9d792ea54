//! Closed-form models of acceleration, which answer before anything is simulated or built.
//!
//! * [`accelerometer`]: would an accelerator pay at all (Sriraman and Dhanotia, ASPLOS 2020)?
//! * [`cerebros`]: what does it cost to leave a part of the RPC layer on the core (Pourhabibi,
//!   Sutherland, Daglis and Falsafi, MICRO 2021)?
//! * [`area`] and [`power`]: what do the accelerators and their orchestration add to a processor,
//!   and what does a run cost in joules (AccelFlow, HPCA 2026, sections VI and VII.B.5)?
//! * [`rpc_place`]: what do RPC accelerators cost that each core has for itself?
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
