//! Messages.

use crate::config::parameters::{Parameter, Provenance};

pub(super) const ROWS: &[Parameter] = &[Parameter {
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
}];
