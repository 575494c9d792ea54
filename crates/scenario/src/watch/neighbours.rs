//! The causes of slow requests: the services that occupied the resources for which slow requests
//! waited, and the arrivals just before slow requests.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use accelflow_sim::{Activity, HardwareEvent, Observer, RequestEvent, Seen, ServerShape};
use accelflow_units::Time;
use rustc_hash::FxHashMap;

use super::assembler::{Assembler, RequestKey};
use super::bands::BandTimes;
use super::busy::{Busy, Hardware};
use super::resource::Resource;
use super::waterfall::Waterfall;

/// The share of one service in a resource's busy time while requests waited for the resource. The
/// share is given for two groups of waiting requests: slow ones, and those around the median.
#[derive(Clone, Debug, PartialEq)]
pub struct Blame {
    /// The resource for which the compared requests waited. If it is a queue, its busy time is that
    /// of the hardware that takes entries from it: the processing elements or the output
    /// dispatcher.
    pub at: Resource,
    /// The index of the service that occupied the resource, counted from 0 in the order in which
    /// results list services; `None` for work that belongs to no service.
    pub service: Option<usize>,
    /// The fraction of the resource's busy time that the service took, from 0 to 1. Index 0: during
    /// the waits of requests around the median. Index 1: during the waits of slow requests. `None`
    /// if the resource was never busy during such a wait.
    pub shares: [Option<f64>; 2],
    /// The fraction of the resource's busy time that the service took over the whole simulation,
    /// from 0 to 1. Only the busy time on the server that served the compared requests counts, not
    /// that on servers that this server calls or that call it.
    pub overall: f64,
}

/// The arrival rate of a service just before the arrivals of slow requests and, for comparison,
/// just before the arrivals of requests around the median. A higher rate before slow requests
/// points to a burst as their cause. Arrivals count if they are at most
/// [`Why::window`](super::Why::window) before the arrival of one of these requests. Only requests
/// from clients count as arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// The index of the service, counted from 0 in the order in which results list services.
    pub service: usize,
    /// The service's mean arrival rate before requests around the median, and before slow requests,
    /// in requests per second.
    pub rates_rps: [f64; 2],
    /// The number of the service's requests that arrived before requests around the median, and
    /// before slow requests: the sums over the requests of each group, so that an arrival before
    /// two of them counts twice.
    pub arrivals: [u64; 2],
    /// The service's mean arrival rate over the whole simulation, in requests per second.
    pub mean_rps: f64,
}

/// Times by service; `None` for work that belongs to no service.
type ByService = BTreeMap<Option<usize>, Time>;

/// Follows the requests of two bands, and the work that delays them.
pub(crate) struct Neighbours<'c> {
    /// The band of each request that is followed.
    chosen: &'c FxHashMap<RequestKey, usize>,
    /// The length of the window before a request in which arrivals are counted.
    window: Time,
    assembler: Assembler,
    servers: FxHashMap<usize, Hardware>,
    /// Busy intervals while followed requests were in flight.
    recent: FxHashMap<(usize, Resource), VecDeque<Busy>>,
    ended: Vec<Busy>,
    pub(crate) times: BandTimes,
    /// By resource and band, the time for which each service occupied it.
    occupied: BTreeMap<Resource, [ByService; 2]>,
    /// By server and resource, the time for which each service occupied it in the whole simulation.
    overall: BTreeMap<(usize, Resource), ByService>,
    /// The servers of the followed requests.
    own: BTreeSet<usize>,
    arrivals: VecDeque<(Time, usize)>,
    before: BTreeMap<usize, [u64; 2]>,
    totals: BTreeMap<usize, u64>,
    last: Time,
    /// Whether the servers with the service have been simulated.
    over: bool,
    /// The number of requests followed to their ends, by band.
    pub(crate) followed: [u64; 2],
}

