//! Plans: admission and runs of flows on a user's platform, and profiles of their combinations.

mod flow;
mod platform;
mod profiles;
mod request;
mod result;
mod run;
mod sweep;

use accelflow_arcus::PlatformError;
use pyo3::prelude::*;
use serde_json::Value;

use crate::errors::AccelflowError;
use request::PlanRequest;

fn failure(error: impl std::fmt::Display) -> PyErr {
    AccelflowError::new_err(error.to_string())
}

fn answer(
    py: Python<'_>,
    request: &str,
    work: impl FnOnce(&PlanRequest) -> Result<Value, PlatformError> + Send,
) -> PyResult<String> {
    let request: PlanRequest = serde_json::from_str(request).map_err(failure)?;
    py.detach(|| work(&request))
        .map(|result| result.to_string())
        .map_err(failure)
}

/// Registers the flows of a request (JSON) one after the other on a platform; later flows register
/// during the run. Runs the admitted flows with and without shaping. Returns JSON: the admitted
/// flows with registers, the rejected flows with the remaining capacity, and each flow's rates,
/// verdict and warnings. Raises AccelflowError for a value out of range.
#[pyfunction]
pub(crate) fn arcus_plan(py: Python<'_>, request: &str) -> PyResult<String> {
    answer(py, request, run::plan)
}

/// Profiles every combination of up to `most` of the flows of a request (JSON). Returns JSON: the
/// combinations with their capacities and tags, and the table for later plans. Raises
/// AccelflowError like `arcus_plan`.
#[pyfunction]
pub(crate) fn arcus_profile(py: Python<'_>, request: &str, most: usize) -> PyResult<String> {
    answer(py, request, |request| sweep::profile(request, most))
}

/// The names that plans may use as JSON: accelerators, paths and policies.
#[pyfunction]
pub(crate) fn arcus_plan_names() -> String {
    request::names().to_string()
}
