//! Workloads as files, for `accelflow.workload`.

use accelflow_workload::file;
use pyo3::prelude::*;

use crate::errors::failure;

/// Reads and checks the workload in `text` (TOML or JSON) and returns it as JSON; `name` is that of
/// its file, for messages. Raises AccelflowError, which names file, line, column, field, value and
/// what is allowed.
#[pyfunction]
pub(crate) fn workload_read(py: Python<'_>, text: &str, name: &str) -> PyResult<String> {
    py.detach(|| {
        let document = file::read(text, name).map_err(failure)?;
        document.check().map_err(failure)?;
        serde_json::to_string(&document.workload).map_err(failure)
    })
}

/// Returns the workload in `document` (JSON) as canonical TOML. Raises AccelflowError as
/// `workload_read`.
#[pyfunction]
pub(crate) fn workload_write(py: Python<'_>, document: &str) -> PyResult<String> {
    py.detach(|| {
        let document = file::read(document, "workload").map_err(failure)?;
        document.check().map_err(failure)?;
        file::write(&document.workload).map_err(failure)
    })
}

/// The JSON Schema of a workload's file.
#[pyfunction]
pub(crate) fn workload_schema() -> String {
    file::json_schema()
}
