//! Workloads as files, for `accelflow.workload`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use accelflow_workload::file;
use accelflow_workload::suites::Suite;
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

/// Reads the workload in `text` with the contents of all files that it names, relative to `folder`,
/// and returns it as JSON, with warnings. `modules` has the text of the traces of each Python module
/// that it names. Raises AccelflowError as `workload_read`, and for traces that cannot run.
#[pyfunction]
pub(crate) fn workload_load(
    py: Python<'_>,
    text: &str,
    name: &str,
    folder: PathBuf,
    modules: BTreeMap<String, String>,
) -> PyResult<(String, Vec<String>)> {
    py.detach(|| {
        let document = file::read(text, name).map_err(failure)?;
        document.check().map_err(failure)?;
        let document = document.inlined(&folder, &modules).map_err(failure)?;
        let workload = &document.workload;
        let located = |refusal| failure(document.locate(refusal));
        let image = workload.memory().map_err(located)?;
        let warnings = workload.check_traces(&image).map_err(located)?;
        let tree = serde_json::to_string(workload).map_err(failure)?;
        Ok((tree, warnings))
    })
}

/// Returns the line and column of the value at `path`, such as `services[1].rate_rps`, in the text
/// of the workload's file `name`. If it has no position, returns that of the nearest value that
/// contains it. Raises AccelflowError as `workload_read`.
#[pyfunction]
pub(crate) fn workload_place(
    text: &str,
    name: &str,
    path: &str,
) -> PyResult<Option<(usize, usize)>> {
    let document = file::read(text, name).map_err(failure)?;
    Ok(document.place(path).map(|at| (at.line, at.column)))
}

/// The file of the suite called `name`, as text. Raises AccelflowError for an unknown name.
#[pyfunction]
pub(crate) fn workload_suite(name: &str) -> PyResult<&'static str> {
    let suite: Suite = name.parse().map_err(failure)?;
    Ok(suite.text())
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
