//! Workload files, for `accelflow.workload`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use accelflow_workload::file;
use accelflow_workload::suites::Suite;
use pyo3::prelude::*;

use crate::errors::failure;

/// Checks the text (TOML or JSON) of a workload's file, and returns its content as JSON.
///
/// `name` is the file's name in messages. Raises AccelflowError with file, line, column, field,
/// value and what is allowed.
#[pyfunction]
pub(crate) fn workload_read(py: Python<'_>, text: &str, name: &str) -> PyResult<String> {
    py.detach(|| {
        let document = file::read(text, name).map_err(failure)?;
        document.check().map_err(failure)?;
        serde_json::to_string(&document.workload).map_err(failure)
    })
}

/// Returns a workload (JSON) with the content of the files that it names, and warnings.
///
/// `text` is the content of the file `name`; other files are relative to `folder`. `modules` has
/// the text of the traces of each Python module that the workload names. Raises AccelflowError as
/// `workload_read` does, and for traces that cannot run.
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

/// Returns the line and column of a value in the text of a workload's file, counted from 1.
///
/// `path` leads to the value, such as `services[1].rate_rps`; `name` is the file's name in
/// messages. A value without a position of its own has that of the nearest value that contains it.
/// Raises AccelflowError as `workload_read` does.
#[pyfunction]
pub(crate) fn workload_place(
    text: &str,
    name: &str,
    path: &str,
) -> PyResult<Option<(usize, usize)>> {
    let document = file::read(text, name).map_err(failure)?;
    Ok(document.place(path).map(|at| (at.line, at.column)))
}

/// Returns the text of a suite's workload file. Raises AccelflowError for an unknown name.
#[pyfunction]
pub(crate) fn workload_suite(name: &str) -> PyResult<&'static str> {
    let suite: Suite = name.parse().map_err(failure)?;
    Ok(suite.text())
}

/// Returns a workload (JSON) as TOML. Raises AccelflowError as `workload_read` does.
#[pyfunction]
pub(crate) fn workload_write(py: Python<'_>, document: &str) -> PyResult<String> {
    py.detach(|| {
        let document = file::read(document, "workload").map_err(failure)?;
        document.check().map_err(failure)?;
        file::write(&document.workload).map_err(failure)
    })
}

/// Returns the JSON Schema of workload files, as text.
#[pyfunction]
pub(crate) fn workload_schema() -> String {
    file::json_schema()
}
