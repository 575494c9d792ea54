//! The table of the speedups of accelerators over a core.

use accelflow_parameters::{Kind, Parameter, Provenance, Row};
use accelflow_trace::Accel;

use crate::config::server::Config;

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "speedup.TCP",
            unit: "",
            kind: Kind::number(0.01, 10000.0),
            default: 3.5,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VI",
            why: "",
        },
        get: |config| config.accelerator.speedup[Accel::Tcp.index()],
        set: |config, value| config.accelerator.speedup[Accel::Tcp.index()] = value,
    },
    Row {
        parameter: Parameter {
            key: "speedup.Encr",
            unit: "",
            kind: Kind::number(0.01, 10000.0),
            default: 6.6,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VI",
            why: "",
        },
        get: |config| config.accelerator.speedup[Accel::Encr.index()],
        set: |config, value| config.accelerator.speedup[Accel::Encr.index()] = value,
    },
    Row {
        parameter: Parameter {
            key: "speedup.Decr",
            unit: "",
            kind: Kind::number(0.01, 10000.0),
            default: 6.6,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VI",
            why: "",
        },
        get: |config| config.accelerator.speedup[Accel::Decr.index()],
        set: |config, value| config.accelerator.speedup[Accel::Decr.index()] = value,
    },
    Row {
        parameter: Parameter {
            key: "speedup.RPC",
            unit: "",
            kind: Kind::number(0.01, 10000.0),
            default: 20.5,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VI",
            why: "",
        },
        get: |config| config.accelerator.speedup[Accel::Rpc.index()],
        set: |config, value| config.accelerator.speedup[Accel::Rpc.index()] = value,
    },
    Row {
        parameter: Parameter {
            key: "speedup.Ser",
            unit: "",
            kind: Kind::number(0.01, 10000.0),
            default: 3.8,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VI",
            why: "",
        },
        get: |config| config.accelerator.speedup[Accel::Ser.index()],
        set: |config, value| config.accelerator.speedup[Accel::Ser.index()] = value,
    },
    Row {
        parameter: Parameter {
            key: "speedup.Dser",
            unit: "",
            kind: Kind::number(0.01, 10000.0),
            default: 3.8,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VI",
            why: "",
        },
        get: |config| config.accelerator.speedup[Accel::Dser.index()],
        set: |config, value| config.accelerator.speedup[Accel::Dser.index()] = value,
    },
    Row {
        parameter: Parameter {
            key: "speedup.Cmp",
            unit: "",
            kind: Kind::number(0.01, 10000.0),
            default: 15.2,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VI",
            why: "",
        },
        get: |config| config.accelerator.speedup[Accel::Cmp.index()],
        set: |config, value| config.accelerator.speedup[Accel::Cmp.index()] = value,
    },
    Row {
        parameter: Parameter {
            key: "speedup.Dcmp",
            unit: "",
            kind: Kind::number(0.01, 10000.0),
            default: 4.1,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VI",
            why: "",
        },
        get: |config| config.accelerator.speedup[Accel::Dcmp.index()],
        set: |config, value| config.accelerator.speedup[Accel::Dcmp.index()] = value,
    },
    Row {
        parameter: Parameter {
            key: "speedup.LdB",
            unit: "",
            kind: Kind::number(0.01, 10000.0),
            default: 8.1,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VI",
            why: "",
        },
        get: |config| config.accelerator.speedup[Accel::Ldb.index()],
        set: |config, value| config.accelerator.speedup[Accel::Ldb.index()] = value,
    },
    Row {
        parameter: Parameter {
            key: "speedup.own",
            unit: "",
            kind: Kind::number(0.01, 10000.0),
            default: 10.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "Of each custom accelerator that a workload's traces declare, unless the workload states its speedup. The paper's have 3.8 to 20.5.",
        },
        get: |config| config.accelerator.speedup[Accel::COUNT],
        set: |config, value| config.accelerator.speedup[Accel::COUNT..].fill(value),
    },
];
