//! The names of the accelerators of one simulation.

use std::sync::Arc;

use accelflow_parameters::Refusal;
use accelflow_trace::Accel;
use pyo3::prelude::*;

use crate::refused::refused;

/// The names of the accelerators that the traces of a simulation can call, by [`Accel::index`].
///
/// An [`Accel`] alone does not name a custom accelerator, since each trace memory numbers its own.
#[derive(Clone, PartialEq)]
pub(super) struct Names(Arc<[String]>);

impl Names {
    pub(super) fn new(names: &[&str]) -> Names {
        Names(names.iter().map(|name| (*name).to_owned()).collect())
    }

    /// The name of `accel`, an accelerator of the simulation.
    pub(super) fn of(&self, accel: Accel) -> &str {
        let name = self.0.get(accel.index());
        name.map_or(accel.name(), String::as_str)
    }

    /// The accelerator called `name`. Raises AccelflowError for an unknown name.
    pub(super) fn accel(&self, name: &str) -> PyResult<Accel> {
        let index = self.0.iter().position(|known| known == name);
        let found = index.and_then(|index| Accel::EVERY.get(index).copied());
        found.ok_or_else(|| {
            let known = self.0.iter().map(String::as_str);
            refused(Refusal::unknown("accelerator", name, known))
        })
    }
}
