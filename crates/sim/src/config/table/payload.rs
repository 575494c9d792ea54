//! Messages.

use crate::config::Heaps;
use crate::config::parameters::{Parameter, Provenance};

pub(super) const ROWS: &[Parameter] = &[
    Parameter {
        key: "payload.compression_ratio",
        unit: "",
        default: 2.36,
        min: 1.0,
        max: 100.0,
        whole: false,
        provenance: Provenance::Derived,
        source: "google/fleetbench at 703e5e55, Snappy_COMPRESS_Fleet: calls of 512 B to 64 KiB",
        why: "All bytes before over all bytes after compression in these 321 million calls. What has passed Cmp, and what Dcmp has not seen yet, is smaller by it.",
        get: |c| c.payload.compression_ratio,
        set: |c, v| c.payload.compression_ratio = v,
    },
    Parameter {
        key: "payload.heaps",
        unit: "",
        default: 0.0,
        min: 0.0,
        max: 1.0,
        whole: true,
        provenance: Provenance::Assumed,
        source: "AccelFlow, section IV.A: the Memory Pointer leads to a software buffer",
        why: "0 a heap of each core for each service, as in allocators that scale with cores (mimalloc, TCMalloc); 1 one for each service. A heap gives out what was freed last. The paper names no allocator.",
        get: |c| c.payload.heaps as usize as f64,
        set: |c, v| c.payload.heaps = Heaps::ALL[v as usize],
    },
];
