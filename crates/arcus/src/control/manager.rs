//! The control plane's [`Manager`]: it admits flows, plans their rates and routes, and keeps the
//! table of flows.

use super::acc_table::{AccEntry, entries, routes};
use super::moves::better_route;
use super::oversubscribed::{allocation, at_least_a_trickle};
use super::profile::{ProfileTable, Tag};
use super::request::{AdmissionRequest, ServiceClass};
use super::rest;
use super::room::Beside;
use super::route::{RouteEntry, Traffic};
use super::shaping::{Shaping, output, shapings};
use super::status::{FlowStatus, parts, promised};
use crate::{Arrivals, Flow, Mechanism, Platform, PlatformError};

/// A route that a registered flow could take instead of its present route, with a tag that says
/// whether all promised rates would then still fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// The route that the flow could take.
    pub route: RouteEntry,
    /// [`Tag::SloFriendly`] if the load of all promised rates, with the flow on this route, is at
    /// most the limit up to which the flow would be admitted.
    pub tag: Tag,
    /// The largest rate that could be promised to the flow on this route, in gigabits per second.
    pub left_gbit_per_s: f64,
}

/// The control plane of one server: admits flows, plans the registers of their traffic shapers and
/// chooses their routes.
#[derive(Clone, Debug)]
pub struct Manager {
    profiles: ProfileTable,
    accelerators: Vec<AccEntry>,
    flows: Vec<FlowStatus>,
    /// By flow: the flow's other routes, tagged since the last flow came, left or moved.
    classified: Vec<Option<Vec<Alternative>>>,
    /// The factor of over-subscription: promises may add up to this many times the capacity.
    oversubscription: f64,
    /// The fraction of an opportunistic flow's share of its own accelerators that also fits on the
    /// resources that all flows share.
    rest: f64,
    /// Whether results of accelerators are shaped before they are written to the storage.
    shapes_results: bool,
}

impl Manager {
    /// Creates a control plane without flows. Its table of accelerators (ARCUS's AccTable) has
    /// every accelerator of the platform by name, and [`super::STORAGE`] if the platform has
    /// storage. Every DMA engine reaches each accelerator.
    pub fn new(platform: Platform) -> Manager {
        Manager {
            accelerators: entries(&platform),
            profiles: ProfileTable::new(platform),
            flows: Vec::new(),
            classified: Vec::new(),
            oversubscription: 1.0,
            rest: 1.0,
            shapes_results: true,
        }
    }

    /// Turns off the second shaper ([`FlowStatus::results`]), which limits what accelerators write
    /// to the storage, for all flows that are admitted or moved from now on. Comparisons use this
    /// to show the effect of the second shaper.
    #[must_use]
    pub fn shaping_once(self) -> Manager {
        Manager {
            shapes_results: false,
            ..self
        }
    }

    /// Replaces the table of profiled capacities by `profiles`, whose platform must be equal to
    /// this control plane's.
    #[must_use]
    pub fn with_profiles(self, profiles: ProfileTable) -> Manager {
        Manager { profiles, ..self }
    }

    /// Allows over-subscription: promised rates may add up to `factor` times the capacity. `factor`
    /// is from 1 (no over-subscription) to 100. If flows then use more than the capacity, those
    /// with the highest [`AdmissionRequest::priority`] numbers get less than promised.
    ///
    /// # Errors
    /// [`PlatformError::OutOfRange`] for a factor outside 1 to 100.
    pub fn oversubscribed(self, factor: f64) -> Result<Manager, PlatformError> {
        let good = factor.is_finite() && (1.0..=100.0).contains(&factor);
        PlatformError::unless(good, "oversubscription", factor, "from 1 to 100")?;
        Ok(Manager {
            oversubscription: factor,
            ..self
        })
    }

    /// The factor of over-subscription: promised rates may add up to this multiple of the capacity.
    /// 1 means no over-subscription.
    pub fn oversubscription(&self) -> f64 {
        self.oversubscription
    }

    /// ARCUS's AccTable: the accelerators of the platform by name.
    pub fn accelerators(&self) -> &[AccEntry] {
        &self.accelerators
    }

    /// ARCUS's PerFlowStatusTable: the registered flows, in order of registration.
    pub fn flows(&self) -> &[FlowStatus] {
        &self.flows
    }

    pub(super) fn flows_mut(&mut self) -> &mut [FlowStatus] {
        &mut self.flows
    }

    /// ARCUS's ProfileTable: the platform's capacities for the contexts (mixes of flows) that have
    /// been profiled so far.
    pub fn profiles(&mut self) -> &mut ProfileTable {
        &mut self.profiles
    }

