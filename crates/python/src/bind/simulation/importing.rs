//! Import of recorded spans as workloads, for `accelflow import`.

use accelflow_import::{Kind, Options, import_spans as import};
use pyo3::prelude::*;
use serde_json::json;

use crate::refused::refused;

/// Derives a workload from files of spans, and returns it with a report, as JSON.
///
/// The JSON is {"workload": ..., "report": ...}. `kind` is jaeger or otlp. `options_json` is an
/// object with any of `name`, `sampling`, `app_share`, `shapes`, `rates`, `waits`, `calls`,
/// `servers`, `window_spans` and `strict` (docs/import-spans.md). Raises AccelflowError for options
/// that are not allowed and for files that cannot be read, are not of the kind, end too early or
/// have no request.
#[pyfunction]
#[pyo3(signature = (kind, paths, options_json = "{}"))]
pub(crate) fn import_spans(
    py: Python<'_>,
    kind: &str,
    paths: Vec<String>,
    options_json: &str,
) -> PyResult<String> {
    let kind = Kind::of_name(kind).map_err(refused)?;
    let options = Options::from_json(options_json).map_err(refused)?;
    let imported = py
        .detach(|| import(kind, &paths, &options))
        .map_err(refused)?;
    Ok(json!({"workload": imported.workload, "report": imported.report}).to_string())
}
