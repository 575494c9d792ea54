//! Model M2, one body for several event engines: what differs between two results is the engine.
//!
//! Jobs arrive as a Poisson process and visit 5 to 20 of nine stations, by one of eight templates
//! with one probabilistic branch. A station has eight servers of deterministic service time and
//! one line of 64. All numbers are those of `model.json`.

mod engine;
mod model;
mod spec;

pub use engine::Engine;
pub use model::{Model, Report};
pub use spec::{Reference, Spec, SpecError};
