//! The JSON Schema of workload files, for editors and for checking the fields and types of a file.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::tree::Workload;

/// Returns the JSON Schema (draft 2020-12) of a workload file, as indented text.
///
/// The schema describes names, types and ranges of the fields. It does not describe the consistency
/// of values, which [`super::Document::check`] checks.
pub fn json_schema() -> String {
    schema_text(&schema_of::<Workload>())
}

/// Returns the JSON Schema (draft 2020-12) of a file whose contents the Rust type `T` describes.
/// The file may have a field `$schema`, for editors.
pub fn schema_of<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let editors = "The address of this schema, for editors. It is ignored.";
        let of_editors = json!({"type": "string", "description": editors});
        properties.insert("$schema".to_owned(), of_editors);
    }
    schema.to_value()
}

/// Returns the JSON Schema `schema` as indented text. The keys of each object are in alphabetical
/// order, and each description is on one line.
pub fn schema_text(schema: &Value) -> String {
    format!("{:#}\n", sorted(schema))
}

/// The same value with the keys of its objects in alphabetical order, independent of serde_json's
/// order, and with its descriptions on one line each.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            let one_line = |key: &str, value: &Value| match value {
                Value::String(text) if key == "description" => text.replace('\n', " ").into(),
                other => self::sorted(other),
            };
            let fields = sorted.into_iter();
            fields
                .map(|(key, value)| (key.clone(), one_line(key, value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        scalar => scalar.clone(),
    }
}
