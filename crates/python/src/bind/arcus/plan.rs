//! Plans for ARCUS, which state the flows of a host to admit and simulate, and tables of measured
//! capacities, for `accelflow.arcus`. Arguments and results are JSON texts.

use accelflow_arcus::Path;
use accelflow_arcus::control::ProfileTable;
use accelflow_arcus::plan::{self, CheckedPlan, PlanError, ProfileFile, SweepOptions};
use accelflow_parameters::Refusal;
use accelflow_units::Bytes;
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::errors::failure;
use crate::interrupt::interruptible;

fn value(text: &str) -> PyResult<Value> {
    serde_json::from_str(text).map_err(failure)
}

/// A result as JSON, with its fields in the order of their names.
fn json_text(result: &impl Serialize) -> PyResult<String> {
    let value = serde_json::to_value(result).map_err(failure)?;
    Ok(value.to_string())
}

/// Checks an ARCUS plan (JSON), and returns why it is refused, as JSON; None if it is allowed.
///
/// The JSON has the message, and the path of keys to the value.
#[pyfunction]
pub(crate) fn arcus_plan_refusal(request: &str) -> PyResult<Option<String>> {
    Ok(match CheckedPlan::from_json(&value(request)?) {
        Ok(_) => None,
        Err(PlanError { message, keys }) => {
            Some(json!({"message": message, "keys": keys}).to_string())
        }
    })
}

/// Admits and simulates the flows of an ARCUS plan (JSON), and returns the results as JSON.
///
/// `profiles` is a table of measured capacities (JSON) as `arcus_profile` returns it. Use
/// `accelflow.arcus.plan`. Raises AccelflowError for a value that is not allowed.
#[pyfunction]
#[pyo3(signature = (request, profiles=None))]
pub(crate) fn arcus_plan(
    py: Python<'_>,
    request: &str,
    profiles: Option<&str>,
) -> PyResult<String> {
    let checked = CheckedPlan::from_json(&value(request)?).map_err(failure)?;
    let table = match profiles {
        Some(text) => ProfileFile::from_json(&value(text)?, env!("CARGO_PKG_VERSION"))
            .and_then(|file| file.table(&checked))
            .map_err(failure)?,
        None => ProfileTable::new(checked.platform.clone()),
    };
    let result = interruptible(py, move || plan::plan(&checked, table))?;
    json_text(&result.map_err(failure)?)
}

/// Measures the capacities of an ARCUS platform for combinations of flows, and returns JSON.
///
/// The platform is that of the plan `request` (JSON). The combinations are those of up to `most`
/// flows: of the plan, and of messages of `sizes` bytes on `paths`. Use `accelflow.arcus.profile`.
/// Raises AccelflowError for a value that is not allowed.
#[pyfunction]
pub(crate) fn arcus_profile(
    py: Python<'_>,
    request: &str,
    sizes: Vec<u64>,
    paths: Vec<String>,
    most: usize,
    threads: usize,
) -> PyResult<String> {
    let checked = CheckedPlan::from_json(&value(request)?).map_err(failure)?;
    let path = |name: &String| {
        let found = Path::ALL.into_iter().find(|path| path.name() == name);
        found.ok_or_else(|| failure(Refusal::unknown("path", name, Path::ALL.map(Path::name))))
    };
    let options = SweepOptions {
        sizes: sizes.into_iter().map(Bytes).collect(),
        paths: paths.iter().map(path).collect::<PyResult<_>>()?,
        most,
        threads,
    };
    let version = env!("CARGO_PKG_VERSION");
    let table = interruptible(py, move || plan::profile(&checked, &options, version))?;
    json_text(&table.map_err(failure)?)
}

/// Returns the JSON Schema of ARCUS plan files, as text.
#[pyfunction]
pub(crate) fn arcus_plan_schema() -> String {
    plan::plan_schema()
}
