//! The parameters of the platform, and their sources.

use accelflow_parameters::{Kind, Parameter, Provenance, Row};
use accelflow_units::{Bandwidth, Bytes};

use super::catalogue;
use crate::hardware::Packet;
use crate::hardware::SoftwareConfig;
use crate::hardware::StorageConfig;
use crate::hardware::{Accelerator, Curve, Egress};
use crate::platform::{FRAME_OVERHEAD, Platform};

const REFLEX: SoftwareConfig = SoftwareConfig::REFLEX;

fn storage() -> StorageConfig {
    StorageConfig::paper(1)
}

fn bytes(size: Bytes) -> f64 {
    size.get() as f64
}

fn gbit_per_s(rate: Bandwidth) -> f64 {
    rate.as_bytes_per_s() as f64 * 8.0 / 1e9
}

/// The time for which a message of `size` bytes keeps the accelerator busy.
fn busy_ns(accelerator: &Accelerator, size: u64) -> f64 {
    accelerator.curve.busy(Bytes(size)).as_ns_f64()
}

/// The rate that the accelerator's curve approaches, in gigabits per second; NaN for a curve of
/// measured points.
fn peak_gbit_per_s(accelerator: &Accelerator) -> f64 {
    match accelerator.curve {
        Curve::Saturating { peak, .. } | Curve::Blocks { peak, .. } => gbit_per_s(peak),
        Curve::Points(_) => f64::NAN,
    }
}

/// The size of the accelerator's result for a calling host if it is fixed; otherwise 0.
fn call_egress(accelerator: &Accelerator) -> Bytes {
    match accelerator.call_egress {
        Some(Egress::Fixed(size)) => size,
        Some(Egress::Ratio(_)) | None => Bytes(0),
    }
}

pub(super) const fn fixed(
    key: &'static str,
    default: f64,
    unit: &'static str,
    provenance: Provenance,
    source: &'static str,
    get: fn(&Platform) -> f64,
) -> Row<Platform> {
    Row {
        parameter: Parameter {
            key,
            unit,
            kind: Kind::Fixed,
            default,
            provenance,
            source,
            why: "",
        },
        get,
        set: |_, _| {},
    }
}

