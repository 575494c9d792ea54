//! The numbers that a profile rests on.

use accelflow_parameters::{Kind, Parameter, Provenance};

/// A number that a profile rests on, such as `tcp_cost_ns`: the default is its value, and the source
/// the place, the arithmetic or the reason.
pub type ProfileParameter = Parameter<String>;

/// The number called `key`, whose unit is the end of its name; a share if that is no unit.
pub(super) fn number(
    key: String,
    value: f64,
    provenance: Provenance,
    source: impl Into<String>,
) -> ProfileParameter {
    Parameter {
        unit: if key.ends_with("_ns") { "ns" } else { "" },
        key,
        kind: Kind::Fixed,
        default: value,
        provenance,
        source: source.into(),
        why: String::new(),
    }
}
