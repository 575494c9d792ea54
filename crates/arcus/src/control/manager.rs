//! Admission, capacity planning and path selection; the table of flows.

use accelflow_units::Bytes;

use super::ProfileTable;
use super::request::{AdmissionRequest, ServiceClass};
use super::route::RouteEntry;
use super::status::{FlowStatus, Output};
use super::thresholds::{SEGMENT_LOSS, SMALLEST_SEGMENT};
use crate::{Arrivals, Egress, Flow, Mechanism, Path, Platform, PlatformError};

/// An entry of the AccTable: an accelerator by name, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccEntry {
    /// The name that requests use.
    pub name: String,
    /// The numbers of its instances on the platform; empty for the storage.
    pub instances: Vec<usize>,
}

/// The name, in requests, of the route to the storage without an accelerator.
pub const STORAGE: &str = "storage";

/// The control plane of one server.
#[derive(Clone, Debug)]
pub struct Manager {
    profiles: ProfileTable,
    accelerators: Vec<AccEntry>,
    flows: Vec<FlowStatus>,
    /// The factor of over-subscription: promises may add up to this many times the capacity.
    oversubscription: f64,
    /// The fraction of their rates on their own accelerators that opportunistic flows get, given
    /// the resources that all flows share.
    pub(super) rest: f64,
    /// Whether results of accelerators are shaped before they are written to the storage.
    shapes_results: bool,
}

/// A candidate shaping of a flow: its route, and the segments that its messages are cut to.
#[derive(Clone, Debug)]
pub(super) struct Shaping {
    pub(super) route: RouteEntry,
    pub(super) segment: Bytes,
}

impl Manager {
    /// Creates a control plane without flows. The AccTable has every accelerator of the platform by
    /// name. Accelerators of the same name are instances of one entry, and every DMA engine reaches
    /// each. The platform's storage is in the table as [`STORAGE`].
    pub fn new(platform: Platform) -> Manager {
        let mut accelerators: Vec<AccEntry> = Vec::new();
        for (number, part) in platform.accelerators.iter().enumerate() {
            match accelerators
                .iter_mut()
                .find(|entry| entry.name == part.name)
            {
                Some(entry) => entry.instances.push(number),
                None => accelerators.push(AccEntry {
                    name: part.name.clone(),
                    instances: vec![number],
                }),
            }
        }
        if platform.storage.is_some() {
            accelerators.push(AccEntry {
                name: STORAGE.to_owned(),
                instances: Vec::new(),
            });
        }
        Manager {
            profiles: ProfileTable::new(platform),
            accelerators,
            flows: Vec::new(),
            oversubscription: 1.0,
            rest: 1.0,
            shapes_results: true,
        }
    }

    /// Leaves out the second shapers of the inline mode, which measures what they are worth.
    #[must_use]
    pub fn shaping_once(self) -> Manager {
        Manager {
            shapes_results: false,
            ..self
        }
    }

    /// Uses existing profiles of an equal platform.
    #[must_use]
    pub fn with_profiles(self, profiles: ProfileTable) -> Manager {
        Manager { profiles, ..self }
    }

    /// Allows promises that add up to `factor` times the capacity, from 1 to 100. If flows use more
    /// than the capacity, those of the lowest priority get less than promised.
    ///
    /// # Errors
    /// [`PlatformError::OutOfRange`].
    pub fn oversubscribed(self, factor: f64) -> Result<Manager, PlatformError> {
        let good = factor.is_finite() && (1.0..=100.0).contains(&factor);
        PlatformError::unless(good, "oversubscription", factor, "from 1 to 100")?;
        Ok(Manager {
            oversubscription: factor,
            ..self
        })
    }

    /// The factor of over-subscription: the promisable multiple of the capacity.
    pub fn oversubscription(&self) -> f64 {
        self.oversubscription
    }

    /// The AccTable.
    pub fn accelerators(&self) -> &[AccEntry] {
        &self.accelerators
    }

