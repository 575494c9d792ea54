//! The table of parameters that separate and limit tenants.

use crate::config::parts::{Isolation, ShapingOrder};
use crate::config::server::Config;
use accelflow_parameters::{Choice, Kind, Parameter, Provenance, Row};

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "tenant.max_traces",
            unit: "traces",
            kind: Kind::whole(0.0, 1000000.0),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "Section IV.D names a threshold N and gives none; 0 is no limit, and the evaluation has one tenant.",
        },
        get: |config| config.tenant.max_traces as f64,
        set: |config, value| config.tenant.max_traces = value as u64,
    },
    Row {
        parameter: Parameter {
            key: "tenant.isolation",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(0.0, "shared", "all tenants use all elements and queues"),
                Choice::named(
                    1.0,
                    "reserved",
                    "elements and entries of each accelerator are divided evenly among the tenants",
                ),
            ]),
            default: 0.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section IV.D",
            why: "\"The input/output queues of an accelerator can have entries from different tenants.\" Reserved is the contrast of AuRORA's reservations, where a CPU \"uses the accelerator by itself\".",
        },
        get: |config| config.tenant.isolation as usize as f64,
        set: |config, value| config.tenant.isolation = Isolation::ALL[value as usize],
    },
    Row {
        parameter: Parameter {
            key: "tenant.shaping_order",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(0.0, "asking", "in the order of asking"),
                Choice::named(
                    1.0,
                    "begun_first",
                    "traces of requests that have begun go before first traces",
                ),
            ]),
            default: 1.0,
            provenance: Provenance::Assumed,
            source: "ARCUS, section 4.2: a queue for each flow",
            why: "ARCUS's messages belong to no request. In the order of asking, first traces of a flood take the tokens for which later traces of earlier requests wait.",
        },
        get: |config| config.tenant.shaping_order as usize as f64,
        set: |config, value| config.tenant.shaping_order = ShapingOrder::ALL[value as usize],
    },
];
