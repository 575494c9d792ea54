use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use super::memory::{Memory, MemoryCounts, Source};
use super::network::{Carried, Network};
use super::pipe::Flow;
use super::regulator::Regulator;
use super::topology::Place;
use super::translation::{Translation, TranslationCounts};
use crate::config::Config;

/// Everything between accelerators, cores and memory: networks, caches, memory, translation.
#[derive(Clone, Debug)]
pub(crate) struct Uncore {
    network: Network,
    memory: Memory,
    translation: Translation,
    regulator: Regulator,
    /// By [`Accel::index`], the time of an empty payload between the cache and the accelerator on
    /// an idle server.
    unloaded: [Time; Accel::MOST],
}

/// Data to move, and its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Movement {
    /// The source and the destination of the data.
    pub endpoints: Endpoints,
    /// The memory address of the data; without effect if neither the source nor the destination is
    /// memory.
    pub address: u64,
    /// Number of bytes to move.
    pub size: Bytes,
    /// Index, among the tenants of the server, of the tenant whose data is moved.
    pub tenant: u16,
}

/// The source and the destination of a movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoints {
    /// From one queue to another; queues need no translation.
    Queues(Place, Place),
    /// From memory to an accelerator.
    Read(Source, Place),
    /// From an accelerator to memory.
    Write(Place),
}

impl Uncore {
    pub(crate) fn new(config: &Config) -> Uncore {
        let mut network = Network::new(config);
        let memory = Memory::new(config);
        let middle = network.site(Place::Accel(Accel::Ldb, 0));
        let unloaded = |accel| {
            let place = network.site(Place::Accel(accel, 0));
            network.latency(place, middle) * 2 + memory.slice_latency()
        };
        Uncore {
            unloaded: Accel::EVERY.map(unloaded),
            memory,
            translation: Translation::new(config, network.chiplets()),
            regulator: Regulator::new(config.memory.tenant_limit),
            network,
        }
    }

    /// Starts a movement. Returns the time when it ends.
    pub(crate) fn carry(&mut self, movement: &Movement, now: Time) -> Time {
        let Movement { address, size, .. } = *movement;
        let network = &mut self.network;
        let ready = match movement.endpoints {
            Endpoints::Queues(from, to) => {
                let (from, to) = (network.site(from), network.site(to));
                return network.transfer(from, to, size, Flow::at(now)).tail;
            }
            Endpoints::Read(_, place) | Endpoints::Write(place) => {
                let data = (address, size);
                self.translation
                    .translate(network, &mut self.memory, data, place, now)
            }
        };
        let start = self.regulator.admit(movement.tenant, size, ready);
        match movement.endpoints {
            Endpoints::Read(source, to) => {
                self.memory
                    .read(network, (address, size), source, to, start)
            }
            Endpoints::Write(from) | Endpoints::Queues(from, _) => {
                self.memory.write(network, (address, size), from, start)
            }
        }
    }

    /// Moves `size` from the queue of one accelerator to that of another, each with its instance.
    /// Returns the time when it arrives.
    #[inline(always)]
    pub(crate) fn pass(
        &mut self,
        (from, to): ((Accel, u8), (Accel, u8)),
        size: Bytes,
        now: Time,
    ) -> Time {
        let [from, to] = [from, to].map(|(accel, instance)| self.network.site_of(accel, instance));
        self.network.transfer(from, to, size, Flow::at(now)).tail
    }

    /// Time of `size` between the cache and an accelerator on an idle server. The distance is that
    /// to the middle of the cores' mesh, where LdB is.
    pub(crate) fn unloaded(&self, accel: Accel, size: Bytes) -> Time {
        self.unloaded[accel.index()] + self.network.slowest(size)
    }

    /// Puts data from outside the package into the cache.
    pub(crate) fn deliver(&mut self, address: u64, size: Bytes, now: Time) {
        self.memory.deliver(&mut self.network, address, size, now);
    }

    /// Brings data of a core that runs for `duration` into the cache.
    pub(crate) fn core_runs(&mut self, duration: Time, now: Time) {
        self.memory.core_runs(&mut self.network, duration, now);
    }

    /// Logs the reservations of links from now on.
    pub(crate) fn log_links(&mut self) {
        self.network.log_links();
    }

    /// Takes the reservations of links since the last call: link, from, until.
    pub(crate) fn take_links(&mut self) -> Vec<(usize, Time, Time)> {
        self.network.take_links()
    }

    /// Names of the links, by index.
    pub(crate) fn link_names(&self) -> Vec<String> {
        self.network.link_names()
    }

    pub(crate) fn carried(&self, now: Time) -> Carried {
        self.network.carried(now)
    }

    pub(crate) fn counts(&self) -> (MemoryCounts, TranslationCounts) {
        (self.memory.counts, self.translation.counts)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn movement(endpoints: Endpoints, tenant: u16) -> Movement {
        Movement {
            endpoints,
            address: 1 << 40,
            size: Bytes(1_000),
            tenant,
        }
    }

    #[test]
    fn a_chip_may_lack_all_accelerators_of_a_chiplet() {
        for chiplets in [1.0, 2.0, 3.0, 4.0, 6.0] {
            let mut config = Config::default();
            config.set("network.chiplets", chiplets).unwrap();
            let whole = Uncore::new(&config);
            for accel in Accel::ALL.into_iter().filter(|&accel| accel != Accel::Ldb) {
                config.set(&format!("instances.{accel}"), 0.0).unwrap();
            }
            let without = Uncore::new(&config);
            for accel in Accel::ALL {
                let time = without.unloaded(accel, Bytes(64));
                assert!(time > Time::ZERO && time <= whole.unloaded(accel, Bytes(64)));
            }
        }
    }

    #[test]
    fn memory_is_translated_and_limited_and_queues_are_not() {
        let mut config = Config::default();
        config.set("memory.tenant_gb_per_s", 0.001).unwrap();
        let mut uncore = Uncore::new(&config);
        let (ser, tcp) = (Place::Accel(Accel::Ser, 0), Place::Accel(Accel::Tcp, 0));
        let queues = movement(Endpoints::Queues(ser, tcp), 1);
        assert!(uncore.carry(&queues, Time::ZERO) < Time::from_ns(100));
        assert_eq!(uncore.counts().1.lookups, 0);
        let read = movement(Endpoints::Read(Source::Core, ser), 1);
        assert!(uncore.carry(&read, Time::ZERO) < Time::from_us(1));
        assert_eq!(uncore.counts().1.lookups, 1);
        // A kilobyte at a megabyte a second.
        let write = movement(Endpoints::Write(ser), 1);
        assert!(uncore.carry(&write, Time::ZERO) > Time::from_us(1_000));
        let other = movement(Endpoints::Write(ser), 2);
        assert!(uncore.carry(&other, Time::ZERO) < Time::from_us(1));
        let again = uncore.carry(&queues, Time::ZERO);
        assert!(again < Time::from_ns(200), "queues are not memory");
    }
}
