//! JSON values as texts for error messages.

use serde_json::Value;

use accelflow_parameters::quoted;

/// `value` as JSON writes it, but a text in the quotes of all messages.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}
