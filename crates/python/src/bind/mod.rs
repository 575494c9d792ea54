//! One file for each engine: arguments in, results out.

pub(crate) mod arcus;
pub(crate) mod models;
pub(crate) mod parameters;
pub(crate) mod serving;
pub(crate) mod simulation;
pub(crate) mod trace;