    /// Admits a flow and plans the registers of its shaper, or rejects the flow (Algorithm 1, lines
    /// 7 to 10).
    ///
    /// Among the flow's routes on which all promises fit ([`Tag::SloFriendly`]), the one with the
    /// most remaining capacity is chosen. On each route, messages are cut to the smallest segments
    /// (a power of two, at least 1 KiB) with which every accelerator still reaches at least 97 % of
    /// its rate for whole messages. If no route is [`Tag::SloFriendly`] with cut messages, the
    /// routes are tried with whole messages, which do not lower the accelerators' rates. After an
    /// admission, [`Manager::alternatives`] computes the tags of the other routes again.
    ///
    /// An opportunistic flow is not rejected for lack of capacity.
    ///
    /// # Errors
    /// [`PlatformError::NotAdmitted`], with the remaining capacity, for an SLO that does not fit;
    /// [`PlatformError::DuplicateFlow`] for a name that is registered already. For an invalid
    /// request: [`PlatformError::UnknownAccelerator`], [`PlatformError::NeedsAccelerator`],
    /// [`PlatformError::NeedsSlo`], [`PlatformError::SameUnit`], [`PlatformError::OutOfRange`] or,
    /// for a bucket that is too large, [`PlatformError::Shaping`]. Further, the errors of
    /// [`Platform::check`].
    pub fn register(&mut self, request: AdmissionRequest) -> Result<&FlowStatus, PlatformError> {
        request.check()?;
        if self
            .flows
            .iter()
            .any(|flow| flow.request.name == request.name)
        {
            return Err(PlatformError::DuplicateFlow(request.name));
        }
        let shaping = match request.class {
            ServiceClass::Opportunistic => self.roomiest(&request)?,
            _ => self.admit(&request)?,
        };
        let status = self.plan(request, shaping)?;
        let route = status.route.clone();
        let before = self.flows.clone();
        self.flows.push(status);
        self.forget_classes();
        let shared = self.share_rest(&route).and_then(|()| self.allocate());
        if let Err(error) = shared {
            self.flows = before;
            self.forget_classes();
            return Err(error);
        }
        Ok(&self.flows[self.flows.len() - 1])
    }

    /// Removes the flow called `name`, frees its share of the capacity and returns its row of the
    /// table of flows.
    ///
    /// # Errors
    /// [`PlatformError::UnknownFlow`] if no flow of this name is registered, and the errors of
    /// [`Platform::check`].
    pub fn release(&mut self, name: &str) -> Result<FlowStatus, PlatformError> {
        let found = self.flows.iter().position(|flow| flow.request.name == name);
        let unknown = || PlatformError::UnknownFlow(name.to_owned());
        let released = self.flows.remove(found.ok_or_else(unknown)?);
        self.forget_classes();
        self.share_rest(&released.route)?;
        self.allocate()?;
        Ok(released)
    }

    /// Returns the largest SLO with which the flow of `request` could be admitted on any of its
    /// routes, in gigabits per second. The result does not depend on the SLO in the request. If a
    /// flow of the same name is registered, its promise does not count.
    ///
    /// # Errors
    /// [`PlatformError::UnknownAccelerator`], [`PlatformError::NeedsAccelerator`],
    /// [`PlatformError::OutOfRange`] for sizes, bursts and values of the service class that are not
    /// allowed, and the errors of [`Platform::check`].
    pub fn left(&mut self, request: &AdmissionRequest) -> Result<f64, PlatformError> {
        request.check_traffic()?;
        let (cut, whole) = self.shapings(request)?;
        let mut best: f64 = 0.0;
        for shaping in cut.into_iter().chain(whole) {
            best = best.max(self.room(request, &shaping)?);
        }
        Ok(best)
    }

    /// Chooses the shaping of a new flow among SLO-Friendly contexts.
    fn admit(&mut self, request: &AdmissionRequest) -> Result<Shaping, PlatformError> {
        let asked = request.asked_gbit_per_s().unwrap_or(0.0);
        let (cut, whole) = self.shapings(request)?;
        for candidates in [&cut, &whole] {
            let mut friendly = Vec::new();
            for shaping in candidates {
                let beside = self.beside(request, shaping);
                if beside.tag(&mut self.profiles, asked)? == Tag::SloFriendly {
                    friendly.push(shaping.clone());
                }
            }
            if friendly.len() <= 1 {
                match friendly.pop() {
                    Some(only) => return Ok(only),
                    None => continue,
                }
            }
            if let Some((shaping, _)) = self.most_left(request, friendly)? {
                return Ok(shaping);
            }
        }
        let left = self.most_left(request, [cut, whole].concat())?;
        Err(PlatformError::NotAdmitted {
            name: request.name.clone(),
            accelerator: request.accelerator.clone(),
            asked,
            left: left.map_or(0.0, |most| most.1),
        })
    }

