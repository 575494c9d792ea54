//! The trace memory.

use accelflow_units::Time;

use crate::config::parameters::{Parameter, Provenance};

pub(super) const ROWS: &[Parameter] = &[
    Parameter {
        key: "atm.latency_ns",
        unit: "ns",
        default: 0.0,
        min: 0.0,
        max: 1000000.0,
        whole: false,
        provenance: Provenance::Assumed,
        source: "AccelFlow, sections V.2 and VII.B.2",
        why: "The dispatcher reads the trace memory at the end of a trace; the paper counts that among its 12 to 20 instructions (dispatcher.load_atm) and prints no latency. 0 leaves it at the instructions.",
        get: |c| c.atm.latency.as_ns_f64(),
        set: |c, v| c.atm.latency = Time::from_ns_f64(v),
    },
    Parameter {
        key: "atm.ports",
        unit: "ports",
        default: 1.0,
        min: 1.0,
        max: 1024.0,
        whole: true,
        provenance: Provenance::Assumed,
        source: "AccelFlow, section IV.A and Fig. 10",
        why: "One on-chip memory that all dispatchers read; the paper prints no number of ports. Without effect while a read takes no time.",
        get: |c| c.atm.ports as f64,
        set: |c, v| c.atm.ports = v as usize,
    },
];
