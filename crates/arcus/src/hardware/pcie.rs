//! The parameters of a PCIe link, its packets and its bandwidth.

use accelflow_units::{Bandwidth, Bytes, Time};

use crate::PlatformError;
use crate::rate::bandwidth;

/// A generation of PCIe, which defines the transfer rate of a lane and the line code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// PCIe 1: 2.5 GT/s with line code 8b/10b.
    Gen1,
    /// PCIe 2: 5 GT/s with line code 8b/10b.
    Gen2,
    /// PCIe 3: 8 GT/s with line code 128b/130b.
    Gen3,
    /// PCIe 4: 16 GT/s with line code 128b/130b.
    Gen4,
    /// PCIe 5: 32 GT/s with line code 128b/130b.
    Gen5,
}

impl Generation {
    /// The five generations of PCIe that the model has, the oldest (1) first.
    pub const ALL: [Generation; 5] = [
        Generation::Gen1,
        Generation::Gen2,
        Generation::Gen3,
        Generation::Gen4,
        Generation::Gen5,
    ];

    /// The data rate of one lane in bits per second, without the overhead of the line code.
    pub const fn bits_per_s(self) -> u64 {
        match self {
            Generation::Gen1 => 2_000_000_000,
            Generation::Gen2 => 4_000_000_000,
            Generation::Gen3 => 8_000_000_000 / 130 * 128,
            Generation::Gen4 => 16_000_000_000 / 130 * 128,
            Generation::Gen5 => 32_000_000_000 / 130 * 128,
        }
    }
}

/// A kind of PCIe transaction-layer packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packet {
    /// A memory write with header and payload. It is posted: the receiver sends no answer.
    Write,
    /// A memory read request, which has only a header. It is non-posted: a completion answers it.
    ReadRequest,
    /// A completion: the answer to a read request, with header and payload.
    Completion,
}

impl Packet {
    /// The bytes of a packet on the wire in addition to its payload (PCIe base specification 3.0):
    /// 2 of framing, 6 of the data link layer, and a header of 16 bytes (64-bit address) or, for
    /// completions, 12.
    pub const fn overhead(self) -> Bytes {
        match self {
            Packet::Write | Packet::ReadRequest => Bytes(24),
            Packet::Completion => Bytes(20),
        }
    }
}

/// The parameters of the PCIe link between host and device. The defaults are those of the paper's
/// prototype, as far as the paper states them; [`crate::parameters::PARAMETERS`] has the sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PcieConfig {
    /// The PCIe generation, which defines the rate of a lane.
    pub generation: Generation,
    /// The number of lanes of the link: 1, 2, 4, 8 or 16.
    pub lanes: u8,
    /// The share of the link's bandwidth used by acknowledgements and credit updates, from 0 to
    /// below 1.
    pub link_layer_share: f64,
    /// The largest payload of a write or a completion packet: a power of two from 64 to 4,096
    /// bytes.
    pub max_payload: Bytes,
    /// The largest number of bytes that one read request asks for: a power of two from 64 to 4,096
    /// bytes.
    pub max_read_request: Bytes,
    /// The time from the end of a packet at the sender to its arrival at the receiver.
    pub propagation: Time,
    /// The time from a read request's arrival at the root complex until its data is sent back.
    pub read_latency: Time,
    /// The time from a packet's arrival at the root complex until its credits are back at the
    /// device. At that time, written data is also visible to the host.
    pub drain_latency: Time,
    /// The flow-control credits for write packets: the number of such packets that the root complex
    /// can hold; above 0.
    pub posted_headers: u32,
    /// The flow-control credits for the payload of writes: the number of bytes that the root
    /// complex can hold, at least `max_payload`.
    pub posted_data: Bytes,
    /// The flow-control credits for read requests: the number of requests that the root complex can
    /// hold; above 0.
    pub non_posted_headers: u32,
}