    /// The candidate shapings of a flow, first with messages cut, then with whole messages.
    fn shapings(
        &self,
        request: &AdmissionRequest,
    ) -> Result<(Vec<Shaping>, Vec<Shaping>), PlatformError> {
        let routes = self.routes(request)?;
        Ok(shapings(self.profiles.platform(), &request.sizes, routes))
    }

    fn routes(&self, request: &AdmissionRequest) -> Result<Vec<RouteEntry>, PlatformError> {
        let engines = self.profiles.platform().dma.engines;
        routes(&self.accelerators, engines, request)
    }

    /// The shaping on the route with the most capacity left for one more opportunistic flow.
    fn roomiest(&mut self, request: &AdmissionRequest) -> Result<Shaping, PlatformError> {
        let (cut, _) = self.shapings(request)?;
        let mut best: Option<(Shaping, f64)> = None;
        for shaping in cut {
            let left = self.room(request, &shaping)?;
            let sharers = rest::opportunistic_on(&self.flows, &shaping.route).len();
            let left = left / (1 + sharers) as f64;
            if best.as_ref().is_none_or(|found| left > found.1) {
                best = Some((shaping, left));
            }
        }
        best.map(|found| found.0)
            .ok_or_else(|| PlatformError::NotAdmitted {
                name: request.name.clone(),
                accelerator: request.accelerator.clone(),
                asked: 0.0,
                left: 0.0,
            })
    }

