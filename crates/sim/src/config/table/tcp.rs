//! The table of parameters of TCP accelerators.

use accelflow_parameters::{Choice, Kind, Parameter, Provenance, Row};
use accelflow_units::Time;

use crate::config::parts::Parking;
use crate::config::server::Config;

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "tcp.timeout_us",
            unit: "us",
            kind: Kind::whole(1.0, 1000000000.0),
            default: 10000000.0,
            provenance: Provenance::Derived,
            source: "DeathStarBench, socialNetwork/config/service-config.json",
            why: "timeout_ms of its clients is 10000. The paper says only that there is a time-out (section IV.B).",
        },
        get: |config| config.tcp.timeout.as_us_f64(),
        set: |config, value| config.tcp.timeout = Time::from_ns_f64(value * 1e3),
    },
    Row {
        parameter: Parameter {
            key: "tcp.parking",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(0.0, "with_traces", "in systems that have traces"),
                Choice::named(1.0, "all", "in all systems"),
                Choice::named(2.0, "none", "in no system"),
            ]),
            default: 0.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, sections IV.B and VII.A.2",
            why: "Says where a chain that waits for a message takes a queue entry. It is the trace that \"is immediately loaded in the input queue of the same TCP accelerator\", and the first system that \"additionally uses traces\" is Direct: CPU-Centric, RELIEF, PerAccTypeQ and Cohort have nothing to load until the message comes.",
        },
        get: |config| config.tcp.parking as usize as f64,
        set: |config, value| config.tcp.parking = Parking::ALL[value as usize],
    },
];
