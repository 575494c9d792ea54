use accelflow_trace::Accel;
use accelflow_units::{Bandwidth, Bytes, Time};

use super::pipe::{Flow, Pipe};
use super::routes::{Route, Routes, Site};
use super::sizes::Sizes;
use super::topology::{Place, Topology};
use crate::config::Config;

/// The on-package network: a mesh in each chiplet, a link from each chiplet to each other one
/// (AccelFlow, Fig. 6, section V.3 and Table III).
///
/// A transfer takes `network.hop_cycles` a hop and `network.inter_chiplet_cycles` a crossing,
/// cut-through, and occupies each link of its route for its size over the link's rate. It reserves
/// all links when it starts, each for the time when it will arrive there. Commands without data
/// have lanes of their own.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    routes: Routes,
    /// By [`LinkKind`], the time to the end of a link.
    ///
    /// [`LinkKind`]: super::routes::LinkKind
    latencies: [Time; 3],
    /// Whether a route is booked at once: no link is slower than an interface, so the end of a
    /// route sets the pace, and no observer asks for reservations.
    at_once: bool,
    link_rate: Bandwidth,
    crossing_rate: Bandwidth,
    links: Vec<Pipe>,
    /// The reservations of links, while an observer asks for them: link, from, until.
    log: Option<Vec<(usize, Time, Time)>>,
    /// How long sizes occupy links.
    lengths: Sizes<Lengths>,
}

/// By [`LinkKind`], how long a transfer occupies a link.
///
/// [`LinkKind`]: super::routes::LinkKind
type Lengths = [Time; 3];

/// Times for which links have carried data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried {
    /// By link.
    mesh: Vec<Time>,
    crossings: Vec<Time>,
}

/// Shares of time in which the busiest links carried data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LinkShares {
    /// Share of the measured window in which the busiest link of a mesh carried data, 0 to 1.
    pub busiest: f64,
    /// Share of the measured window in which the busiest link between chiplets carried data, 0 to
    /// 1.
    pub busiest_crossing: f64,
}

impl Network {
    pub(crate) fn new(config: &Config) -> Network {
        let clock = config.core.clock;
        let network = &config.network;
        let tiles = config.core.count.max(config.memory.llc_slices);
        let instances = Accel::ALL.map(|accel| config.accelerator.instances_of(accel));
        let of_every = Accel::EVERY.into_iter();
        let of_every = of_every.map(|accel| config.accelerator.instances_of(accel));
        let most = of_every.max().unwrap_or(0);
        let controllers = config.memory.controllers;
        let topology = Topology::new(network, tiles, controllers, &instances);
        let (hop, crossing) = (network.hop.at(clock), network.inter_chiplet.at(clock));
        let link_rate = network.link_bytes.saturating_mul(clock.as_hz());
        let counts = (config.memory.llc_slices, controllers);
        let crossing_rate = network.inter_chiplet_bandwidth;
        let link_rate = Bandwidth::from_bytes_per_s(link_rate).unwrap_or(crossing_rate);
        Network {
            latencies: [Time::ZERO, hop, crossing],
            at_once: crossing_rate >= link_rate,
            link_rate,
            crossing_rate,
            links: vec![Pipe::IDLE; topology.links()],
            lengths: Sizes::new(Bytes(0), [Time::ZERO; 3]),
            routes: Routes::new(topology, counts, most, (hop, crossing)),
            log: None,
        }
    }

    /// Time of `size` on the slowest link.
    pub(crate) fn slowest(&self, size: Bytes) -> Time {
        self.link_rate.min(self.crossing_rate).transfer(size)
    }

    pub(crate) fn chiplets(&self) -> usize {
        self.routes.topology().chiplets()
    }

    pub(crate) fn chiplet_of(&self, place: Place) -> u16 {
        self.routes.chiplet(self.site(place))
    }

    /// The index of the place of an accelerator.
    #[inline(always)]
    pub(crate) fn site_of(&self, accel: Accel, instance: u8) -> Site {
        self.routes.site_of(accel, u16::from(instance))
    }

    /// The index of a place, by which routes are found faster.
    #[inline]
    pub(crate) fn site(&self, place: Place) -> Site {
        self.routes.site(place)
    }

