//! Chips as files, for `accelflow.chips`.

use accelflow_scenario::ChipFile;
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::failure;

/// Reads a chip from TOML and returns name, description and config, the numbers of parameters by
/// key, as JSON. Raises AccelflowError, which begins with line and column, for an invalid chip.
#[pyfunction]
pub(crate) fn chip_read(text: &str) -> PyResult<String> {
    let chip = ChipFile::from_toml(text).map_err(failure)?;
    let chip = json!({
        "name": chip.name,
        "description": chip.description,
        "config": chip.config,
    });
    Ok(chip.to_string())
}

/// The JSON Schema of a chip's file.
#[pyfunction]
pub(crate) fn chip_schema() -> String {
    accelflow_scenario::chip_schema()
}
