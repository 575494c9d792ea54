//! The table of parameters of the last-level cache and main memory.

use accelflow_parameters::{Kind, Parameter, Provenance, Row};
use accelflow_units::{Bandwidth, Bytes, Cycles, Time};

use crate::config::rates::{gb, rate};
use crate::config::server::Config;

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "memory.llc_slices",
            unit: "slices",
            kind: Kind::whole(1.0, 1024.0),
            default: 36.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, Table III and section VI: a slice on each of 36 tiles",
            why: "The table gives the size of a slice; the cache is distributed over the cores' mesh.",
        },
        get: |config| config.memory.llc_slices as f64,
        set: |config, value| config.memory.llc_slices = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "memory.llc_slice_kib",
            unit: "KiB",
            kind: Kind::whole(32.0, 65536.0),
            default: 2048.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| (config.memory.llc_slice.get() / 1024) as f64,
        set: |config, value| config.memory.llc_slice = Bytes::from_kib(value as u64),
    },
    Row {
        parameter: Parameter {
            key: "memory.llc_ways",
            unit: "ways",
            kind: Kind::whole(1.0, 16.0),
            default: 16.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| config.memory.llc_ways as f64,
        set: |config, value| config.memory.llc_ways = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "memory.llc_cycles",
            unit: "cycles",
            kind: Kind::whole(0.0, 1000000.0),
            default: 36.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| config.memory.llc.0 as f64,
        set: |config, value| config.memory.llc = Cycles(value as u64),
    },
    Row {
        parameter: Parameter {
            key: "memory.llc_bytes_per_cycle",
            unit: "B/cycle",
            kind: Kind::whole(1.0, 4096.0),
            default: 64.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "One cache line per cycle from each slice.",
        },
        get: |config| config.memory.llc_bytes as f64,
        set: |config, value| config.memory.llc_bytes = value as u64,
    },
    Row {
        parameter: Parameter {
            key: "memory.snoop_cycles",
            unit: "cycles",
            kind: Kind::whole(0.0, 1000000.0),
            default: 36.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, Table III: L2 of 13 cycles, 3 cycles a hop",
            why: "From a slice to a core and back, 3.9 hops on average in a 6 x 6 mesh: 2 x 3.9 x 3 + 13 cycles.",
        },
        get: |config| config.memory.snoop.0 as f64,
        set: |config, value| config.memory.snoop = Cycles(value as u64),
    },
    Row {
        parameter: Parameter {
            key: "memory.invalidate_cycles",
            unit: "cycles",
            kind: Kind::whole(0.0, 1000000.0),
            default: 36.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, Table III: L2 of 13 cycles, 3 cycles a hop",
            why: "The same way as a snoop: the private copies are invalidated, and the core acknowledges.",
        },
        get: |config| config.memory.invalidate.0 as f64,
        set: |config, value| config.memory.invalidate = Cycles(value as u64),
    },
    Row {
        parameter: Parameter {
            key: "memory.core_fill_gb_per_s",
            unit: "GB/s",
            kind: Kind::number(0.0, 1000.0),
            default: 0.15,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "What a busy core brings into the last-level cache: one miss in 1,000 instructions at one instruction a cycle, 64 B each.",
        },
        get: |config| config.memory.core_fill_bytes_per_s as f64 / 1e9,
        set: |config, value| config.memory.core_fill_bytes_per_s = (value * 1e9).round() as u64,
    },
    Row {
        parameter: Parameter {
            key: "memory.controllers",
            unit: "controllers",
            kind: Kind::whole(1.0, 64.0),
            default: 4.0,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III",
            why: "",
        },
        get: |config| config.memory.controllers as f64,
        set: |config, value| config.memory.controllers = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "memory.dram_gb_per_s",
            unit: "GB/s",
            kind: Kind::number(0.001, 100000.0),
            default: 102.4,
            provenance: Provenance::Paper,
            source: "AccelFlow, Table III, each controller",
            why: "",
        },
        get: |config| gb(config.memory.dram_bandwidth),
        set: |config, value| config.memory.dram_bandwidth = rate(value),
    },
    Row {
        parameter: Parameter {
            key: "memory.dram_latency_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000.0),
            default: 50.0,
            provenance: Provenance::Derived,
            source: "JEDEC DDR4-3200AA: tRCD and tCL of 13.75 ns, a burst of 2.5 ns",
            why: "30 ns for an access to a closed bank, and 20 ns (assumed) for the controller.",
        },
        get: |config| config.memory.dram_latency.as_ns_f64(),
        set: |config, value| config.memory.dram_latency = Time::from_ns_f64(value),
    },
    Row {
        parameter: Parameter {
            key: "memory.tenant_gb_per_s",
            unit: "GB/s",
            kind: Kind::number(0.0, 100000.0),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, section IV.D, gives no rate",
            why: "Limits the traffic of accelerators and DMA with memory for each tenant. 0 is no limit.",
        },
        get: |config| config.memory.tenant_limit.map_or(0.0, gb),
        set: |config, value| {
            config.memory.tenant_limit = Bandwidth::from_bytes_per_s((value * 1e9).round() as u64)
        },
    },
];