    /// Moves `size` from `from`, where it is available at `flow`, to `to`. Returns the time when it
    /// arrives.
    pub(crate) fn transfer(&mut self, from: Site, to: Site, size: Bytes, flow: Flow) -> Flow {
        let route = self.routes.between(from, to);
        let rates = (self.link_rate, self.crossing_rate);
        let lengths = self.lengths.get(size, |size| lengths(rates, size));
        if !self.at_once || size == Bytes(0) {
            let lengths = *lengths;
            return self.transfer_by_link(route, lengths, flow);
        }
        // The last byte leaves the last link, an interface, its length after the first, or after it
        // has come: no link before it is slower.
        let (mut head, links) = (flow.head, &mut self.links[..]);
        for stage in self.routes.stages(route) {
            let kind = stage.kind as usize;
            let start = links[stage.link as usize].take_some(head, lengths[kind]);
            head = start + self.latencies[kind];
        }
        Flow {
            head,
            tail: (head + lengths[0]).max(flow.tail + route.latency()),
        }
    }

    /// The transfer on `route`, link by link, which are logged if an observer asks for it.
    #[inline(never)]
    fn transfer_by_link(&mut self, route: Route, lengths: Lengths, flow: Flow) -> Flow {
        let mut flow = flow;
        for stage in self.routes.stages(route) {
            let kind = stage.kind as usize;
            let (length, latency) = (lengths[kind], self.latencies[kind]);
            flow = self.links[stage.link as usize].pass(flow, length, latency);
            if let Some(log) = self.log.as_mut().filter(|_| length > Time::ZERO) {
                let start = flow.head - latency;
                log.push((stage.link as usize, start, start + length));
            }
        }
        flow
    }

    /// Logs the reservations of links from now on.
    pub(crate) fn log_links(&mut self) {
        self.at_once = false;
        self.log = Some(Vec::new());
    }

    /// Takes the reservations of links since the last call.
    pub(crate) fn take_links(&mut self) -> Vec<(usize, Time, Time)> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Names of the links, by index.
    pub(crate) fn link_names(&self) -> Vec<String> {
        (0..self.links.len())
            .map(|link| self.routes.topology().link_name(link))
            .collect()
    }

    /// Time of a command without data from `from` to `to`.
    #[inline]
    pub(crate) fn latency(&mut self, from: Site, to: Site) -> Time {
        self.routes.latency(from, to)
    }

    /// Number of links.
    #[cfg(test)]
    pub(super) fn links(&self) -> usize {
        self.links.len()
    }

    /// The links of a route: index, time that `size` occupies it, and latency to the next.
    #[cfg(test)]
    pub(super) fn stages(
        &mut self,
        from: Place,
        to: Place,
        size: Bytes,
    ) -> Vec<(usize, Time, Time)> {
        let (from, to) = (self.site(from), self.site(to));
        let route = self.routes.between(from, to);
        let lengths = lengths((self.link_rate, self.crossing_rate), size);
        let stages = self.routes.stages(route).iter().map(|stage| {
            let kind = stage.kind as usize;
            (stage.link as usize, lengths[kind], self.latencies[kind])
        });
        stages.collect()
    }

    pub(crate) fn carried(&self, now: Time) -> Carried {
        let crossings = self.routes.topology().crossings();
        let carried = |links: &[Pipe]| links.iter().map(|link| link.carried_until(now)).collect();
        Carried {
            mesh: carried(&self.links[..crossings.start]),
            crossings: carried(&self.links[crossings]),
        }
    }
}

/// By kind of link, the time for which `size` occupies one of these rates.
fn lengths((link, crossing): (Bandwidth, Bandwidth), size: Bytes) -> Lengths {
    let on_link = link.transfer(size);
    [on_link, on_link, crossing.transfer(size)]
}

