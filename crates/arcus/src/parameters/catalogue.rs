//! The paper's accelerators. [`super::PARAMETERS`] has the sources of their times.

use accelflow_units::{Bytes, Time};

use crate::{Accelerator, Curve, Egress, gbit_per_s};

/// The share of the FPGA's adaptive logic modules (ALMs) that ARCUS uses for each flow (section
/// 5.3.2).
pub const ALMS_OF_A_FLOW: f64 = 0.0097;
/// The number of host cores that ARCUS uses for each flow (section 5.3.2).
pub const CORES_OF_A_FLOW: f64 = 0.05;
/// The capacity of the buffer of PANIC's scheduler, in descriptors.
pub const PANIC_BUFFER: usize = 256;

/// The IPSec accelerator of Table 1. Its times at 64 B and 256 B are those at which pattern 1
/// delivers 32 % and 18 % of the maximum, if all messages are served in order; at 1500 B it is 32
/// Gbit/s.
pub fn ipsec() -> Accelerator {
    let points = [(64, 113), (256, 137), (1_500, 375)];
    let points = points.map(|(size, ns)| (Bytes(size), Time::from_ns(ns)));
    Accelerator::new("ipsec", Curve::Points(points.to_vec()))
}

/// The synthetic accelerator of Table 1: 50 Gbit/s at any size. On an inline path it forwards each
/// message. To a host that calls it, it returns a result of 64 bytes.
pub fn synthetic(name: &str) -> Accelerator {
    let curve = Curve::Saturating {
        setup: Time::ZERO,
        peak: gbit_per_s(50.0),
    };
    Accelerator {
        call_egress: Some(Egress::Fixed(Bytes(64))),
        ..Accelerator::new(name, curve)
    }
}

/// The accelerator of use cases 1 and 2 (Fig. 8): the rate of the board's datapath, plus 8 ns for
/// each message.
pub fn datapath() -> Accelerator {
    let curve = Curve::Saturating {
        setup: Time::from_ns(8),
        peak: gbit_per_s(64.0),
    };
    Accelerator {
        latency: Time::from_ns(40),
        ..Accelerator::new("datapath", curve)
    }
}

/// An AES-128-CBC encryption accelerator. Its rate is limited because each block depends on the one
/// before.
pub fn aes_cbc() -> Accelerator {
    let curve = Curve::Saturating {
        setup: Time::from_ns(16),
        peak: gbit_per_s(40.0),
    };
    Accelerator::new("aes-128-cbc", curve)
}

/// A SHA1-HMAC accelerator, which works in blocks of 64 bytes.
pub fn sha1_hmac() -> Accelerator {
    let curve = Curve::Blocks {
        block: Bytes(64),
        peak: gbit_per_s(40.0),
    };
    Accelerator::new("sha1-hmac", curve)
}

/// A SHA-3-512 accelerator, whose output is always 64 bytes (section 2).
pub fn sha3_512() -> Accelerator {
    let curve = Curve::Blocks {
        block: Bytes(72),
        peak: gbit_per_s(36.0),
    };
    Accelerator {
        egress: Egress::Fixed(Bytes(64)),
        ..Accelerator::new("sha3-512", curve)
    }
}

/// A compression accelerator, whose output is half its input.
pub fn compression() -> Accelerator {
    let curve = Curve::Saturating {
        setup: Time::from_ns(800),
        peak: gbit_per_s(40.0),
    };
    Accelerator {
        egress: Egress::Ratio(0.5),
        ..Accelerator::new("compression", curve)
    }
}

/// A decompression accelerator, whose output is twice its input: R above 1 (section 2).
pub fn decompression() -> Accelerator {
    Accelerator {
        name: "decompression".to_owned(),
        egress: Egress::Ratio(2.0),
        ..compression()
    }
}

/// A checksum accelerator, which passes each message on unchanged: one word of the datapath per
/// cycle.
pub fn checksum() -> Accelerator {
    let curve = Curve::Saturating {
        setup: Time::from_ns(8),
        peak: gbit_per_s(64.0),
    };
    Accelerator::new("checksum", curve)
}

/// All accelerators that plans may use by name, such as `ipsec` or `synthetic`.
pub fn catalogue() -> Vec<Accelerator> {
    vec![
        ipsec(),
        synthetic("synthetic"),
        datapath(),
        aes_cbc(),
        sha1_hmac(),
        sha3_512(),
        compression(),
        decompression(),
        checksum(),
    ]
}
