//! What a tenant may use.

use crate::config::parameters::{Parameter, Provenance};

pub(super) const ROWS: &[Parameter] = &[Parameter {
    key: "tenant.max_traces",
    unit: "traces",
    default: 0.0,
    min: 0.0,
    max: 1000000.0,
    whole: true,
    provenance: Provenance::Assumed,
    source: "no source",
    why: "Section IV.D names a threshold N and gives none; 0 is no limit, and the evaluation has one tenant.",
    get: |c| c.tenant.max_traces as f64,
    set: |c, v| c.tenant.max_traces = v as u64,
}];
