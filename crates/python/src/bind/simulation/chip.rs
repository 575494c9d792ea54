//! Chip files, which state the parameters of a simulated server, for `accelflow.chips`.

use accelflow_scenario::{ChipFile, TomlKey};
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::failure;

/// Reads a chip file (TOML) and returns its name, description and config (parameters), as JSON.
///
/// Raises AccelflowError for a text that is not a chip; its message begins with line and column.
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

/// Returns the JSON Schema of chip files, as text.
#[pyfunction]
pub(crate) fn chip_schema() -> String {
    accelflow_scenario::chip_schema()
}

/// A step into a TOML value: the name of a field, or the index of an element.
#[derive(FromPyObject)]
pub(crate) enum Key {
    Number(usize),
    Name(String),
}

/// Returns the line and column of a value in a TOML text, counted from 1.
///
/// `keys` is the path to the value: names of fields and indices of elements. If only the first keys
/// exist, returns the place of the value to which these keys lead; None if even the first key is
/// missing.
#[pyfunction]
pub(crate) fn toml_place(text: &str, keys: Vec<Key>) -> Option<(usize, usize)> {
    let key = |key| match key {
        Key::Number(number) => TomlKey::Number(number),
        Key::Name(name) => TomlKey::Name(name),
    };
    let keys: Vec<TomlKey> = keys.into_iter().map(key).collect();
    accelflow_scenario::toml_place(text, &keys)
}
