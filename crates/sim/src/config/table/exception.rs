//! Exceptions that stop an accelerator.

use accelflow_units::Time;

use crate::config::parameters::{Parameter, Provenance};

pub(super) const ROWS: &[Parameter] = &[
    Parameter {
        key: "exception.per_million",
        unit: "",
        default: 0.0,
        min: 0.0,
        max: 1000000.0,
        whole: false,
        provenance: Provenance::Derived,
        source: "AccelFlow, section VII.B.6",
        why: "The exceptions that the paper counts are page faults, which belong to the model of memory; this adds others, as of a malformed payload.",
        get: |c| c.exception.per_million,
        set: |c, v| c.exception.per_million = v,
    },
    Parameter {
        key: "exception.handling_ns",
        unit: "ns",
        default: 1000.0,
        min: 0.0,
        max: 10000000.0,
        whole: false,
        provenance: Provenance::Assumed,
        source: "no source",
        why: "A minor fault in Linux, beyond the interrupt itself.",
        get: |c| c.exception.handling.as_ns_f64(),
        set: |c, v| c.exception.handling = Time::from_ns_f64(v),
    },
    Parameter {
        key: "exception.fall_back_share",
        unit: "",
        default: 0.0,
        min: 0.0,
        max: 1.0,
        whole: false,
        provenance: Provenance::Assumed,
        source: "no source",
        why: "The operating system can repair a page fault, so that the accelerator goes on; an error in the data it cannot.",
        get: |c| c.exception.fall_back_share,
        set: |c, v| c.exception.fall_back_share = v,
    },
];
