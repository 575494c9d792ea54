//! The values that experiments rest on, with their origins.

use accelflow_units::{Bandwidth, Bytes, Time};

pub use accelflow_shaping::{Parameter, Provenance};

use crate::{Accelerator, Curve, Egress};

fn gbit_per_s(rate: f64) -> Bandwidth {
    crate::rate::bandwidth(rate * 1e9 / 8.0)
}

/// The IPSec accelerator of Table 1. Its times at 64 B and 256 B are those at which pattern 1 delivers
/// 32 % and 18 % of the maximum, if all that comes is served in order; at 1500 B it is 32 Gbit/s.
pub fn ipsec() -> Accelerator {
    let points = [(64, 113), (256, 137), (1_500, 375)];
    let points = points.map(|(size, ns)| (Bytes(size), Time::from_ns(ns)));
    Accelerator::new("ipsec", Curve::Points(points.to_vec()))
}

/// The synthetic accelerator of Table 1: 50 Gbit/s at any size. It passes inline messages on, and
/// returns to a caller no more than a verdict.
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

/// The accelerator of use cases 1 and 2, as fast as the board's datapath and as long as 8 ns more for
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

/// AES-128-CBC, whose blocks depend on each other.
pub fn aes_cbc() -> Accelerator {
    let curve = Curve::Saturating {
        setup: Time::from_ns(16),
        peak: gbit_per_s(40.0),
    };
    Accelerator::new("aes-128-cbc", curve)
}

/// SHA1-HMAC in its blocks of 64 bytes.
pub fn sha1_hmac() -> Accelerator {
    let curve = Curve::Blocks {
        block: Bytes(64),
        peak: gbit_per_s(40.0),
    };
    Accelerator::new("sha1-hmac", curve)
}

/// SHA-3-512, whose output is 64 bytes whatever goes in (section 2).
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

/// Compression to half.
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

const fn row(
    key: &'static str,
    value: f64,
    unit: &'static str,
    provenance: Provenance,
    source: &'static str,
) -> Parameter {
    Parameter {
        key,
        value,
        unit,
        provenance,
        source,
    }
}

use Provenance::{Assumed, Derived, Paper};

