use accelflow_trace::Accel;
use accelflow_units::{Bandwidth, Bytes, Cycles, Time};

use crate::config::Config;

/// Where data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a queue of this accelerator.
    Accel(Accel),
    /// In the cores' last-level cache or memory.
    Memory,
}

/// The on-package network of the base server: a chiplet of cores with LdB, a chiplet of the other
/// eight accelerators, a mesh in each, a link between them (AccelFlow, Fig. 6 and Table III).
///
/// Transfers are charged latency and serialization; they do not contend for links.
#[derive(Clone, Debug)]
pub struct Network {
    hop: Time,
    link: Bandwidth,
    crossing: Time,
    inter_chiplet: Bandwidth,
    memory_latency: Time,
    memory: Bandwidth,
}

/// Positions on the accelerator chiplet's 3x3 mesh, in the order of a received message's way so
/// that neighbours on the way are neighbours on the chip; the middle is the port to the cores.
const POSITIONS: [(Accel, (u64, u64)); 8] = [
    (Accel::Tcp, (0, 0)),
    (Accel::Decr, (1, 0)),
    (Accel::Rpc, (2, 0)),
    (Accel::Dser, (2, 1)),
    (Accel::Dcmp, (2, 2)),
    (Accel::Cmp, (1, 2)),
    (Accel::Ser, (0, 2)),
    (Accel::Encr, (0, 1)),
];
const PORT: (u64, u64) = (1, 1);

/// Mean hops between LdB or a memory slice and the port of the cores' 6x6 mesh.
const CORE_MESH_HOPS: u64 = 6;

impl Network {
    /// The network of `config`.
    pub fn new(config: &Config) -> Network {
        let clock = config.core.clock;
        let bytes_per_s = config.network.link_bytes.saturating_mul(clock.as_hz());
        Network {
            hop: config.network.hop.at(clock),
            link: Bandwidth::from_bytes_per_s(bytes_per_s)
                .unwrap_or(config.network.inter_chiplet_bandwidth),
            crossing: Cycles(config.network.inter_chiplet.0).at(clock),
            inter_chiplet: config.network.inter_chiplet_bandwidth,
            memory_latency: config.network.memory_latency,
            memory: config.network.memory_bandwidth,
        }
    }

    /// The time to move `size` from `from` to `to`. Memory is reached over the chiplet's port, in
    /// the memory latency and at the rate of the slowest part of the way.
    pub fn transfer(&self, from: Place, to: Place, size: Bytes) -> Time {
        match (from, to) {
            (Place::Memory, _) | (_, Place::Memory) => {
                let slowest = self.memory.min(self.link).min(self.inter_chiplet);
                self.memory_latency + slowest.transfer(size)
            }
            (Place::Accel(from), Place::Accel(to)) => self.between(from, to, size),
        }
    }

    fn between(&self, from: Accel, to: Accel, size: Bytes) -> Time {
        let serialization = self.link.transfer(size);
        match (position(from), position(to)) {
            (Some(from), Some(to)) => self.hop * distance(from, to) + serialization,
            (None, None) => serialization,
            (Some(inside), None) | (None, Some(inside)) => {
                let hops = distance(inside, PORT) + CORE_MESH_HOPS;
                self.hop * hops
                    + self.crossing
                    + self.inter_chiplet.transfer(size).max(serialization)
            }
        }
    }
}

fn position(accel: Accel) -> Option<(u64, u64)> {
    POSITIONS
        .iter()
        .find(|(a, _)| *a == accel)
        .map(|(_, at)| *at)
}

fn distance(from: (u64, u64), to: (u64, u64)) -> u64 {
    from.0.abs_diff(to.0) + from.1.abs_diff(to.1)
}
