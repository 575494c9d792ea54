//! Conversion of refused values to Python exceptions that name the refused setting.

use std::fmt::Display;

use accelflow_import::ImportError;
use accelflow_parameters::Refusal;
use accelflow_scenario::ScenarioError;
use pyo3::prelude::*;

use crate::errors::{failed, refused_at};

/// An error that refuses a value, or may do so.
pub(crate) trait Refuses: Display {
    /// Returns the refusal; `None` for an error that refuses no value.
    fn refusal(&self) -> Option<&Refusal>;
}

impl Refuses for Refusal {
    fn refusal(&self) -> Option<&Refusal> {
        Some(self)
    }
}

impl Refuses for ScenarioError {
    fn refusal(&self) -> Option<&Refusal> {
        self.refusal()
    }
}

impl Refuses for ImportError {
    fn refusal(&self) -> Option<&Refusal> {
        match self {
            ImportError::Option(refusal) => Some(refusal),
            _ => None,
        }
    }
}

/// Converts an error to an AccelflowError, with the name of the setting if it refuses one.
pub(crate) fn refused(error: impl Refuses) -> PyErr {
    match error.refusal() {
        Some(refusal) => refused_at(&error, refusal),
        None => failed(&error),
    }
}