/// Every number of the platform that is not an input of an experiment.
pub const PARAMETERS: [Parameter; 44] = [
    row(
        "pcie.generation",
        3.0,
        "",
        Paper,
        "section 5.1: PCIe Gen 3.0 x8",
    ),
    row("pcie.lanes", 8.0, "", Paper, "section 5.1"),
    row(
        "pcie.link_layer_share",
        0.08,
        "",
        Derived,
        "Neugebauer and others, SIGCOMM 2018: 57.9 of 63.0 Gbit/s of a Gen 3 x8 are left for transactions",
    ),
    row(
        "pcie.write_overhead",
        24.0,
        "bytes",
        Derived,
        "PCIe 3.0: framing 2, data link 6, header 16 with a 64-bit address",
    ),
    row(
        "pcie.completion_overhead",
        20.0,
        "bytes",
        Derived,
        "PCIe 3.0: framing 2, data link 6, header 12",
    ),
    row(
        "pcie.max_payload",
        256.0,
        "bytes",
        Derived,
        "Fig. 3(f): 4 KB beside 64 B get 4:1 if turns go packet by packet; usual of that host",
    ),
    row(
        "pcie.max_read_request",
        512.0,
        "bytes",
        Assumed,
        "the usual default of hosts and devices",
    ),
    row(
        "pcie.propagation",
        100.0,
        "ns",
        Assumed,
        "with the next two a read of 64 B takes 0.65 us, as measured on such hosts by Neugebauer and others",
    ),
    row(
        "pcie.read_latency",
        400.0,
        "ns",
        Assumed,
        "root complex and memory; see pcie.propagation",
    ),
    row(
        "pcie.drain_latency",
        200.0,
        "ns",
        Assumed,
        "root complex to memory, and the credit's way back",
    ),
    row(
        "pcie.posted_headers",
        64.0,
        "",
        Assumed,
        "enough not to limit a link of this rate alone at 64 B",
    ),
    row(
        "pcie.posted_data",
        16384.0,
        "bytes",
        Assumed,
        "64 packets of the largest payload",
    ),
    row(
        "pcie.non_posted_headers",
        64.0,
        "",
        Assumed,
        "as many as posted ones",
    ),
    row(
        "dma.read_window",
        65536.0,
        "bytes",
        Assumed,
        "several times rate x round trip, so that it does not limit",
    ),
    row(
        "dma.burst",
        16384.0,
        "bytes",
        Assumed,
        "between 8 KB and 20 KB the loss of Fig. 8 spans the printed 36 to 67 %",
    ),
    row(
        "dma.egress",
        65536.0,
        "bytes",
        Assumed,
        "as the read window",
    ),
    row(
        "dma.descriptor",
        32.0,
        "bytes",
        Assumed,
        "type, pattern, pointer (section 4.1) in half a cache line",
    ),
    row(
        "port.rate",
        50.0,
        "Gbit/s",
        Paper,
        "section 5.1: two 50 Gbps Ethernet ports",
    ),
    row(
        "port.frame_overhead",
        24.0,
        "bytes",
        Derived,
        "IEEE 802.3: preamble 8, check sequence 4, gap 12",
    ),
    row(
        "accelerator.input",
        4096.0,
        "bytes",
        Assumed,
        "two MTUs and some: memory in front of an accelerator, as of PANIC's units",
    ),
    row(
        "panic.buffer",
        256.0,
        "descriptors",
        Assumed,
        "the central scheduler's queue",
    ),
    row(
        "ipsec.time_64",
        113.0,
        "ns",
        Derived,
        "section 3.1: pattern 1 delivers 32 % and 18 % of 32 Gbit/s at loads 0.1 and 0.9",
    ),
    row(
        "ipsec.time_256",
        137.0,
        "ns",
        Derived,
        "the same two equations",
    ),
    row(
        "ipsec.time_1500",
        375.0,
        "ns",
        Paper,
        "Table 1: 32 Gbit/s at full load with MTU-sized packets",
    ),
    row("synthetic.rate", 50.0, "Gbit/s", Paper, "Table 1"),
    row(
        "synthetic.call_egress",
        64.0,
        "bytes",
        Assumed,
        "section 3.1 gives the full duplex as the gain of two paths, so results of calls must be small",
    ),
    row(
        "datapath.rate",
        64.0,
        "Gbit/s",
        Paper,
        "section 5.1: 256 bits at 250 MHz",
    ),
    row(
        "datapath.setup",
        8.0,
        "ns",
        Assumed,
        "two cycles; lowered from five with Fig. 9 in view",
    ),
    row(
        "datapath.latency",
        40.0,
        "ns",
        Assumed,
        "ten cycles of pipeline; lowered from 25 with Fig. 9 in view",
    ),
    row("aes.rate", 40.0, "Gbit/s", Assumed, "not printed"),
    row("aes.setup", 16.0, "ns", Assumed, "four cycles"),
    row(
        "hmac.rate",
        40.0,
        "Gbit/s",
        Assumed,
        "not printed; blocks of 64 bytes",
    ),
    row(
        "compression.rate",
        40.0,
        "Gbit/s",
        Assumed,
        "not printed; 800 ns for each message",
    ),
    row(
        "storage.units",
        48.0,
        "",
        Assumed,
        "dies of one SSD that work at a time",
    ),
    row(
        "storage.read_median",
        50.0,
        "us",
        Derived,
        "with the sigma, from ARCUS's three tail latencies of section 5.2, taken as the SSD's own",
    ),
    row(
        "storage.read_sigma",
        0.34,
        "",
        Derived,
        "see storage.read_median",
    ),
    row(
        "storage.write_busy",
        2900.0,
        "us",
        Derived,
        "Fig. 11(b): 25 K writes beside 2 M reads fit, and 50 K leave 0.88 M",
    ),
    row(
        "storage.write_ack",
        20.0,
        "us",
        Assumed,
        "a write into the SSD's memory",
    ),
    row(
        "storage.write_buffer",
        41.0,
        "",
        Derived,
        "Fig. 11(b): 50 K writes a second of four SSDs, each of 2.9 ms, are what their buffers hold",
    ),
    row(
        "storage.rate",
        3.0,
        "GB/s",
        Assumed,
        "the maker's sequential read rate",
    ),
    row(
        "software.period",
        10.0,
        "us",
        Paper,
        "section 5.3.1: software shaping takes more than 10 us",
    ),
    row(
        "software.bucket",
        40.0,
        "us",
        Assumed,
        "ReFlex; 100 ms for Firecracker, the interval of its limiter. Chosen with the next two among a few tries, with Table 3 and the tail latencies of section 5.2 in view",
    ),
    row(
        "software.interrupted_every",
        500.0,
        "us",
        Assumed,
        "see software.bucket",
    ),
    row(
        "software.interrupted_for",
        70.0,
        "us",
        Assumed,
        "see software.bucket; uniform from 0 to twice this, since an exponential length made ReFlex's tail too long",
    ),
];

/// Every accelerator above, by its name; the synthetic one is called `synthetic`.
pub fn catalogue() -> Vec<Accelerator> {
    vec![
        ipsec(),
        synthetic("synthetic"),
        datapath(),
        aes_cbc(),
        sha1_hmac(),
        sha3_512(),
        compression(),
    ]
}
