//! Input dispatchers.

use crate::config::Policy;
use crate::config::parameters::{Parameter, Provenance};

pub(super) const ROWS: &[Parameter] = &[Parameter {
    key: "scheduling.policy",
    unit: "",
    default: 0.0,
    min: 0.0,
    max: 2.0,
    whole: true,
    provenance: Provenance::Paper,
    source: "AccelFlow, section V.1",
    why: "0 first in, first out, as the base design; 1 by level of priority; 2 by deadline.",
    get: |c| f64::from(c.scheduling.policy.number()),
    set: |c, v| c.scheduling.policy = Policy::of_number(v),
}];
