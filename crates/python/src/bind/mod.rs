//! The functions and classes of `accelflow._native`, with a folder for each engine. They convert
//! Python arguments for the engine, and its results for Python.

pub(crate) mod arcus;
pub(crate) mod models;
pub(crate) mod parameters;
pub(crate) mod serving;
pub(crate) mod simulation;
pub(crate) mod trace;
