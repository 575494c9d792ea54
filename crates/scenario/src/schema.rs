//! The JSON Schema of a scenario, for editors and for the checks of other languages.

use accelflow_workload::file::{schema_of, schema_text};

use crate::scenario::Scenario;

/// The JSON Schema (draft 2020-12) of a scenario, as indented text.
///
/// It describes the fields with their types, ranges, names and defaults. Only [`Scenario::check`]
/// checks the consistency of fields.
pub fn json_schema() -> String {
    schema_text(&schema_of::<Scenario>())
}
