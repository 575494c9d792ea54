//! Numbers of type `float` as JSON has them.

/// What a reader of JSON makes of the decimals that are written of a `float`.
pub(super) fn widened(value: f32) -> f64 {
    // Whole numbers have the same decimals; the largest one is written as what it is.
    let exact = value.fract() == 0.0 && value.abs() < 16_777_216.0;
    if exact || !value.is_finite() || value.abs() == f32::MAX {
        return value.into();
    }
    // Of two decimals that are as near, one is the writer's choice.
    let decimals = serde_json::to_vec(&value).unwrap_or_default();
    serde_json::from_slice(&decimals).unwrap_or_else(|_| value.into())
}