impl<'c> Neighbours<'c> {
    pub(crate) fn new(chosen: &'c FxHashMap<RequestKey, usize>, window: Time) -> Neighbours<'c> {
        Neighbours {
            chosen,
            window,
            assembler: Assembler::default(),
            servers: FxHashMap::default(),
            recent: FxHashMap::default(),
            ended: Vec::new(),
            times: BandTimes::default(),
            occupied: BTreeMap::new(),
            overall: BTreeMap::new(),
            own: BTreeSet::new(),
            arrivals: VecDeque::new(),
            before: BTreeMap::new(),
            totals: BTreeMap::new(),
            last: Time::ZERO,
            over: false,
            followed: [0; 2],
        }
    }

    /// The occupation of the resources that the requests waited for, by resource, the largest
    /// first.
    pub(crate) fn blames(&self) -> Vec<Blame> {
        let mut blames = Vec::new();
        for (at, bands) in &self.occupied {
            let overall = self.overall_at(at.occupied().class());
            let mut services: Vec<Option<usize>> =
                bands.iter().flat_map(BTreeMap::keys).copied().collect();
            services.sort_unstable();
            services.dedup();
            let mut of_place: Vec<Blame> = services
                .into_iter()
                .map(|service| Blame {
                    at: *at,
                    service,
                    shares: [0, 1].map(|band: usize| share(&bands[band], service)),
                    overall: share(&overall, service).unwrap_or(0.0),
                })
                .collect();
            let slow = |blame: &Blame| blame.shares[1].unwrap_or(0.0);
            of_place.sort_by(|a, b| slow(b).total_cmp(&slow(a)));
            blames.extend(of_place);
        }
        blames
    }

    /// The time for which each service occupied a class of resources of the servers of the followed
    /// requests.
    fn overall_at(&self, class: Resource) -> ByService {
        let mut all = ByService::new();
        for server in &self.own {
            for (service, time) in self.overall.get(&(*server, class)).into_iter().flatten() {
                *all.entry(*service).or_default() += *time;
            }
        }
        all
    }

    /// The arrival rates of each service before the requests of the bands.
    pub(crate) fn bursts(&self) -> Vec<Burst> {
        let window_s = self.window.as_s_f64();
        let burst = |(&service, &total): (&usize, &u64)| {
            let arrivals = self.before.get(&service).copied().unwrap_or_default();
            let rate = |band: usize| {
                arrivals[band] as f64 / (self.followed[band].max(1) as f64 * window_s)
            };
            Burst {
                service,
                rates_rps: [rate(0), rate(1)],
                arrivals,
                mean_rps: total as f64 / self.last.as_s_f64(),
            }
        };
        self.totals.iter().map(burst).collect()
    }

    fn arrives(&mut self, seen: &Seen) {
        let at = seen.at;
        let since = at.saturating_sub(self.window);
        while self.arrivals.front().is_some_and(|(old, _)| *old < since) {
            self.arrivals.pop_front();
        }
        if let Some(&band) = self.chosen.get(&(seen.service, seen.request)) {
            for (_, service) in &self.arrivals {
                self.before.entry(*service).or_default()[band] += 1;
            }
        }
        self.arrivals.push_back((at, seen.service));
        *self.totals.entry(seen.service).or_default() += 1;
        self.last = at;
    }

    fn add(&mut self, waterfall: &Waterfall) {
        let Some(&band) = self.chosen.get(&(waterfall.service, waterfall.request)) else {
            return;
        };
        self.followed[band] += 1;
        self.own.insert(waterfall.server);
        self.times.add(band, waterfall);
        for segment in waterfall.critical().filter(|segment| segment.waits) {
            let times = (segment.from, segment.until);
            let found = self.overlaps(waterfall.server, segment.at.occupied(), times);
            let at = self.occupied.entry(segment.at.class()).or_default();
            for (service, time) in found {
                *at[band].entry(service).or_default() += time;
            }
        }
    }

    /// The services that occupied `resource` between two moments, and for how long.
    fn overlaps(
        &self,
        server: usize,
        resource: Resource,
        (from, until): (Time, Time),
    ) -> ByService {
        let mut found = ByService::new();
        let mut add = |service, began: Time, ended: Time| {
            let time = ended.min(until).saturating_sub(began.max(from));
            if time > Time::ZERO {
                *found.entry(service).or_default() += time;
            }
        };
        for busy in self.recent.get(&(server, resource)).into_iter().flatten() {
            add(busy.of.map(|of| of.service), busy.from, busy.until);
        }
        if let Some(hardware) = self.servers.get(&server) {
            for (began, of) in hardware.running(resource) {
                add(of.map(|of| of.service), began, until);
            }
        }
        found
    }

    fn keep(&mut self, server: usize) {
        let oldest = self.assembler.oldest();
        for busy in self.ended.drain(..) {
            let service = busy.of.map(|of| of.service);
            let all = self.overall.entry((server, busy.at.class())).or_default();
            *all.entry(service).or_default() += busy.until - busy.from;
            let recent = self.recent.entry((server, busy.at)).or_default();
            match oldest {
                None => recent.clear(),
                Some(oldest) => {
                    while recent.front().is_some_and(|old| old.until < oldest) {
                        recent.pop_front();
                    }
                    recent.push_back(busy);
                }
            }
        }
    }
}

impl Observer for Neighbours<'_> {
    fn see(&mut self, seen: &Seen) {
        if self.over {
            return;
        }
        if seen.what == RequestEvent::Arrived {
            self.arrives(seen);
        }
        let chosen = self.chosen;
        if let Some(waterfall) = self.assembler.see(seen, |key| chosen.contains_key(&key)) {
            self.add(&waterfall);
        }
    }

    /// Servers that have nothing to do with each other are simulated one after the other, each from
    /// time 0. Only those with the chosen service count.
    fn begin(&mut self, server: &ServerShape) {
        self.over = self.followed != [0; 2];
        if self.over {
            return;
        }
        self.arrivals.clear();
        self.totals.clear();
        self.overall.clear();
        self.recent.clear();
        let mut hardware = Hardware::default();
        for unit in &server.units {
            hardware.has(unit.unit, unit.elements);
        }
        self.servers.insert(server.server, hardware);
    }

    fn follows_hardware(&self) -> bool {
        true
    }

    fn act(&mut self, activity: &Activity) {
        if self.over || matches!(activity.what, HardwareEvent::Carries { .. }) {
            return;
        }
        self.assembler.act(activity);
        if let Some(hardware) = self.servers.get_mut(&activity.server) {
            hardware.act(activity, &mut self.ended);
        }
        if !self.ended.is_empty() {
            self.keep(activity.server);
        }
    }
}

/// The share of a service in the time of all services; `None` if that is zero.
fn share(of: &ByService, service: Option<usize>) -> Option<f64> {
    let all: Time = of.values().copied().sum();
    let own = of.get(&service).copied().unwrap_or_default();
    (all > Time::ZERO).then(|| own.as_ps() as f64 / all.as_ps() as f64)
}
