//! The table of parameters of the accelerator trace memory.

use accelflow_parameters::{Kind, Parameter, Provenance, Row};
use accelflow_units::Time;

use crate::config::server::Config;

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "atm.latency_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, sections V.2 and VII.B.2",
            why: "The dispatcher reads the trace memory at the end of a trace; the paper counts that among its 12 to 20 instructions (dispatcher.load_atm) and prints no latency. With 0, a read takes only these instructions.",
        },
        get: |config| config.atm.latency.as_ns_f64(),
        set: |config, value| config.atm.latency = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "atm.ports",
            unit: "ports",
            kind: Kind::whole(1.0, 1024.0),
            default: 1.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, section IV.A and Fig. 10",
            why: "One on-chip memory that all dispatchers read; the paper prints no number of ports. Without effect while a read takes no time.",
        },
        get: |config| config.atm.ports as f64,
        set: |config, value| config.atm.ports = value as usize,
    },
];
