//! Cohort's software queues.

use accelflow_parameters::{Kind, Parameter, Provenance, Row};
use accelflow_units::Time;

use crate::config::server::Config;

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "cohort.poll_period_ns",
            unit: "ns",
            kind: Kind::number(0.0, 10000000.0),
            default: 5000.0,
            provenance: Provenance::Assumed,
            source: "Shenango (NSDI 2019) looks after queues and reallocates cores every 5 us",
            why: "A core that has other work looks at its queues between two tasks, if its last look was so long ago; one that has none looks all the time. Neither the paper nor Cohort's abstract gives a period.",
        },
        get: |config| config.cohort.poll_period.as_ns_f64(),
        set: |config, value| config.cohort.poll_period = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "cohort.poll_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 20.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "One look: the indices of the nine accelerators' queues, of 5 cycles of the first-level cache each. What has changed is a miss, which is the pop's.",
        },
        get: |config| config.cohort.poll.as_ns_f64(),
        set: |config, value| config.cohort.poll = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "cohort.pop_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 150.0,
            provenance: Provenance::Assumed,
            source: "three times core.notice_ns",
            why: "Three lines that the accelerator's side holds: its index and the entry to be read, the core's own index to be written.",
        },
        get: |config| config.cohort.pop.as_ns_f64(),
        set: |config, value| config.cohort.pop = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "cohort.push_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 100.0,
            provenance: Provenance::Assumed,
            source: "two times core.notice_ns",
            why: "Two lines that the accelerator's side holds, to be written: the entry and the core's index.",
        },
        get: |config| config.cohort.push.as_ns_f64(),
        set: |config, value| config.cohort.push = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "cohort.engine_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 100.0,
            provenance: Provenance::Assumed,
            source: "two times core.notice_ns",
            why: "From a core's push to the accelerator's request for an input entry: its copy of the index has been invalidated, and it reads index and entry.",
        },
        get: |config| config.cohort.engine.as_ns_f64(),
        set: |config, value| config.cohort.engine = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "cohort.queue_entries",
            unit: "entries",
            kind: Kind::whole(1.0, 65536.0),
            default: 64.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, Table III",
            why: "Of what accelerators have for one core; no paper gives a size, so it is that of an input queue. What does not fit stays with its accelerator until the next look.",
        },
        get: |config| config.cohort.queue_entries as f64,
        set: |config, value| config.cohort.queue_entries = value as usize,
    },
];
