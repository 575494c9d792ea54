//! JSON values as texts for error messages.

use serde_json::Value;

use accelflow_parameters::{number_text, quoted};

/// `value` as JSON writes it, but a text in the quotes of all messages, and a whole number without
/// a fraction.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) if number.is_f64() => number
            .as_f64()
            .map_or_else(|| number.to_string(), number_text),
        other => other.to_string(),
    }
}