impl Default for PcieConfig {
    fn default() -> PcieConfig {
        PcieConfig {
            generation: Generation::Gen3,
            lanes: 8,
            link_layer_share: 0.08,
            max_payload: Bytes(256),
            max_read_request: Bytes(512),
            propagation: Time::from_ns(100),
            read_latency: Time::from_ns(400),
            drain_latency: Time::from_ns(200),
            posted_headers: 64,
            posted_data: Bytes(16_384),
            non_posted_headers: 64,
        }
    }
}

impl PcieConfig {
    /// Checks that every parameter of the link is allowed.
    ///
    /// # Errors
    /// [`PlatformError::OutOfRange`], with the parameter's name, for the first parameter that is
    /// outside its range.
    pub fn check(&self) -> Result<(), PlatformError> {
        let power = |name, size: Bytes| {
            let good = size.get().is_power_of_two() && (64..=4096).contains(&size.get());
            PlatformError::unless(
                good,
                name,
                size.get() as f64,
                "a power of two, 64 to 4096 bytes",
            )
        };
        let lanes = f64::from(self.lanes);
        let good = matches!(self.lanes, 1 | 2 | 4 | 8 | 16);
        PlatformError::unless(good, "pcie.lanes", lanes, "1, 2, 4, 8 or 16")?;
        let share = self.link_layer_share;
        let good = (0.0..1.0).contains(&share);
        PlatformError::unless(good, "pcie.link_layer_share", share, "from 0 to below 1")?;
        power("pcie.max_payload_bytes", self.max_payload)?;
        power("pcie.max_read_request_bytes", self.max_read_request)?;
        let headers = self.posted_headers.min(self.non_posted_headers);
        PlatformError::unless(headers > 0, "credits for PCIe headers", 0.0, "at least 1")?;
        let data = self.posted_data;
        let good = data >= self.max_payload;
        PlatformError::unless(
            good,
            "pcie.posted_data_bytes",
            data.get() as f64,
            "at least the maximum payload",
        )
    }

    /// The rate of one direction of the link, which the payload and overhead of packets share. The
    /// line code and the link layer's own traffic are already deducted.
    pub fn bandwidth(&self) -> Bandwidth {
        let bits = self.generation.bits_per_s() * u64::from(self.lanes);
        let bytes = bits as f64 / 8.0 * (1.0 - self.link_layer_share);
        bandwidth(bytes)
    }

    /// The bytes on the wire, including packet overhead, for the transfer of `size` bytes in
    /// packets of one kind. Read requests have no payload; their `size` is the number of bytes that
    /// they request.
    pub fn wire_bytes(&self, packet: Packet, size: Bytes) -> Bytes {
        let packets = match packet {
            Packet::ReadRequest => size.get().div_ceil(self.max_read_request.get()),
            _ => size.get().div_ceil(self.max_payload.get()),
        };
        let payload = match packet {
            Packet::ReadRequest => 0,
            _ => size.get(),
        };
        Bytes(packets * packet.overhead().get() + payload)
    }

    /// The rate of back-to-back writes of `size` bytes, above 0, in payload bytes per second. It is
    /// the smaller of the link's rate for such packets and the rate that the root complex's credits
    /// allow.
    pub fn write_bytes_per_s(&self, size: Bytes) -> f64 {
        let framed = self.bandwidth().as_bytes_per_s() as f64 * size.get() as f64
            / self.wire_bytes(Packet::Write, size).get() as f64;
        let packet = Bytes(size.get().min(self.max_payload.get()));
        let wire = self.bandwidth().transfer(packet + Packet::Write.overhead());
        let round = (wire + self.propagation + self.drain_latency).as_s_f64();
        let packets = size.get().div_ceil(self.max_payload.get()) as f64;
        let by_headers = f64::from(self.posted_headers) * size.get() as f64 / packets / round;
        framed
            .min(by_headers)
            .min(self.posted_data.get() as f64 / round)
    }
}