    /// The PerFlowStatusTable, in the order of registration.
    pub fn flows(&self) -> &[FlowStatus] {
        &self.flows
    }

    pub(super) fn flows_mut(&mut self) -> &mut [FlowStatus] {
        &mut self.flows
    }

    /// The ProfileTable.
    pub fn profiles(&mut self) -> &mut ProfileTable {
        &mut self.profiles
    }

    /// Admits a flow and plans its registers, or rejects it (Algorithm 1, lines 7 to 10). Among
    /// routes that can keep the promise, the one with the most remaining capacity is chosen.
    ///
    /// # Errors
    /// [`PlatformError::NotAdmitted`] with the remaining capacity;
    /// [`PlatformError::UnknownAccelerator`], [`PlatformError::DuplicateFlow`] and
    /// [`PlatformError::OutOfRange`].
    pub fn register(&mut self, request: AdmissionRequest) -> Result<&FlowStatus, PlatformError> {
        request.check()?;
        if self
            .flows
            .iter()
            .any(|flow| flow.request.name == request.name)
        {
            return Err(PlatformError::DuplicateFlow(request.name));
        }
        let routes = self.routes(&request)?;
        let shaping = match request.class {
            ServiceClass::Opportunistic => self.roomiest(&request, routes)?,
            _ => self.admit(&request, routes)?,
        };
        let status = self.plan(request, shaping)?;
        let route = status.route.clone();
        self.flows.push(status);
        self.share_rest(&route)?;
        self.allocate()?;
        Ok(&self.flows[self.flows.len() - 1])
    }

    /// Removes a flow and frees its share.
    ///
    /// # Errors
    /// [`PlatformError::UnknownFlow`].
    pub fn release(&mut self, name: &str) -> Result<FlowStatus, PlatformError> {
        let found = self.flows.iter().position(|flow| flow.request.name == name);
        let unknown = || PlatformError::UnknownFlow(name.to_owned());
        let released = self.flows.remove(found.ok_or_else(unknown)?);
        self.share_rest(&released.route)?;
        self.allocate()?;
        Ok(released)
    }

    /// Plans the shaping of a new flow. On each route its messages are split into the smallest
    /// segments that the accelerator processes without loss. Among routes whose context is then
    /// SLO-friendly, the one with the most remaining capacity is chosen. If there is no such route,
    /// messages stay whole, which is cheapest for accelerators.
    fn admit(
        &mut self,
        request: &AdmissionRequest,
        routes: Vec<RouteEntry>,
    ) -> Result<Shaping, PlatformError> {
        let asked = request.asked_gbit_per_s().unwrap_or(0.0);
        let mut most = 0.0;
        let (cut, whole) = self.shapings(request, routes);
        for candidates in [cut, whole] {
            match self.most_left(request, candidates)? {
                Some((shaping, left)) if asked <= left => return Ok(shaping),
                Some((_, left)) => most = f64::max(most, left),
                None => {}
            }
        }
        Err(PlatformError::NotAdmitted {
            name: request.name.clone(),
            accelerator: request.accelerator.clone(),
            asked,
            left: most,
        })
    }

    /// The candidates for a shaping: on each route with messages cut to the best segment, and whole
    /// where that differs.
    pub(super) fn shapings(
        &self,
        request: &AdmissionRequest,
        routes: Vec<RouteEntry>,
    ) -> (Vec<Shaping>, Vec<Shaping>) {
        let largest = request.sizes.largest();
        let cut = routes.into_iter().map(|route| Shaping {
            segment: self.segment(&route, largest),
            route,
        });
        let cut: Vec<Shaping> = cut.collect();
        let longer = cut.iter().filter(|shaping| shaping.segment < largest);
        let whole = longer.map(|shaping| Shaping {
            route: shaping.route.clone(),
            segment: largest,
        });
        let whole = whole.collect();
        (cut, whole)
    }

