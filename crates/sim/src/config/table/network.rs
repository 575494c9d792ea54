//! The table of parameters of networks and A-DMA engines.

use accelflow_parameters::{Choice, Kind, Parameter, Provenance, Row};
use accelflow_units::{Bytes, Cycles, Time};

use crate::config::rates::{gb, rate};
use crate::config::server::Config;

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "network.dma_engines",
            unit: "engines",
            kind: Kind::whole(1.0, 1024.0),
            default: 10.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| config.network.dma_engines as f64,
        set: |config, value| config.network.dma_engines = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "network.dma_setup_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 10.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "A core or dispatcher writes a few registers of the engine.",
        },
        get: |config| config.network.dma_setup.as_ns_f64(),
        set: |config, value| config.network.dma_setup = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "network.hop_cycles",
            unit: "cycles",
            kind: Kind::whole(0.0, 1000000.0),
            default: 3.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| config.network.hop.0 as f64,
        set: |config, value| config.network.hop = Cycles(value as u64),
    },
    Row {
        parameter: Parameter {
            key: "network.link_bytes",
            unit: "B/cycle",
            kind: Kind::whole(1.0, 4096.0),
            default: 16.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| config.network.link_bytes as f64,
        set: |config, value| config.network.link_bytes = value as u64,
    },
    Row {
        parameter: Parameter {
            key: "network.chiplets",
            unit: "chiplets",
            kind: Kind::Choice(&[
                Choice::number(1.0),
                Choice::number(2.0),
                Choice::number(3.0),
                Choice::number(4.0),
                Choice::number(6.0),
            ]),
            default: 2.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, section VI; others: Fig. 18",
            why: "",
        },
        get: |config| config.network.chiplets as f64,
        set: |config, value| config.network.chiplets = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "network.inter_chiplet_cycles",
            unit: "cycles",
            kind: Kind::whole(0.0, 1000000.0),
            default: 60.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| config.network.inter_chiplet.0 as f64,
        set: |config, value| config.network.inter_chiplet = Cycles(value as u64),
    },
    Row {
        parameter: Parameter {
            key: "network.inter_chiplet_gb_per_s",
            unit: "GB/s",
            kind: Kind::number(0.001, 100000.0),
            default: 64.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, Table III prints 1Gb/s/link",
            why: "Read as 1 Gb/s per wire of a link that is 512 wires wide. With 1 Gb/s per link, a 2 KB entry would take 16 us, longer than any operation.",
        },
        get: |config| gb(config.network.inter_chiplet_bandwidth),
        set: |config, value| config.network.inter_chiplet_bandwidth = rate(value),
    },
    Row {
        parameter: Parameter {
            key: "network.notification_cycles",
            unit: "cycles",
            kind: Kind::whole(0.0, 1000000.0),
            default: 80.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| config.network.notification.0 as f64,
        set: |config, value| config.network.notification = Cycles(value as u64),
    },
    Row {
        parameter: Parameter {
            key: "network.entry_overhead_bytes",
            unit: "B",
            kind: Kind::whole(0.0, 65536.0),
            default: 102.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, section VI: entries of 2.1 KB with 2 KB of data",
            why: "An entry of 2.1 KiB less its 2 KiB of data leaves the trace, the tenant's ID and a pointer.",
        },
        get: |config| config.network.entry_overhead.get() as f64,
        set: |config, value| config.network.entry_overhead = Bytes(value as u64),
    },
];
