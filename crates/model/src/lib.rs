//! Closed-form models of acceleration, which answer before anything is simulated or built.
//!
//! * [`accelerometer`]: would an accelerator pay at all (Sriraman and Dhanotia, ASPLOS 2020)?
//! * [`cerebros`]: what does it cost to leave a part of the RPC layer on the core (Pourhabibi,
//!   Sutherland, Daglis and Falsafi, MICRO 2021)?
//!
//! Everything here is arithmetic on stated inputs, so it is deterministic to the bit; the only
//! dice are those of [`accelerometer::uncertainty`], and they are seeded.

pub mod accelerometer;
pub mod cerebros;
mod error;

pub use error::ModelError;