    /// The route with the most capacity left for one more opportunistic flow.
    fn roomiest(
        &mut self,
        request: &AdmissionRequest,
        routes: Vec<RouteEntry>,
    ) -> Result<Shaping, PlatformError> {
        let mut best: Option<(Shaping, f64)> = None;
        for shaping in self.shapings(request, routes).0 {
            let left = self.room(request, &shaping)?;
            let left = left / (1 + self.opportunistic_on(&shaping.route).len()) as f64;
            if best.as_ref().is_none_or(|found| left > found.1) {
                best = Some((shaping, left));
            }
        }
        best.map(|found| found.0)
            .ok_or_else(|| self.unknown_accelerator(request, &request.accelerator))
    }

    pub(super) fn most_left(
        &mut self,
        request: &AdmissionRequest,
        candidates: Vec<Shaping>,
    ) -> Result<Option<(Shaping, f64)>, PlatformError> {
        let mut best: Option<(Shaping, f64)> = None;
        for shaping in candidates {
            let left = self.room(request, &shaping)?;
            if best.as_ref().is_none_or(|found| left > found.1) {
                best = Some((shaping, left));
            }
        }
        Ok(best)
    }

    /// Finds another route that has room for a flow in addition to its present promises (line 18):
    /// another instance, accelerator, DMA engine or path that the flow's request allows.
    ///
    /// # Errors
    /// The errors of [`Platform::check`].
    pub fn select_path(&mut self, number: usize) -> Result<Option<RouteEntry>, PlatformError> {
        let status = self.flows[number].clone();
        let mut routes = self.routes(&status.request)?;
        routes.retain(|route| *route != status.route);
        let candidates = routes.into_iter().map(|route| Shaping {
            route,
            // The hardware queue still cuts messages as before: a flow keeps its segment size when
            // it moves.
            segment: status.segment,
        });
        let most = self.most_left(&status.request, candidates.collect())?;
        Ok(most
            .filter(|most| status.counted_gbit_per_s() <= most.1)
            .map(|most| most.0.route))
    }

    /// Returns the registered flows with these arrivals, and the mechanism ARCUS with their
    /// registers.
    pub fn deploy(&self, arrivals: impl Fn(&FlowStatus) -> Arrivals) -> (Vec<Flow>, Mechanism) {
        let each = self.flows.iter().map(|flow| flow.deployed(arrivals(flow)));
        let (flows, shaping) = each.unzip();
        (flows, Mechanism::arcus(shaping))
    }

    /// All routes that a request allows: paths, accelerators and their instances, DMA engines.
    pub(super) fn routes(
        &self,
        request: &AdmissionRequest,
    ) -> Result<Vec<RouteEntry>, PlatformError> {
        let mut places: Vec<Vec<usize>> = Vec::new();
        for name in std::iter::once(&request.accelerator).chain(&request.instead) {
            places.extend(self.places(request, name)?);
        }
        for name in &request.then {
            let next = self.places(request, name)?;
            let longer = places
                .iter()
                .flat_map(|place| next.iter().map(|more| [&place[..], &more[..]].concat()));
            places = longer.collect();
        }
        let mut routes = Vec::new();
        for &path in std::iter::once(&request.path).chain(&request.other_paths) {
            if places.iter().any(Vec::is_empty) && !path.uses_storage() {
                let (name, path) = (request.name.clone(), path.name());
                return Err(PlatformError::NeedsAccelerator { name, path });
            }
            for place in &places {
                for engine in 0..self.profiles.platform().dma.engines {
                    routes.push(RouteEntry {
                        accelerators: place.clone(),
                        engine,
                        path,
                    });
                }
            }
        }
        Ok(routes)
    }

    /// The instances of one name, each as the beginning of a route.
    fn places(
        &self,
        request: &AdmissionRequest,
        name: &str,
    ) -> Result<Vec<Vec<usize>>, PlatformError> {
        let found = self.accelerators.iter().find(|entry| entry.name == name);
        let entry = found.ok_or_else(|| self.unknown_accelerator(request, name))?;
        Ok(match entry.instances.is_empty() {
            true => vec![Vec::new()],
            false => entry
                .instances
                .iter()
                .map(|instance| vec![*instance])
                .collect(),
        })
    }