pub(super) const ROWS: &[Row<Platform>] = &[
    fixed(
        "pcie.generation",
        3.0,
        "",
        Provenance::Paper,
        "ARCUS, section 5.1: PCIe Gen 3.0 x8",
        |host| f64::from(host.pcie.generation as u8 + 1),
    ),
    fixed(
        "pcie.lanes",
        8.0,
        "",
        Provenance::Paper,
        "ARCUS, section 5.1",
        |host| f64::from(host.pcie.lanes),
    ),
    fixed(
        "pcie.link_layer_share",
        0.08,
        "",
        Provenance::Derived,
        "Neugebauer and others, SIGCOMM 2018: 57.9 of 63.0 Gbit/s of a Gen 3 x8 are left for transactions",
        |host| host.pcie.link_layer_share,
    ),
    fixed(
        "pcie.write_overhead",
        24.0,
        "bytes",
        Provenance::Derived,
        "PCIe 3.0: framing 2, data link 6, header 16 with a 64-bit address",
        |_| bytes(Packet::Write.overhead()),
    ),
    fixed(
        "pcie.completion_overhead",
        20.0,
        "bytes",
        Provenance::Derived,
        "PCIe 3.0: framing 2, data link 6, header 12",
        |_| bytes(Packet::Completion.overhead()),
    ),
    fixed(
        "pcie.max_payload",
        256.0,
        "bytes",
        Provenance::Derived,
        "ARCUS, Fig. 3(f): 4 KB beside 64 B get 4:1 if turns go packet by packet; usual of that host",
        |host| bytes(host.pcie.max_payload),
    ),
    fixed(
        "pcie.max_read_request",
        512.0,
        "bytes",
        Provenance::Assumed,
        "the usual default of hosts and devices",
        |host| bytes(host.pcie.max_read_request),
    ),
    fixed(
        "pcie.propagation",
        100.0,
        "ns",
        Provenance::Assumed,
        "with the next two a read of 64 B takes 0.65 us, as measured on such hosts by Neugebauer and others",
        |host| host.pcie.propagation.as_ns_f64(),
    ),
    fixed(
        "pcie.read_latency",
        400.0,
        "ns",
        Provenance::Assumed,
        "root complex and memory; see pcie.propagation",
        |host| host.pcie.read_latency.as_ns_f64(),
    ),
    fixed(
        "pcie.drain_latency",
        200.0,
        "ns",
        Provenance::Assumed,
        "root complex to memory, and the credit's way back",
        |host| host.pcie.drain_latency.as_ns_f64(),
    ),
    fixed(
        "pcie.posted_headers",
        64.0,
        "",
        Provenance::Assumed,
        "enough not to limit a link of this rate alone at 64 B",
        |host| f64::from(host.pcie.posted_headers),
    ),
    fixed(
        "pcie.posted_data",
        16384.0,
        "bytes",
        Provenance::Assumed,
        "64 packets of the largest payload",
        |host| bytes(host.pcie.posted_data),
    ),
    fixed(
        "pcie.non_posted_headers",
        64.0,
        "",
        Provenance::Assumed,
        "as many as posted ones",
        |host| f64::from(host.pcie.non_posted_headers),
    ),
    fixed(
        "dma.read_window",
        65536.0,
        "bytes",
        Provenance::Assumed,
        "several times rate x round trip, so that it does not limit",
        |host| bytes(host.dma.read_window),
    ),
    fixed(
        "dma.burst",
        16384.0,
        "bytes",
        Provenance::Assumed,
        "between 8 KB and 20 KB the loss of Fig. 8 spans the printed 36 to 67 %",
        |host| bytes(host.dma.burst),
    ),
    fixed(
        "dma.egress",
        65536.0,
        "bytes",
        Provenance::Assumed,
        "as the read window",
        |host| bytes(host.dma.egress),
    ),
    fixed(
        "dma.descriptor",
        32.0,
        "bytes",
        Provenance::Assumed,
        "type, pattern, pointer (section 4.1) in half a cache line",
        |host| bytes(host.dma.descriptor),
    ),
    fixed(
        "port.rate",
        50.0,
        "Gbit/s",
        Provenance::Paper,
        "ARCUS, section 5.1: two 50 Gbps Ethernet ports",
        |host| gbit_per_s(host.ports[0]),
    ),
    fixed(
        "port.frame_overhead",
        24.0,
        "bytes",
        Provenance::Derived,
        "IEEE 802.3: preamble 8, check sequence 4, gap 12",
        |_| bytes(FRAME_OVERHEAD),
    ),
    fixed(
        "accelerator.input",
        4096.0,
        "bytes",
        Provenance::Assumed,
        "two MTUs and some: memory in front of an accelerator, as of PANIC's units",
        |_| bytes(catalogue::datapath().input),
    ),
    fixed(
        "panic.buffer",
        256.0,
        "descriptors",
        Provenance::Assumed,
        "the central scheduler's queue",
        |_| catalogue::PANIC_BUFFER as f64,
    ),
    fixed(
        "cost.alms",
        0.0097,
        "",
        Provenance::Paper,
        "ARCUS, section 5.3.2: of the FPGA's ALMs, for a flow's queues and rate limiter; nothing here checks it",
        |_| catalogue::ALMS_OF_A_FLOW,
    ),
    fixed(
        "cost.cores",
        0.05,
        "cores",
        Provenance::Paper,
        "ARCUS, section 5.3.2: of the host, for a flow",
        |_| catalogue::CORES_OF_A_FLOW,
    ),
    fixed(
        "ipsec.time_64",
        113.0,
        "ns",
        Provenance::Derived,
        "ARCUS, section 3.1: pattern 1 delivers 32 % and 18 % of 32 Gbit/s at loads 0.1 and 0.9",
        |_| busy_ns(&catalogue::ipsec(), 64),
    ),
    fixed(
        "ipsec.time_256",
        137.0,
        "ns",
        Provenance::Derived,
        "the same two equations",
        |_| busy_ns(&catalogue::ipsec(), 256),
    ),
    fixed(
        "ipsec.time_1500",
        375.0,
        "ns",
        Provenance::Paper,
        "ARCUS, Table 1: 32 Gbit/s at full load with MTU-sized packets",
        |_| busy_ns(&catalogue::ipsec(), 1_500),
    ),
    fixed(
        "synthetic.rate",
        50.0,
        "Gbit/s",
        Provenance::Paper,
        "ARCUS, Table 1",
        |_| peak_gbit_per_s(&catalogue::synthetic("")),
    ),
    fixed(
        "synthetic.call_egress",
        64.0,
        "bytes",
        Provenance::Assumed,
        "ARCUS, section 3.1 gives the full duplex as the gain of two paths, so results of calls must be small",
        |_| bytes(call_egress(&catalogue::synthetic(""))),
    ),
    fixed(
        "datapath.rate",
        64.0,
        "Gbit/s",
        Provenance::Paper,
        "ARCUS, section 5.1: 256 bits at 250 MHz",
        |_| peak_gbit_per_s(&catalogue::datapath()),
    ),
    fixed(
        "datapath.setup",
        8.0,
        "ns",
        Provenance::Assumed,
        "two cycles; lowered from five with Fig. 9 in view",
        |_| busy_ns(&catalogue::datapath(), 0),
    ),
    fixed(
        "datapath.latency",
        40.0,
        "ns",
        Provenance::Assumed,
        "ten cycles of pipeline; lowered from 25 with Fig. 9 in view",
        |_| catalogue::datapath().latency.as_ns_f64(),
    ),
    fixed(
        "aes.rate",
        40.0,
        "Gbit/s",
        Provenance::Assumed,
        "not printed",
        |_| peak_gbit_per_s(&catalogue::aes_cbc()),
    ),
    fixed(
        "aes.setup",
        16.0,
        "ns",
        Provenance::Assumed,
        "four cycles",
        |_| busy_ns(&catalogue::aes_cbc(), 0),
    ),
    fixed(
        "hmac.rate",
        40.0,
        "Gbit/s",
        Provenance::Assumed,
        "not printed; blocks of 64 bytes",
        |_| peak_gbit_per_s(&catalogue::sha1_hmac()),
    ),
    fixed(
        "compression.rate",
        40.0,
        "Gbit/s",
        Provenance::Assumed,
        "not printed; 800 ns for each message",
        |_| peak_gbit_per_s(&catalogue::compression()),
    ),
    fixed(
        "decompression.rate",
        40.0,
        "Gbit/s",
        Provenance::Assumed,
        "not printed; of its input, as compression's",
        |_| peak_gbit_per_s(&catalogue::decompression()),
    ),
    fixed(
        "checksum.rate",
        64.0,
        "Gbit/s",
        Provenance::Assumed,
        "not printed; a word of ARCUS's datapath (section 5.1) a cycle, and two cycles for a message",
        |_| peak_gbit_per_s(&catalogue::checksum()),
    ),
    fixed(
        "storage.units",
        48.0,
        "",
        Provenance::Assumed,
        "dies of one SSD that work at a time",
        |_| f64::from(storage().units),
    ),
    fixed(
        "storage.read_median",
        50.0,
        "us",
        Provenance::Derived,
        "with the sigma, from ARCUS's three tail latencies of section 5.2, taken as the SSD's own",
        |_| storage().read_median.as_us_f64(),
    ),
    fixed(
        "storage.read_sigma",
        0.34,
        "",
        Provenance::Derived,
        "see storage.read_median",
        |_| storage().read_sigma,
    ),
    fixed(
        "storage.write_busy",
        2900.0,
        "us",
        Provenance::Derived,
        "ARCUS, Fig. 11(b): 25 K writes beside 2 M reads fit, and 50 K leave 0.88 M",
        |_| storage().write_busy.as_us_f64(),
    ),
    fixed(
        "storage.write_ack",
        20.0,
        "us",
        Provenance::Assumed,
        "a write into the SSD's memory",
        |_| storage().write_ack.as_us_f64(),
    ),
    fixed(
        "storage.write_buffer",
        41.0,
        "",
        Provenance::Derived,
        "ARCUS, Fig. 11(b): 50 K writes a second of four SSDs, each of 2.9 ms, are what their buffers hold",
        |_| f64::from(storage().write_buffer),
    ),
    fixed(
        "storage.rate",
        3.0,
        "GB/s",
        Provenance::Assumed,
        "the maker's sequential read rate",
        |_| storage().bandwidth.as_bytes_per_s() as f64 / 1e9,
    ),
    fixed(
        "software.period",
        10.0,
        "us",
        Provenance::Assumed,
        "the polling period of the shaping thread: the bound in ARCUS, section 5.3.1, by which software shaping takes more than 10 us",
        |_| REFLEX.period.as_us_f64(),
    ),
    fixed(
        "software.bucket",
        40.0,
        "us",
        Provenance::Assumed,
        "ReFlex; 100 ms for Firecracker, the interval of its limiter. Chosen with the next two among a few tries, with Table 3 and the tail latencies of section 5.2 in view",
        |_| REFLEX.bucket.as_us_f64(),
    ),
    fixed(
        "software.interrupted_every",
        500.0,
        "us",
        Provenance::Assumed,
        "see software.bucket",
        |_| REFLEX.interrupted_every.as_us_f64(),
    ),
    fixed(
        "software.interrupted_for",
        70.0,
        "us",
        Provenance::Assumed,
        "see software.bucket; uniform from 0 to twice this, since an exponential length made ReFlex's tail too long",
        |_| REFLEX.interrupted_for.as_us_f64(),
    ),
];