    /// The candidate that leaves the largest possible promise, and this promise in gigabits per
    /// second.
    fn most_left(
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

    /// A flow with this request and shaping, beside the promises of all others.
    fn beside(&self, request: &AdmissionRequest, shaping: &Shaping) -> Beside {
        Beside {
            own: parts(&request.sizes, &shaping.route, shaping.segment, 1.0),
            others: promised(&self.flows, &request.name),
            share: request.class.admitted_share() * self.oversubscription,
        }
    }

    /// The largest promise with one shaping, in gigabits per second.
    fn room(
        &mut self,
        request: &AdmissionRequest,
        shaping: &Shaping,
    ) -> Result<f64, PlatformError> {
        let beside = self.beside(request, shaping);
        beside.room(&mut self.profiles)
    }

    /// The largest possible promise to a registered flow with its present shaping, in gigabits per
    /// second.
    pub(super) fn room_of(&mut self, number: usize) -> Result<f64, PlatformError> {
        let status = &self.flows[number];
        let shaping = Shaping {
            route: status.route.clone(),
            segment: status.segment,
        };
        self.room(&status.request.clone(), &shaping)
    }

    /// Returns the other routes that the request of a registered flow allows, each with a tag that
    /// says whether all present promises still fit if the flow moves there. `number` is the flow's
    /// index in [`Manager::flows`]. The tags are stored, and are computed again only
    /// after a flow was admitted, released or moved.
    ///
    /// # Errors
    /// The errors of [`Platform::check`].
    ///
    /// # Panics
    /// Panics if no registered flow has this index.
    pub fn alternatives(&mut self, number: usize) -> Result<&[Alternative], PlatformError> {
        if self.classified[number].is_none() {
            let status = self.flows[number].clone();
            let mut found = Vec::new();
            for route in self.routes(&status.request)? {
                if route == status.route {
                    continue;
                }
                // The hardware queue still cuts messages as before: a flow keeps its segment size
                // when it moves.
                let shaping = Shaping {
                    route,
                    segment: status.segment,
                };
                let beside = self.beside(&status.request, &shaping);
                found.push(Alternative {
                    tag: beside.tag(&mut self.profiles, status.counted_gbit_per_s())?,
                    left_gbit_per_s: beside.room(&mut self.profiles)?,
                    route: shaping.route,
                });
            }
            self.classified[number] = Some(found);
        }
        Ok(self.classified[number].as_deref().unwrap_or_default())
    }

    fn forget_classes(&mut self) {
        self.classified = vec![None; self.flows.len()];
    }

    /// Finds another route for a registered flow (Algorithm 1, line 18). Among the flow's
    /// SLO-Friendly [`alternatives`](Manager::alternatives), chooses the one with the most
    /// remaining capacity. Returns `None` if no alternative is SLO-Friendly. `number` is the flow's
    /// index in [`Manager::flows`].
    ///
    /// # Errors
    /// The errors of [`Platform::check`].
    ///
    /// # Panics
    /// Panics if no registered flow has this index.
    pub fn select_path(&mut self, number: usize) -> Result<Option<RouteEntry>, PlatformError> {
        let friendly = self
            .alternatives(number)?
            .iter()
            .filter(|candidate| candidate.tag == Tag::SloFriendly);
        let mut best: Option<&Alternative> = None;
        for other in friendly {
            if best.is_none_or(|found| other.left_gbit_per_s > found.left_gbit_per_s) {
                best = Some(other);
            }
        }
        Ok(best.map(|best| best.route.clone()))
    }

    /// Finds another route for a registered flow of an over-subscribed platform among its
    /// SLO-Friendly alternatives, by the division of the capacity for these demands
    /// ([`better_route`]).
    pub(super) fn better_path(
        &mut self,
        number: usize,
        demands: &[f64],
    ) -> Result<Option<RouteEntry>, PlatformError> {
        let all = self.alternatives(number)?.iter();
        let friendly = all.filter(|candidate| candidate.tag == Tag::SloFriendly);
        let routes: Vec<RouteEntry> = friendly.map(|found| found.route.clone()).collect();
        better_route(&mut self.profiles, &self.flows, number, &routes, demands)
    }

    /// Returns the input of a simulation under ARCUS: the registered flows, and ARCUS's mechanism
    /// with the registers of these flows. `arrivals` returns the arrival process of a flow.
    pub fn deploy(&self, arrivals: impl Fn(&FlowStatus) -> Arrivals) -> (Vec<Flow>, Mechanism) {
        let each = self.flows.iter().map(|flow| flow.deployed(arrivals(flow)));
        let (flows, shaping) = each.unzip();
        (flows, Mechanism::arcus(shaping))
    }

    /// Returns each possible route of the requested flow, with the traffic that the flow would send
    /// on this route at the rate that it asks for. If messages are cut on the route, the traffic is
    /// in segments. The list is empty for a request without a rate.
    ///
    /// # Errors
    /// [`PlatformError::UnknownAccelerator`], [`PlatformError::NeedsAccelerator`], and the errors
    /// of [`Manager::register`] for an invalid request.
    pub fn candidates(
        &self,
        request: &AdmissionRequest,
    ) -> Result<Vec<(RouteEntry, Vec<Traffic>)>, PlatformError> {
        request.check()?;
        let asked = request.asked_gbit_per_s().unwrap_or(0.0);
        let cut = match asked > 0.0 {
            true => self.shapings(request)?.0,
            false => Vec::new(),
        };
        let candidate = |Shaping { route, segment }| {
            let traffic = parts(&request.sizes, &route, segment, asked);
            (route, traffic)
        };
        Ok(cut.into_iter().map(candidate).collect())
    }

    /// Returns the pairs of a route and a size that must be profiled for a request. Each possible
    /// route is paired with each size of the flow's messages, and of the segments of cut messages.
    ///
    /// # Errors
    /// [`PlatformError::UnknownAccelerator`], [`PlatformError::NeedsAccelerator`], and the errors
    /// of [`Manager::register`] for an invalid request.
    pub fn patterns(
        &self,
        request: &AdmissionRequest,
    ) -> Result<Vec<(RouteEntry, accelflow_units::Bytes)>, PlatformError> {
        request.check()?;
        let (cut, whole) = self.shapings(request)?;
        let of = |shaping: &Shaping| parts(&request.sizes, &shaping.route, shaping.segment, 1.0);
        let all = cut.iter().chain(&whole).flat_map(of);
        Ok(all.map(|traffic| (traffic.route, traffic.size)).collect())
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
            None => {
                let alone = parts(&request.sizes, &route, segment, 1.0);
                self.profiles.capacity_of(&alone)?
            }
        };
        let platform = self.profiles.platform();
        let output = match self.shapes_results {
            true => output(platform, &request.sizes, &route, segment),
            false => None,
        };
        FlowStatus::planned(request, route, segment, output, gbit_per_s)
    }

    /// Moves a flow to another route.
    pub(super) fn reroute(
        &mut self,
        number: usize,
        route: RouteEntry,
    ) -> Result<(), PlatformError> {
        let status = &self.flows[number];
        let platform = self.profiles.platform();
        let output = match self.shapes_results {
            true => output(platform, &status.request.sizes, &route, status.segment),
            false => None,
        };
        self.flows[number].reroute(route, output)?;
        self.forget_classes();
        Ok(())
    }

