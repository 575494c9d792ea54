//! Policies written in Python, for `accelflow.policies`.

mod answers;
mod failure;
mod names;
mod session;
mod values;

pub(crate) mod system;
pub(crate) mod waiting;

pub(crate) use failure::raised;
pub(crate) use system::PythonSystem;
pub(crate) use values::{PyCompletion, PySimulatedServer};
