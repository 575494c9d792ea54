//! The table of parameters of output dispatchers: numbers of instructions, and how long an entry
//! occupies a dispatcher.

use crate::config::parts::Busy;
use crate::config::rates::{gb, rate};
use crate::config::server::Config;
use accelflow_parameters::{Choice, Kind, Parameter, Provenance, Row};

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "dispatcher.plain",
            unit: "instructions",
            kind: Kind::whole(0.0, 1000000.0),
            default: 15.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VII.B.2",
            why: "",
        },
        get: |config| config.dispatcher.plain as f64,
        set: |config, value| config.dispatcher.plain = value as u64,
    },
    Row {
        parameter: Parameter {
            key: "dispatcher.branch",
            unit: "instructions",
            kind: Kind::whole(0.0, 1000000.0),
            default: 7.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VII.B.2",
            why: "",
        },
        get: |config| config.dispatcher.branch as f64,
        set: |config, value| config.dispatcher.branch = value as u64,
    },
    Row {
        parameter: Parameter {
            key: "dispatcher.load_atm",
            unit: "instructions",
            kind: Kind::whole(0.0, 1000000.0),
            default: 12.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, section VII.B.2: 12 to 20 for an end of trace",
            why: "The lower end of the range: reading the trace memory needs no DMA.",
        },
        get: |config| config.dispatcher.load_atm as f64,
        set: |config, value| config.dispatcher.load_atm = value as u64,
    },
    Row {
        parameter: Parameter {
            key: "dispatcher.end",
            unit: "instructions",
            kind: Kind::whole(0.0, 1000000.0),
            default: 20.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, section VII.B.2: 12 to 20 for an end of trace",
            why: "The upper end of the range: DMA of the result and informing the core.",
        },
        get: |config| config.dispatcher.end as f64,
        set: |config, value| config.dispatcher.end = value as u64,
    },
    Row {
        parameter: Parameter {
            key: "dispatcher.transform",
            unit: "instructions per 2 KiB",
            kind: Kind::whole(0.0, 1000000.0),
            default: 12.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VII.B.2",
            why: "",
        },
        get: |config| config.dispatcher.transform as f64,
        set: |config, value| config.dispatcher.transform = value as u64,
    },
    Row {
        parameter: Parameter {
            key: "dispatcher.ipc",
            unit: "instructions per cycle",
            kind: Kind::number(0.01, 16.0),
            default: 1.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "A simple in-order state machine.",
        },
        get: |config| config.dispatcher.ipc,
        set: |config, value| config.dispatcher.ipc = value,
    },
    Row {
        parameter: Parameter {
            key: "dispatcher.busy",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(0.0, "instructions", "until its instructions end"),
                Choice::named(
                    1.0,
                    "until_confirmed",
                    "until the A-DMA engine confirms that the entry has been moved",
                ),
            ]),
            default: 1.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section V.2",
            why: "\"Once the engine confirms the transfer end, the dispatcher clears the output queue entry and terminates the operation\", so until then it handles no other entry.",
        },
        get: |config| config.dispatcher.busy as usize as f64,
        set: |config, value| config.dispatcher.busy = Busy::ALL[value as usize],
    },
    Row {
        parameter: Parameter {
            key: "dispatcher.transform_gb_per_s",
            unit: "GB/s",
            kind: Kind::number(0.0, 100000.0),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, section V.2",
            why: "The engine is \"a simplified form of a (De)Ser accelerator\", which the paper gives no rate. 0 leaves a transformation at its instructions (12 for 2 KB: 400 GB/s). By the paper's rule for accelerators, a core's time over the speedup of (De)Ser, it is 3.9: core.transform_ns_per_kib, 1,024 B a us, over 3.8. That core's time is assumed, and so would be this.",
        },
        get: |config| config.dispatcher.transform_rate.map_or(0.0, gb),
        set: |config, value| config.dispatcher.transform_rate = (value > 0.0).then(|| rate(value)),
    },
];