    fn unknown_accelerator(&self, request: &AdmissionRequest, accelerator: &str) -> PlatformError {
        let known = self.accelerators.iter().map(|entry| entry.name.as_str());
        PlatformError::UnknownAccelerator {
            name: request.name.clone(),
            accelerator: accelerator.to_owned(),
            known: known.collect::<Vec<&str>>().join(", "),
        }
    }

    /// The segment size to which messages of `size` are cut (`ReshapeDecision`): the smallest power
    /// of two, from 1 KiB on, that costs no accelerator on the route more than 3 % of its rate.
    fn segment(&self, route: &RouteEntry, size: Bytes) -> Bytes {
        let known = &self.profiles.platform().accelerators;
        let curves = || {
            route
                .accelerators
                .iter()
                .map(|accelerator| &known[*accelerator].curve)
        };
        if route.accelerators.is_empty() {
            return size; // an operation of the storage is one
        }
        let sizes = (SMALLEST_SEGMENT.get().ilog2()..26).map(|power| Bytes(1 << power));
        let mut good = sizes.filter(|smaller| {
            *smaller < size
                && curves().all(|curve| {
                    curve.gbit_per_s(*smaller) >= (1.0 - SEGMENT_LOSS) * curve.gbit_per_s(size)
                })
        });
        good.next().unwrap_or(size)
    }

    fn plan(
        &mut self,
        request: AdmissionRequest,
        Shaping { route, segment }: Shaping,
    ) -> Result<FlowStatus, PlatformError> {
        let promised = match request.class {
            // A preliminary value: the rest of the capacity is divided immediately afterwards.
            ServiceClass::Opportunistic => None,
            _ => request.asked_gbit_per_s(),
        };
        let gbit_per_s = match promised {
            Some(promised) => promised,
            None => self.alone(&request.sizes, segment, &route)?,
        };
        let output = self.output(&request, &route, segment);
        FlowStatus::planned(request, route, segment, output, gbit_per_s)
    }

    /// The output of the accelerators on a route to the storage; `None` on other routes, and if
    /// there is no output.
    fn output(
        &self,
        request: &AdmissionRequest,
        route: &RouteEntry,
        segment: Bytes,
    ) -> Option<Output> {
        let inline = route.path == Path::StorageWrite && !route.accelerators.is_empty();
        if !inline || !self.shapes_results {
            return None;
        }
        let known = &self.profiles.platform().accelerators;
        // A digest belongs to the whole message, so its last segment carries it.
        let of =
            |input: Bytes, last: bool| {
                let passed = route.accelerators.iter().fold(input, |data, number| {
                    match known[*number].egress {
                        Egress::Fixed(_) if !last => Bytes(0),
                        egress => egress.of(data),
                    }
                });
                passed.get()
            };
        let (mut mean, mut largest) = (0.0, 0);
        for (size, share) in request.sizes.shares() {
            let before = (size.get() - 1) / segment.get();
            let rest = Bytes(size.get() - before * segment.get());
            let (each, end) = (of(segment, false), of(rest, true));
            mean += share * (before * each + end) as f64;
            largest = largest.max(end).max(if before > 0 { each } else { 0 });
        }
        let largest = Bytes(largest);
        (mean > 0.0).then_some(Output { mean, largest })
    }

    /// Moves a flow to another route.
    pub(super) fn reroute(
        &mut self,
        number: usize,
        route: RouteEntry,
    ) -> Result<(), PlatformError> {
        let status = &self.flows[number];
        let output = self.output(&status.request, &route, status.segment);
        self.flows[number].reroute(route, output)
    }

    /// Sets a flow's rate to `gbit_per_s`. Returns its new registers.
    pub(super) fn reshape(&mut self, number: usize, gbit_per_s: f64) -> Result<(), PlatformError> {
        self.flows[number].reshape(gbit_per_s)
    }
}
