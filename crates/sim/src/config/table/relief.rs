//! RELIEF's central hardware manager.

use accelflow_units::Time;

use crate::config::FallbackTo;
use crate::config::parameters::{Parameter, Provenance};

pub(super) const ROWS: &[Parameter] = &[
    Parameter {
        key: "relief.latency_ns",
        unit: "ns",
        default: 1500.0,
        min: 0.0,
        max: 10000000.0,
        whole: false,
        provenance: Provenance::Paper,
        source: "AccelFlow, section VII.A.1",
        why: "",
        get: |c| c.relief.latency.as_ns_f64(),
        set: |c, v| c.relief.latency = Time::from_ns_f64(v),
    },
    Parameter {
        key: "relief.occupancy_ns",
        unit: "ns",
        default: 130.0,
        min: 0.0,
        max: 10000000.0,
        whole: false,
        provenance: Provenance::Assumed,
        source: "AccelFlow, section VII.A.1 counts 1.5 us",
        why: "At 1.5 us of occupancy the manager saturates at 7.7 kRPS of CPost alone, below every load of the evaluation, and the tail is a property of the run's length. 0.13 us keeps it stable with all eight services on one server; set 1500 for the paper's sentence to the letter.",
        get: |c| c.relief.occupancy.as_ns_f64(),
        set: |c, v| c.relief.occupancy = Time::from_ns_f64(v),
    },
    Parameter {
        key: "relief.queue_entries",
        unit: "entries",
        default: 64.0,
        min: 1.0,
        max: 65536.0,
        whole: true,
        provenance: Provenance::Assumed,
        source: "AccelFlow, section VII.A.2 and Table III",
        why: "Section VII.A.2 has one queue for all accelerators and gives no size: that of one input queue of Table III. What does not fit waits in an overflow area as large as an accelerator's.",
        get: |c| c.relief.queue_entries as f64,
        set: |c, v| c.relief.queue_entries = v as usize,
    },
    Parameter {
        key: "relief.deadline_ratio",
        unit: "",
        default: 5.0,
        min: 1.0,
        max: 1000000.0,
        whole: false,
        provenance: Provenance::Derived,
        source: "AccelFlow, section VII.A.3",
        why: "Least-laxity order needs deadlines: a request's is the SLO, 5 times the unloaded execution time of its service.",
        get: |c| c.relief.deadline,
        set: |c, v| c.relief.deadline = v,
    },
    Parameter {
        key: "relief.fallback",
        unit: "",
        default: 0.0,
        min: 0.0,
        max: 1.0,
        whole: true,
        provenance: Provenance::Assumed,
        source: "AccelFlow, sections III (Q2) and VII.A.2",
        why: "Section III has conditionals interrupt the CPU ('interrupting the CPU every time that a sequence of accelerators encounters a conditional statement'); section VII.A.2 calls branches, transformations and large payloads 'hardware manager fallbacks' and names no core. With manager, it does them in the same visit, with a dispatcher's instructions.",
        get: |c| match c.relief.fallback {
            FallbackTo::Core => 0.0,
            FallbackTo::Manager => 1.0,
        },
        set: |c, v| {
            c.relief.fallback = if v == 0.0 {
                FallbackTo::Core
            } else {
                FallbackTo::Manager
            };
        },
    },
];
