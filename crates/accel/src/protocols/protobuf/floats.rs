//! Converts a protobuf `float` (32 bits) to the double that a reader of JSON gets when the float is
//! written in decimal: 0.1, for example, instead of 0.10000000149.

/// The number that a JSON reader obtains from the decimals written for a `float`.
pub(super) fn widened(value: f32) -> f64 {
    // Whole numbers have the same decimals; the largest float is written as a double.
    let exact = value.fract() == 0.0 && value.abs() < 16_777_216.0;
    if exact || !value.is_finite() || value.abs() == f32::MAX {
        return value.into();
    }
    // Several decimals may be equally near: the writer chooses.
    let decimals = serde_json::to_vec(&value).unwrap_or_default();
    serde_json::from_slice(&decimals).unwrap_or_else(|_| value.into())
}
