//! The functions and classes of `accelflow._native`, with a folder for each engine or group of
//! engines. Each function converts its Python arguments to values of the engine, and the engine's
//! results to Python objects.

pub(crate) mod arcus;
pub(crate) mod models;
pub(crate) mod parameters;
pub(crate) mod serving;
pub(crate) mod simulation;
pub(crate) mod trace;
