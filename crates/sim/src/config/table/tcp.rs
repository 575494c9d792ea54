//! TCP accelerators.

use accelflow_units::Time;

use crate::config::parameters::{Parameter, Provenance};

pub(super) const ROWS: &[Parameter] = &[Parameter {
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
}];