impl Carried {
    /// The shares of `window` between two readings.
    pub(crate) fn shares(before: &Carried, after: &Carried, window: Time) -> LinkShares {
        let busiest = |before: &[Time], after: &[Time]| {
            let carried = before.iter().zip(after).map(|(b, a)| a.saturating_sub(*b));
            let most = carried.max().unwrap_or(Time::ZERO);
            if window > Time::ZERO {
                // An overloaded link forgets how many of its reservations are later than the
                // window.
                (most.as_ps() as f64 / window.as_ps() as f64).min(1.0)
            } else {
                0.0
            }
        };
        LinkShares {
            busiest: busiest(&before.mesh, &after.mesh),
            busiest_crossing: busiest(&before.crossings, &after.crossings),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    const NOTHING: Bytes = Bytes(0);

    fn at(accel: Accel) -> Place {
        Place::Accel(accel, 0)
    }

    fn network(values: &[(&str, f64)]) -> Network {
        let mut config = Config::default();
        for (key, value) in values {
            config.set(key, *value).unwrap();
        }
        Network::new(&config)
    }

    fn ns(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    /// Until the last byte is there, from the start of the simulation.
    fn send(network: &mut Network, from: Place, to: Place, size: Bytes) -> Time {
        let (from, to) = (network.site(from), network.site(to));
        network.transfer(from, to, size, Flow::at(Time::ZERO)).tail
    }

    /// Time of a command without data.
    fn command(network: &mut Network, from: Place, to: Place) -> Time {
        let (from, to) = (network.site(from), network.site(to));
        network.latency(from, to)
    }

    fn alone(from: Accel, to: Accel, size: Bytes) -> Time {
        send(&mut network(&[]), at(from), at(to), size)
    }

    fn hops(count: u64) -> Time {
        Time::from_ps(1_250) * count
    }

    #[test]
    fn alone_a_transfer_takes_its_hops_its_crossing_and_its_size() {
        assert_eq!(alone(Accel::Tcp, Accel::Decr, NOTHING), hops(1));
        assert_eq!(alone(Accel::Tcp, Accel::Dcmp, NOTHING), hops(4));
        assert_eq!(alone(Accel::Tcp, Accel::Tcp, NOTHING), Time::ZERO);
        assert_eq!(alone(Accel::Dser, Accel::Ldb, NOTHING), hops(3) + ns(25));
        // 3,840 B at 16 B a cycle of 2.4 GHz.
        let size = Bytes(3_840);
        assert_eq!(alone(Accel::Tcp, Accel::Dcmp, size), hops(4) + ns(100));
        assert_eq!(alone(Accel::Dser, Accel::Ldb, size), hops(3) + ns(125));
        assert_eq!(alone(Accel::Ldb, Accel::Dser, size), hops(3) + ns(125));
    }

    #[test]
    fn a_command_takes_hops_and_crossing_alone() {
        let mut network = network(&[]);
        for (from, to) in [
            (Accel::Tcp, Accel::Dcmp),
            (Accel::Ldb, Accel::Ser),
            (Accel::Rpc, Accel::Rpc),
        ] {
            assert_eq!(
                command(&mut network, at(from), at(to)),
                alone(from, to, NOTHING)
            );
        }
    }

    #[test]
    fn a_way_is_the_same_when_it_is_asked_for_again() {
        for chiplets in [1.0, 3.0, 6.0] {
            let mut network = network(&[("network.chiplets", chiplets)]);
            let accels = Accel::ALL.map(at);
            let others = [
                Place::Slice(0),
                Place::Slice(35),
                Place::Controller(3),
                Place::Iommu(0),
                Place::Manager,
            ];
            let places = || accels.iter().chain(&others);
            let mut routes = Vec::new();
            for _ in 0..2 {
                let pairs = places().flat_map(|from| places().map(move |to| (*from, *to)));
                let found = pairs.map(|(from, to)| network.stages(from, to, Bytes(64)));
                routes.push(found.collect::<Vec<_>>());
            }
            assert_eq!(routes[0], routes[1]);
            for (stages, (from, to)) in routes[0]
                .iter()
                .zip(places().flat_map(|from| places().map(move |to| (*from, *to))))
            {
                let latency: Time = stages.iter().map(|(_, _, latency)| *latency).sum();
                assert_eq!(command(&mut network, from, to), latency, "{from:?} {to:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_way_at_once_is_the_way_link_by_link(
            transfers in vec((0_usize..40, 0_usize..40, 0_u64..3_000, 0_u64..99, 0_u64..99), 1..200),
            chiplets in select(vec![1.0, 2.0, 6.0]),
        ) {
            let mut at_once = network(&[("network.chiplets", chiplets)]);
            let mut by_link = at_once.clone();
            by_link.at_once = false;
            let place = |number: usize| match number {
                0..4 => Place::Controller(number as u16),
                4..31 => Place::Slice(number as u16),
                _ => at(Accel::ALL[number - 31]),
            };
            for (number, (from, to, size, late, slow)) in transfers.into_iter().enumerate() {
                let head = ns(number as u64 * 20 + late);
                let flow = Flow { head, tail: head + ns(slow) };
                let sites = (at_once.site(place(from)), at_once.site(place(to)));
                let found = [&mut at_once, &mut by_link]
                    .map(|network| network.transfer(sites.0, sites.1, Bytes(size), flow));
                prop_assert_eq!(found[0], found[1]);
            }
        }
    }

    #[test]
    fn the_slowest_link_sets_the_pace() {
        let mut slow = network(&[("network.inter_chiplet_gb_per_s", 3.84)]);
        let size = Bytes(3_840);
        assert_eq!(
            send(&mut slow, at(Accel::Dser), at(Accel::Ldb), size),
            hops(3) + ns(25 + 1_000)
        );
        assert_eq!(
            send(&mut slow, at(Accel::Tcp), at(Accel::Decr), size),
            hops(1) + ns(100)
        );
    }

    #[test]
    fn transfers_wait_for_shared_links_alone() {
        let size = Bytes(3_840);
        // Tcp (0, 0) to Rpc (2, 0) and Decr (1, 0) to Rpc share the link into Rpc's router and
        // Rpc's interface; the second's head is there a hop earlier than the first's, and waits.
        let mut shared = network(&[]);
        send(&mut shared, at(Accel::Tcp), at(Accel::Rpc), size);
        let second = send(&mut shared, at(Accel::Decr), at(Accel::Rpc), size);
        assert_eq!(second, hops(1) + ns(100) + hops(1) + ns(100));
        // The other direction is another link.
        let back = send(&mut shared, at(Accel::Rpc), at(Accel::Tcp), size);
        assert_eq!(back, hops(2) + ns(100));
        // So is another row.
        let below = send(&mut shared, at(Accel::Ser), at(Accel::Dcmp), size);
        assert_eq!(below, hops(2) + ns(100));
    }

    #[test]
    fn a_pair_of_chiplets_has_a_link_of_its_own_each_way() {
        let six = || {
            network(&[
                ("network.chiplets", 6.0),
                ("network.inter_chiplet_gb_per_s", 3.84),
            ])
        };
        let size = Bytes(3_840);
        let mut package = six();
        let first = send(&mut package, at(Accel::Encr), at(Accel::Tcp), size);
        assert_eq!(first, hops(2) + ns(25 + 1_000));
        // Decr shares the chiplet with Encr, and so the link to TCP's.
        let second = send(&mut package, at(Accel::Decr), at(Accel::Tcp), size);
        assert_eq!(second, first + ns(1_000));
        // Not the route back, nor the routes between other pairs, but TCP's interface.
        let back = send(&mut package, at(Accel::Tcp), at(Accel::Encr), size);
        assert_eq!(back, first);
        let other = send(&mut package, at(Accel::Rpc), at(Accel::Dcmp), size);
        assert_eq!(other, first);
    }

    #[test]
    fn no_link_is_busier_than_all_of_the_time() {
        let mut network = network(&[]);
        let before = network.carried(Time::ZERO);
        // Reservations far beyond the window, apart from each other: the link forgets most of them.
        for start in (0..60).map(|number| ns(10_000 + 100 * number)) {
            network.links[0].take_some(start, ns(50));
        }
        let after = network.carried(ns(1_000));
        assert_eq!(Carried::shares(&before, &after, ns(1_000)).busiest, 1.0);
    }

    #[test]
    fn shares_are_of_the_busiest_link() {
        let mut network = network(&[]);
        let before = network.carried(Time::ZERO);
        send(&mut network, at(Accel::Dser), at(Accel::Ldb), Bytes(3_840));
        send(&mut network, at(Accel::Tcp), at(Accel::Decr), Bytes(1_920));
        let after = network.carried(ns(1_000));
        let shares = Carried::shares(&before, &after, ns(1_000));
        assert_eq!(shares.busiest, 0.1);
        // 3,840 B at 64 GB/s.
        assert_eq!(shares.busiest_crossing, 0.06);
    }
}
