//! Cohort's software queues.

use accelflow_units::Time;

use crate::config::parameters::{Parameter, Provenance};

pub(super) const ROWS: &[Parameter] = &[Parameter {
    key: "cohort.core_ns",
    unit: "ns",
    default: 6000.0,
    min: 0.0,
    max: 10000000.0,
    whole: false,
    provenance: Provenance::Assumed,
    source: "no source",
    why: "Polling a software queue in shared memory, waking and switching to the owner, and handing on: more than an interrupt, as queues are polled in turn.",
    get: |c| c.cohort.core.as_ns_f64(),
    set: |c, v| c.cohort.core = Time::from_ns_f64(v),
}];
