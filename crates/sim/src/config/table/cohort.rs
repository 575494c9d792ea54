//! The table of parameters of Cohort's software queues.

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
            why: "A core with other work polls its queues between two tasks if its last poll was at least this long ago; an idle core polls continuously. Neither the paper nor Cohort's abstract gives a period.",
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
            why: "One poll: reads of the indices of the nine accelerators' queues, 5 cycles of the first-level cache each. A changed index is a miss, which cohort.pop_ns includes.",
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
            why: "Three cache lines that the accelerator's side holds: its index and the entry to be read, the core's own index to be written.",
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
            why: "Two cache lines that the accelerator's side holds, to be written: the entry and the core's index.",
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
            why: "For entries from accelerators to one core. No paper gives a size, so it is that of an input queue. Entries that do not fit stay with their accelerator until the next poll.",
        },
        get: |config| config.cohort.queue_entries as f64,
        set: |config, value| config.cohort.queue_entries = value as usize,
    },
];
