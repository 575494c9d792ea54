//! The accelerators of the ARCUS paper. [`super::PARAMETERS`] has the sources of their times.

use accelflow_units::{Bytes, Time};

use crate::{Accelerator, Curve, Egress, gbit_per_s};

/// The share of the FPGA's adaptive logic modules (ALMs) that ARCUS uses for each flow (section
/// 5.3.2).
pub const ALMS_OF_A_FLOW: f64 = 0.0097;
/// The number of host cores that ARCUS uses for each flow, as a fraction of a core (section 5.3.2).
pub const CORES_OF_A_FLOW: f64 = 0.05;
/// The number of message descriptors that the scheduler of the baseline PANIC can buffer.
pub const PANIC_BUFFER: usize = 256;

/// Creates the IPSec accelerator of Table 1, which reaches 32 Gbit/s with messages of 1500 B. Its
/// times for 64 B and 256 B follow from the paper's pattern 1, which mixes these sizes: there the
/// accelerator delivers 18 % to 32 % of its maximum, depending on the load.
pub fn ipsec() -> Accelerator {
    let points = [(64, 113), (256, 137), (1_500, 375)];
    let points = points.map(|(size, ns)| (Bytes(size), Time::from_ns(ns)));
    Accelerator::new("ipsec", Curve::Points(points.to_vec()))
}

/// Creates the synthetic accelerator of Table 1, called `name`: 50 Gbit/s at any message size. On
/// an inline path, the accelerator forwards each message. On
/// [`Path::FunctionCall`](crate::Path::FunctionCall), it returns a result of 64 bytes to the host.
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

/// Creates the accelerator of use cases 1 and 2 (Fig. 8). A message takes 8 ns plus its time at the
/// rate of the board's datapath, 64 Gbit/s.
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

/// Creates an AES-128-CBC encryption accelerator of 40 Gbit/s. In this cipher mode each block
/// depends on the one before, which limits the rate.
pub fn aes_cbc() -> Accelerator {
    let curve = Curve::Saturating {
        setup: Time::from_ns(16),
        peak: gbit_per_s(40.0),
    };
    Accelerator::new("aes-128-cbc", curve)
}

/// Creates a SHA1-HMAC accelerator, which works in blocks of 64 bytes at 40 Gbit/s.
pub fn sha1_hmac() -> Accelerator {
    let curve = Curve::Blocks {
        block: Bytes(64),
        peak: gbit_per_s(40.0),
    };
    Accelerator::new("sha1-hmac", curve)
}

/// Creates a SHA-3-512 accelerator, which works in blocks of 72 bytes at 36 Gbit/s. Its output is
/// always 64 bytes (section 2).
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

/// Creates a compression accelerator, whose output is half as large as its input.
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

/// Creates a decompression accelerator, whose output is twice as large as its input. In section 2,
/// such an accelerator has a ratio R of output to input above 1.
pub fn decompression() -> Accelerator {
    Accelerator {
        name: "decompression".to_owned(),
        egress: Egress::Ratio(2.0),
        ..compression()
    }
}

/// Creates a checksum accelerator, which passes each message on unchanged. A message takes 8 ns
/// plus its time at the rate of the board's datapath, 64 Gbit/s.
pub fn checksum() -> Accelerator {
    let curve = Curve::Saturating {
        setup: Time::from_ns(8),
        peak: gbit_per_s(64.0),
    };
    Accelerator::new("checksum", curve)
}

/// Creates one of each accelerator that plan files may use by name, such as `ipsec` or `synthetic`.
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
