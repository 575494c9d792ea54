//! TCP accelerators.

use accelflow_units::Time;

use crate::config::Parking;
use crate::config::parameters::{Parameter, Provenance};

pub(super) const ROWS: &[Parameter] = &[
    Parameter {
        key: "tcp.timeout_us",
        unit: "us",
        default: 10000000.0,
        min: 1.0,
        max: 1000000000.0,
        whole: true,
        provenance: Provenance::Derived,
        source: "DeathStarBench, socialNetwork/config/service-config.json",
        why: "timeout_ms of its clients is 10000. The paper says only that there is a time-out (section IV.B).",
        get: |c| c.tcp.timeout.as_us_f64(),
        set: |c, v| c.tcp.timeout = Time::from_ns_f64(v * 1e3),
    },
    Parameter {
        key: "tcp.parking",
        unit: "",
        default: 0.0,
        min: 0.0,
        max: 2.0,
        whole: true,
        provenance: Provenance::Derived,
        source: "AccelFlow, sections IV.B and VII.A.2",
        why: "What waits for a message takes a queue entry in 0 systems with traces, 1 all systems, 2 none. It is the trace that \"is immediately loaded in the input queue of the same TCP accelerator\", and the first system that \"additionally uses traces\" is Direct: CPU-Centric, RELIEF, PerAccTypeQ and Cohort have nothing to load until the message comes.",
        get: |c| c.tcp.parking as usize as f64,
        set: |c, v| c.tcp.parking = Parking::ALL[v as usize],
    },
];
