//! What a tenant may use.

use crate::config::parameters::{Parameter, Provenance};
use crate::config::{Isolation, ShapingOrder};

pub(super) const ROWS: &[Parameter] = &[
    Parameter {
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
    },
    Parameter {
        key: "tenant.isolation",
        unit: "",
        default: 0.0,
        min: 0.0,
        max: 1.0,
        whole: true,
        provenance: Provenance::Paper,
        source: "AccelFlow, section IV.D",
        why: "0 shared: \"the input/output queues of an accelerator can have entries from different tenants\". 1 reserved, the contrast of AuRORA's reservations, where a CPU \"uses the accelerator by itself\": elements and entries of each accelerator are divided evenly among the tenants of the loads.",
        get: |c| c.tenant.isolation as usize as f64,
        set: |c, v| c.tenant.isolation = Isolation::ALL[v as usize],
    },
    Parameter {
        key: "tenant.shaping_order",
        unit: "",
        default: 1.0,
        min: 0.0,
        max: 1.0,
        whole: true,
        provenance: Provenance::Assumed,
        source: "ARCUS, section 4.2: a queue for each flow",
        why: "0 in the order of asking, 1 traces of requests that have begun before first traces. ARCUS's messages belong to no request; in the order of asking, first traces of a flood take the tokens that later traces of requests before them wait for.",
        get: |c| c.tenant.shaping_order as usize as f64,
        set: |c, v| c.tenant.shaping_order = ShapingOrder::ALL[v as usize],
    },
];
