//! The parameters of a cost profile.

use accelflow_parameters::{Kind, Parameter, Provenance};

/// A number on which a cost profile depends, such as `tcp_cost_ns`, with its unit and origin. The
/// field `default` holds its value.
pub type ProfileParameter = Parameter<String>;

/// The number called `key`, whose unit is the suffix of the name; a share if the suffix is not a
/// unit.
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
