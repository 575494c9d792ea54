//! Input dispatchers.

use crate::config::Policy;
use crate::config::parameters::{Parameter, Provenance};

pub(super) const ROWS: &[Parameter] = &[Parameter {
    key: "scheduling.policy",
    unit: "",
    default: 0.0,
    min: 0.0,
    max: 3.0,
    whole: true,
    provenance: Provenance::Paper,
    source: "AccelFlow, sections IV.C, V.1 and VII.A.3",
    why: "0 first in, first out, as the base design; 1 by level of priority; 2 by deadline: who would be late changes places with who has slack; 3 the earliest deadline first.",
    get: |c| f64::from(c.scheduling.policy.number()),
    set: |c, v| c.scheduling.policy = Policy::of_number(v),
}];
