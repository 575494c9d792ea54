//! The routes between the components on the package, each computed once.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::topology::{Place, Step, Stop, Topology};

/// The index of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site(u32);

/// The kind of a link. It determines the bandwidth and latency of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkKind {
    /// Between a router and its own tile.
    Interface,
    /// Between two routers of a mesh.
    Hop,
    /// Between two chiplets.
    Crossing,
}

/// A link on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    /// Index of the link in the network.
    pub link: u32,
    /// The kind of the link, which determines its bandwidth and latency.
    pub kind: LinkKind,
}

/// A route: its links in the order in which a transfer reserves them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    first: u32,
    /// One past the last; 0 before the route is computed.
    end: u32,
    /// Time of a command without data; [`Time::MAX`] before it is computed.
    latency: Time,
}

impl Route {
    const UNKNOWN: Route = Route {
        first: 0,
        end: 0,
        latency: Time::MAX,
    };

    /// The sum of the times to the ends of its links.
    #[inline]
    pub(crate) fn latency(&self) -> Time {
        self.latency
    }
}

/// The routes of a package. A route is computed when it is first needed, and kept.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    topology: Topology,
    hop: Time,
    crossing: Time,
    /// Number of instances of the accelerator with the most.
    instances: usize,
    /// The first numbers of slices, controllers, IOMMUs and the manager, after those of
    /// accelerators.
    first: [usize; 4],
    /// By number of a place.
    stops: Vec<Stop>,
    /// By the numbers of both ends.
    routes: Vec<Route>,
    stages: Vec<Stage>,
}

impl Routes {
    /// The routes of `topology`, which has `slices`, `controllers` and, of each accelerator, custom
    /// ones too, at most `instances`; `hop` and `crossing` are the times to the end of a link.
    pub(crate) fn new(
        topology: Topology,
        (slices, controllers): (usize, usize),
        instances: usize,
        (hop, crossing): (Time, Time),
    ) -> Routes {
        let instances = instances.max(1);
        let counts = [slices, controllers, topology.chiplets()];
        let accels = Accel::EVERY.into_iter();
        let mut places: Vec<Place> = accels
            .flat_map(|accel| (0..instances).map(move |number| Place::Accel(accel, number as u16)))
            .collect();
        let kinds = [Place::Slice, Place::Controller, Place::Iommu];
        let first = std::array::from_fn(|kind| {
            let first = places.len();
            if let (Some(&count), Some(place)) = (counts.get(kind), kinds.get(kind)) {
                places.extend((0..count).map(|number| place(number as u16)));
            }
            first
        });
        places.push(Place::Manager);
        Routes {
            routes: vec![Route::UNKNOWN; places.len() * places.len()],
            stages: Vec::new(),
            stops: places.iter().map(|&place| topology.stop(place)).collect(),
            topology,
            hop,
            crossing,
            instances,
            first,
        }
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The chiplet of a place.
    pub(crate) fn chiplet(&self, site: Site) -> u16 {
        self.stops[site.0 as usize].chiplet as u16
    }

    /// The route from `from` to `to`.
    #[inline(always)]
    pub(crate) fn between(&mut self, from: Site, to: Site) -> Route {
        let index = from.0 as usize * self.stops.len() + to.0 as usize;
        let route = self.routes[index];
        match route.end {
            0 => self.find(index, from, to),
            _ => route,
        }
    }

    /// Time of a command without data from `from` to `to`.
    #[inline]
    pub(crate) fn latency(&mut self, from: Site, to: Site) -> Time {
        let index = from.0 as usize * self.stops.len() + to.0 as usize;
        match self.routes[index].latency {
            Time::MAX => self.find_latency(index, from, to),
            latency => latency,
        }
    }

    /// The links of a route.
    #[inline]
    pub(crate) fn stages(&self, route: Route) -> &[Stage] {
        &self.stages[route.first as usize..route.end as usize]
    }

    /// The index of the place of an accelerator.
    #[inline(always)]
    pub(crate) fn site_of(&self, accel: Accel, instance: u16) -> Site {
        Site((accel.index() * self.instances + usize::from(instance)) as u32)
    }

    /// The index of a place.
    #[inline]
    pub(crate) fn site(&self, place: Place) -> Site {
        let number = match place {
            Place::Accel(accel, instance) => return self.site_of(accel, instance),
            Place::Slice(number) => self.first[0] + usize::from(number),
            Place::Controller(number) => self.first[1] + usize::from(number),
            Place::Iommu(chiplet) => self.first[2] + usize::from(chiplet),
            Place::Manager => self.first[3],
        };
        Site(number as u32)
    }

    #[cold]
    #[inline(never)]
    fn find(&mut self, index: usize, from: Site, to: Site) -> Route {
        self.find_latency(index, from, to);
        let [from, to] = [from, to].map(|site| self.stops[site.0 as usize]);
        let first = self.stages.len() as u32;
        let stages = &mut self.stages;
        self.topology.route(from, to, |step| {
            let (link, kind) = match step {
                Step::Interface(link) => (link, LinkKind::Interface),
                Step::Hop(link) => (link, LinkKind::Hop),
                Step::Crossing(link) => (link, LinkKind::Crossing),
            };
            let link = link as u32;
            stages.push(Stage { link, kind });
        });
        let route = &mut self.routes[index];
        (route.first, route.end) = (first, stages.len() as u32);
        *route
    }

    /// Places of accelerators that the chip does not have are at a distance, but no route leads
    /// there.
    #[cold]
    fn find_latency(&mut self, index: usize, from: Site, to: Site) -> Time {
        let [from, to] = [from, to].map(|site| self.stops[site.0 as usize]);
        let (hops, crossings) = self.topology.distance(from, to);
        let latency = self.hop * hops + self.crossing * crossings;
        self.routes[index].latency = latency;
        latency
    }
}
