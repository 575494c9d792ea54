//! The table of parameters of address translation and page faults.

use accelflow_parameters::{Kind, Parameter, Provenance, Row};
use accelflow_units::{Bytes, Cycles, Time};

use crate::config::server::Config;

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "tlb.entries",
            unit: "entries",
            kind: Kind::whole(1.0, 65536.0),
            default: 128.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, Table III: 128 entries, 4-way, 2 cycles for a core's first level",
            why: "The paper gives no size for an accelerator's TLB, so it has the size of a core's.",
        },
        get: |config| config.tlb.entries as f64,
        set: |config, value| config.tlb.entries = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "tlb.ways",
            unit: "ways",
            kind: Kind::whole(1.0, 64.0),
            default: 4.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, Table III: 128 entries, 4-way, 2 cycles for a core's first level",
            why: "The paper does not give the associativity of an accelerator's TLB, so it is that of a core's TLB.",
        },
        get: |config| config.tlb.ways as f64,
        set: |config, value| config.tlb.ways = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "tlb.hit_cycles",
            unit: "cycles",
            kind: Kind::whole(0.0, 1000000.0),
            default: 2.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, Table III: 128 entries, 4-way, 2 cycles for a core's first level",
            why: "The paper does not give the latency of an accelerator's TLB, so it is that of a core's TLB.",
        },
        get: |config| config.tlb.hit.0 as f64,
        set: |config, value| config.tlb.hit = Cycles(value as u64),
    },
    Row {
        parameter: Parameter {
            key: "tlb.page_kib",
            unit: "KiB",
            kind: Kind::whole(4.0, 1048576.0),
            default: 4.0,
            provenance: Provenance::Assumed,
            source: "x86-64",
            why: "The paper names no page size, so it is the base size.",
        },
        get: |config| (config.tlb.page.get() / 1024) as f64,
        set: |config, value| config.tlb.page = Bytes::from_kib(value as u64),
    },
    Row {
        parameter: Parameter {
            key: "tlb.walkers",
            unit: "walkers",
            kind: Kind::whole(1.0, 1024.0),
            default: 4.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "Concurrent walks of all IOMMUs together, so that the number does not grow with the number of chiplets.",
        },
        get: |config| config.tlb.walkers as f64,
        set: |config, value| config.tlb.walkers = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "tlb.walk_levels",
            unit: "levels",
            kind: Kind::whole(0.0, 5.0),
            default: 4.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, section VI: radix-based page tables",
            why: "The levels of x86-64's page tables. With 0, a TLB miss costs only the way to the IOMMU.",
        },
        get: |config| f64::from(config.tlb.walk_levels),
        set: |config, value| config.tlb.walk_levels = value as u32,
    },
    Row {
        parameter: Parameter {
            key: "tlb.walk_cache_entries",
            unit: "entries",
            kind: Kind::whole(0.0, 65536.0),
            default: 32.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "Each IOMMU has a fully associative cache for the last but one level of the page table, as cores have.",
        },
        get: |config| config.tlb.walk_cache_entries as f64,
        set: |config, value| config.tlb.walk_cache_entries = value as usize,
    },
    Row {
        parameter: Parameter {
            key: "tlb.faults_per_million",
            unit: "faults per million operations",
            kind: Kind::whole(0.0, 1000000.0),
            default: 334.0,
            provenance: Provenance::Derived,
            source: "AccelFlow, section VII.B.6: 0.13 page faults per million instructions",
            why: "A fault rate per instruction becomes one per operation by the application logic that a core executes for each operation: over SocialNetwork's eight services at the paper's shares and 7 us for TCP, 1.07 us for each operation, which takes 5.05 us on a core. That is 2,570 instructions at one a cycle.",
        },
        get: |config| config.tlb.faults_per_million as f64,
        set: |config, value| config.tlb.faults_per_million = value as u64,
    },
    Row {
        parameter: Parameter {
            key: "tlb.fault_service_ns",
            unit: "ns",
            kind: Kind::number(0.0, 1000000000.0),
            default: 2000.0,
            provenance: Provenance::Assumed,
            source: "no source",
            why: "The operating system's work on a minor fault, about 1 us, and on the IOMMU's page request queue. The interrupt comes on top.",
        },
        get: |config| config.tlb.fault_service.as_ns_f64(),
        set: |config, value| config.tlb.fault_service = Time::from_ns_f64(value),
    },
];
