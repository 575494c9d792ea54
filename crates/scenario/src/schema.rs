//! The JSON Schema of a scenario, for editors and for the checks of other languages.

use accelflow_workload::file::{schema_of, schema_text};

use crate::scenario::Scenario;

/// Returns the JSON Schema (draft 2020-12) of a scenario, as indented text.
///
/// It describes the fields with their types, ranges, names and defaults. [`Scenario::check`] also
/// checks whether fields fit each other, which the schema cannot express.
pub fn json_schema() -> String {
    schema_text(&schema_of::<Scenario>())
}
