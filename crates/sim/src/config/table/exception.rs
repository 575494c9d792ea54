//! The table of parameters of exceptions that stop an accelerator.

use accelflow_parameters::{Kind, Parameter, Provenance, Row};
use accelflow_units::Time;

use crate::config::server::Config;

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "exception.per_million",
            unit: "per million operations",
            kind: Kind::number(0.0, 1000000.0),
            default: 0.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, section VII.B.6",
            why: "The exceptions that the paper counts are page faults, which belong to the model of memory; this adds others, as of a malformed payload.",
        },
        get: |config| config.exception.per_million,
        set: |config, value| config.exception.per_million = value,
    },
    Row {
        parameter: Parameter {
            key: "exception.handling_ns",
            unit: "ns",
            kind: Kind::number(0.0, 10000000.0),
            default: 1000.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "A minor fault in Linux, beyond the interrupt itself.",
        },
        get: |config| config.exception.handling.as_ns_f64(),
        set: |config, value| config.exception.handling = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "exception.fall_back_share",
            unit: "",
            kind: Kind::number(0.0, 1.0),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "The operating system can repair a page fault, so that the accelerator continues, but not an error in the data.",
        },
        get: |config| config.exception.fall_back_share,
        set: |config, value| config.exception.fall_back_share = value,
    },
];
