//! The table of parameters of messages.

use crate::config::parts::Heaps;
use crate::config::server::Config;
use accelflow_parameters::{Choice, Kind, Parameter, Provenance, Row};

pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        parameter: Parameter {
            key: "payload.compression_ratio",
            unit: "",
            kind: Kind::number(1.0, 100.0),
            default: 2.36,
            provenance: Provenance::Derived,
            source: "google/fleetbench at 703e5e55, Snappy_COMPRESS_Fleet: calls of 512 B to 64 KiB",
            why: "All bytes before over all bytes after compression in these 321 million calls. Payloads after Cmp and before Dcmp are smaller by this factor.",
        },
        get: |config| config.payload.compression_ratio,
        set: |config, value| config.payload.compression_ratio = value,
    },
    Row {
        parameter: Parameter {
            key: "payload.heaps",
            unit: "",
            kind: Kind::Choice(&[
                Choice::named(
                    0.0,
                    "of_cores",
                    "one heap of each core for each service, as in allocators that scale with cores (mimalloc, TCMalloc)",
                ),
                Choice::named(1.0, "of_services", "one heap of each service"),
            ]),
            default: 0.0,
            provenance: Provenance::Assumed,
            source: "AccelFlow, section IV.A: the Memory Pointer leads to a software buffer",
            why: "A heap hands out first the buffer that was freed last. The paper names no allocator.",
        },
        get: |config| config.payload.heaps as usize as f64,
        set: |config, value| config.payload.heaps = Heaps::ALL[value as usize],
    },
];
