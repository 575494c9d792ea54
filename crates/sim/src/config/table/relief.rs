//! The table of parameters of RELIEF's central hardware manager.

use accelflow_parameters::{Choice, Kind, Parameter, Provenance, Row};
use accelflow_units::Time;

use crate::config::parts::{FallbackTo, Resubmission};
use crate::config::server::Config;

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "relief.latency_ns",
            unit: "ns",
            kind: Kind::number(0.0, 10000000.0),
            default: 1500.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VII.A.1",
            why: "From the request of a core or an accelerator to the manager's decision. For the systems between RELIEF and AccelFlow, too.",
        },
        get: |config| config.relief.latency.as_ns_f64(),
        set: |config, value| config.relief.latency = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "relief.occupancy_ns",
            unit: "ns",
            kind: Kind::number(0.0, 10000000.0),
            default: 130.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, section VII.A.1 counts 1.5 us",
            why: "At 1.5 us of occupancy the manager saturates at 7.7 kRPS of CPost alone, below every load of the evaluation, and the tail is a property of the run's length. 0.13 us keeps it stable with all eight services on one server, and was chosen with the step Direct of Fig. 13 in view; set 1500 for the paper's sentence to the letter.",
        },
        get: |config| config.relief.occupancy.as_ns_f64(),
        set: |config, value| config.relief.occupancy = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "relief.queue_entries",
            unit: "entries",
            kind: Kind::whole(1.0, 65536.0),
            default: 64.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, section VII.A.2 and Table III",
            why: "Section VII.A.2 has one queue for all accelerators and gives no size: that of one input queue of Table III. Entries that do not fit wait in an overflow area as large as an accelerator's.",
        },
        get: |config| config.relief.queue_entries as f64,
        set: |config, value| config.relief.queue_entries = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "relief.deadline_ratio",
            unit: "",
            kind: Kind::number(1.0, 1000000.0),
            default: 5.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, section VII.A.3",
            why: "Least-laxity order needs deadlines: a request's is the SLO, 5 times the unloaded execution time of its service.",
        },
        get: |config| config.relief.deadline,
        set: |config, value| config.relief.deadline = value,
    },
    Row {
        parameter: Parameter {
            key: "relief.fallback",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(
                    0.0,
                    "core",
                    "the request's core, which the manager interrupts",
                ),
                Choice::named(
                    1.0,
                    "manager",
                    "the manager in the same visit, with a dispatcher's instructions",
                ),
            ]),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, sections III (Q2) and VII.A.2",
            why: "Section III has conditionals interrupt the CPU ('interrupting the CPU every time that a sequence of accelerators encounters a conditional statement'); section VII.A.2 calls branches, transformations and large payloads 'hardware manager fallbacks' and names no core.",
        },
        get: |config| match config.relief.fallback {
            FallbackTo::Core => 0.0,
            FallbackTo::Manager => 1.0,
        },
        set: |config, value| {
            config.relief.fallback = if value == 0.0 {
                FallbackTo::Core
            } else {
                FallbackTo::Manager
            };
        },
    },
    Row {
        parameter: Parameter {
            key: "relief.resubmission",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(
                    0.0,
                    "known",
                    "no visit: the manager already knows the chain for which it interrupted the core",
                ),
                Choice::named(
                    1.0,
                    "visit",
                    "another visit, as for a new chain that a core submits",
                ),
            ]),
            default: 0.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, section VII.A.1",
            why: "What the manager does when a core has resolved a branch, a transformation or a large payload, and submits the rest of the chain. The paper's count of the manager's time, 87 times 1.5 us for a request of CPost, has the ends of operations alone. `visit` treats the rest as a chain of its own. Without effect if relief.fallback is `manager`.",
        },
        get: |config| match config.relief.resubmission {
            Resubmission::Known => 0.0,
            Resubmission::Visit => 1.0,
        },
        set: |config, value| {
            config.relief.resubmission = if value == 0.0 {
                Resubmission::Known
            } else {
                Resubmission::Visit
            };
        },
    },
];
