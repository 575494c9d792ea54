//! The JSON Schema of a scenario, for editors and for checks in other languages.

use accelflow_workload::file::{schema_of, schema_text};

use crate::scenario::Scenario;

/// Returns the JSON Schema (draft 2020-12) of a scenario, as indented text.
///
/// The schema describes names, types, ranges and defaults of the fields. [`Scenario::check`] also
/// checks whether fields fit each other, which the schema cannot express.
pub fn json_schema() -> String {
    schema_text(&schema_of::<Scenario>())
}