    /// Sets a flow's rate to `gbit_per_s`, with new registers.
    pub(super) fn reshape(&mut self, number: usize, gbit_per_s: f64) -> Result<(), PlatformError> {
        self.flows[number].reshape(gbit_per_s)
    }

    /// Plans the opportunistic flows of a route. They share in equal parts the capacity that flows
    /// with promises leave if all promises are used in full. The runtime gives them more while the
    /// other flows use less.
    fn share_rest(&mut self, route: &RouteEntry) -> Result<(), PlatformError> {
        let before = self.rest;
        let rates = match self.oversubscription > 1.0 {
            true => self.predicted()?,
            false => self.promises(),
        };
        self.leave_rest(&rates)?;
        for number in 0..self.flows.len() {
            let status = &self.flows[number];
            let here = status.route.meets(route) || self.rest < 1.0 || before < 1.0;
            if status.request.class == ServiceClass::Opportunistic && here {
                let route = status.route.clone();
                let free = self.unused(&route, |number, _| rates[number])?;
                let part = self.part_of_rest(number, free)?;
                self.reshape(number, part)?;
            }
        }
        Ok(())
    }

    /// Decides which part of the capacity that flows with promises leave on a route opportunistic
    /// flows get there, if flows with promises use `rates`, in gigabits per second by flow index.
    pub(super) fn leave_rest(&mut self, rates: &[f64]) -> Result<(), PlatformError> {
        self.rest = rest::fitting(&mut self.profiles, &self.flows, rates)?;
        Ok(())
    }

    fn promises(&self) -> Vec<f64> {
        let flows = self.flows.iter();
        flows.map(FlowStatus::counted_gbit_per_s).collect()
    }

    /// The share of a route's accelerators that flows with promises leave unused. `used` is their
    /// use in gigabits per second.
    pub(super) fn unused(
        &mut self,
        route: &RouteEntry,
        used: impl Fn(usize, &FlowStatus) -> f64,
    ) -> Result<f64, PlatformError> {
        rest::unused(&mut self.profiles, &self.flows, route, used)
    }

    /// The rate of an opportunistic flow if this share of its route is left, in gigabits per
    /// second.
    pub(super) fn part_of_rest(&mut self, number: usize, free: f64) -> Result<f64, PlatformError> {
        rest::part(&mut self.profiles, &self.flows, number, free, self.rest)
    }

    /// The rate of a flow alone on its route, in gigabits per second.
    pub(super) fn alone_of(&mut self, number: usize) -> Result<f64, PlatformError> {
        rest::alone(&mut self.profiles, &self.flows[number])
    }

    /// Predicts the rate of each registered flow, from the profiled capacities, if every flow sends
    /// at its promised rate. Rates are in gigabits per second, in the order of [`Manager::flows`];
    /// the rates of opportunistic flows are 0. A rate below the promise is a predicted violation;
    /// only over-subscription can cause one.
    ///
    /// # Errors
    /// The errors of [`Platform::check`].
    pub fn predicted(&mut self) -> Result<Vec<f64>, PlatformError> {
        self.allocation(&self.promises())
    }

    /// Divides the capacity among the registered flows if they demand the rates `demands`. Demands
    /// and results are in gigabits per second, in the order of [`Manager::flows`]. Flows with lower
    /// [`AdmissionRequest::priority`] numbers are served first. Flows of equal priority get equal
    /// fractions of their demands, or all of their demands if no resource that they use is short.
    ///
    /// # Errors
    /// The errors of [`ProfileTable::load`].
    ///
    /// # Panics
    /// Panics if there are more demands than registered flows.
    pub fn allocation(&mut self, demands: &[f64]) -> Result<Vec<f64>, PlatformError> {
        allocation(&mut self.profiles, &self.flows, demands)
    }

    /// With over-subscription, shapes each flow with a promise to the rate that it gets if all
    /// flows use their promises in full.
    fn allocate(&mut self) -> Result<(), PlatformError> {
        if self.oversubscription <= 1.0 {
            return Ok(());
        }
        let rates = self.predicted()?;
        for (number, rate) in rates.into_iter().enumerate() {
            if self.flows[number].request.class != ServiceClass::Opportunistic {
                let rate = at_least_a_trickle(&self.flows[number], rate);
                self.reshape(number, rate)?;
            }
        }
        Ok(())
    }
}
