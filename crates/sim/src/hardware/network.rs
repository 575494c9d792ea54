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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const NOTHING: Bytes = Bytes(0);

    fn between(from: Accel, to: Accel, size: Bytes) -> Time {
        Network::new(&Config::default()).transfer(Place::Accel(from), Place::Accel(to), size)
    }

    fn hops(count: u64) -> Time {
        Time::from_ps(1_250) * count
    }

    #[test]
    fn every_accelerator_but_ldb_has_a_place_of_its_own_beside_the_port() {
        let mut places: Vec<_> = Accel::ALL.into_iter().filter_map(position).collect();
        assert_eq!(position(Accel::Ldb), None);
        places.push(PORT);
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 9);
        assert!(places.iter().all(|&(x, y)| x < 3 && y < 3));
    }

    #[test]
    fn hops_are_those_of_the_mesh_and_the_same_both_ways() {
        assert_eq!(between(Accel::Tcp, Accel::Decr, NOTHING), hops(1));
        assert_eq!(between(Accel::Decr, Accel::Rpc, NOTHING), hops(1));
        assert_eq!(between(Accel::Tcp, Accel::Dcmp, NOTHING), hops(4));
        assert_eq!(between(Accel::Tcp, Accel::Tcp, NOTHING), Time::ZERO);
        for from in Accel::ALL {
            for to in Accel::ALL {
                let size = Bytes(777);
                assert_eq!(between(from, to, size), between(to, from, size));
            }
        }
    }

    #[test]
    fn only_the_way_to_ldb_crosses_between_chiplets() {
        let crossing = Time::from_ns(25);
        assert_eq!(
            between(Accel::Dser, Accel::Ldb, NOTHING),
            crossing + hops(1 + 6)
        );
        assert_eq!(
            between(Accel::Tcp, Accel::Ldb, NOTHING),
            crossing + hops(2 + 6)
        );
    }

    #[test]
    fn serialization_is_that_of_the_slowest_link() {
        let mut config = Config::default();
        let size = Bytes(3_840);
        let ways = |config: &Config| {
            let network = Network::new(config);
            let ldb = Place::Accel(Accel::Ldb);
            [
                network.transfer(Place::Accel(Accel::Tcp), Place::Accel(Accel::Decr), size),
                network.transfer(Place::Accel(Accel::Dser), ldb, size) - Time::from_ns(25),
                network.transfer(Place::Memory, ldb, size) - Time::from_ns(50),
            ]
        };
        // 16 B a cycle are 38.4 GB/s.
        let mesh = Time::from_ns(100);
        assert_eq!(ways(&config), [mesh + hops(1), mesh + hops(7), mesh]);
        config.set("network.inter_chiplet_gb_per_s", 3.84).unwrap();
        let slow = Time::from_ns(1_000);
        assert_eq!(ways(&config), [mesh + hops(1), slow + hops(7), slow]);
        config.set("network.memory_gb_per_s", 1.92).unwrap();
        assert_eq!(ways(&config)[1..], [slow + hops(7), slow * 2]);
    }
}
