//! The parameters of a profile.

use accelflow_parameters::{Kind, Parameter, Provenance};

/// A parameter of a profile, such as `tcp_cost_ns`. Its default is its value; its source is the
/// place, the computation or the reason.
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
