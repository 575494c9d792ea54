//! Passes the exceptions of policies in Python through the simulator to the caller.

use std::error::Error;
use std::fmt;

use accelflow_scenario::ScenarioError;
use accelflow_sim::SimError;
use accelflow_sim::orchestrators::PolicyError;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::errors::{AccelflowError, failed};
use crate::refused::refused;

/// An exception of a policy, with a text that names its origin.
#[derive(Debug)]
pub(super) struct Raised {
    pub(super) text: String,
    pub(super) error: PyErr,
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Raised {}

/// The exception for a run that has ended with `error`: for the exception of a policy,
/// AccelflowError with that as its cause. Exceptions other than `Exception`, such as
/// KeyboardInterrupt, and errors of accelflow itself are passed on unchanged.
pub(crate) fn raised(py: Python<'_>, error: ScenarioError) -> PyErr {
    let ScenarioError::Engine(engine) = &error else {
        return refused(error);
    };
    let policy = match engine.downcast_ref() {
        Some(SimError::Policy(policy)) => policy,
        _ => return refused(error),
    };
    let Some(Raised { text, error }) = policy.inner() else {
        return failed(policy);
    };
    let own = error.is_instance_of::<AccelflowError>(py) && error.value(py).to_string() == *text;
    if own || !error.is_instance_of::<PyException>(py) {
        return error.clone_ref(py);
    }
    let outer = AccelflowError::new_err(text.clone());
    // Answers that are not allowed are refused here, outside of the user's code. A call with
    // arguments that a method does not take has no traceback either, but it is the user's error.
    if error.traceback(py).is_some() || !error.is_instance_of::<AccelflowError>(py) {
        outer.set_cause(py, Some(error.clone_ref(py)));
    }
    outer
}

/// The simulator's error for `error`, an exception at `place` of the policies of `system`.
pub(super) fn policy_error(
    py: Python<'_>,
    system: &Py<PyAny>,
    place: &str,
    error: PyErr,
) -> PolicyError {
    let value = error.clone_ref(py).into_value(py);
    let described = system.call_method1(py, "failed", (place, value));
    let described = described.and_then(|text| text.extract::<String>(py));
    let text = described.unwrap_or_else(|_| format!("{place}: {error}"));
    PolicyError::new(Raised { text, error })
}
