//! Admission, capacity planning and path selection; the table of flows.

use accelflow_shaping::{Clock, FlowConfig, Registers, Splitting, Unit};
use accelflow_units::{Bytes, Time};

use super::{ProfileTable, Rate, registers_for};
use crate::{Arrivals, Flow, Mechanism, Path, Platform, PlatformError};

/// What kind of promise a flow has (section 6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// Always: it is admitted only into [`Policy::RESERVED_SHARE`] of the capacity, so that what the
    /// profile cannot see does not break it.
    Reserved,
    /// Almost always, for as long as it is registered: it may fill the capacity.
    OnDemand,
    /// The SLO always; and `factor` times as much for `allowance` in each `window`, from what others
    /// leave.
    ManagedBurst {
        /// How much more, at least 1.
        factor: f64,
        /// For how long in a window.
        allowance: Time,
        /// The window.
        window: Time,
    },
    /// Nothing: what others leave, however much or little. It needs no SLO; one that it has is what it
    /// hopes for, and neither counted nor a limit.
    Opportunistic,
}

impl Policy {
    /// The share of a capacity that reserved flows may be promised (assumed: the same headroom as
    /// between the paper's promises of 30 Gbit/s and 32 Gbit/s in Table 1, and no more than that).
    pub const RESERVED_SHARE: f64 = 30.0 / 32.0;

    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Policy::Reserved => "reserved",
            Policy::OnDemand => "on-demand",
            Policy::ManagedBurst { .. } => "managed-burst",
            Policy::Opportunistic => "opportunistic",
        }
    }

    /// The share of a capacity into which such a flow is admitted.
    pub(super) fn admitted_share(self) -> f64 {
        match self {
            Policy::Reserved | Policy::Opportunistic => Policy::RESERVED_SHARE,
            Policy::OnDemand | Policy::ManagedBurst { .. } => 1.0,
        }
    }

    fn check(self) -> Result<(), PlatformError> {
        let Policy::ManagedBurst {
            factor,
            allowance,
            window,
        } = self
        else {
            return Ok(());
        };
        let good = factor.is_finite() && (1.0..=100.0).contains(&factor);
        PlatformError::unless(good, "burst factor", factor, "from 1 to 100")?;
        let good = allowance <= window && window > Time::ZERO;
        let value = allowance.as_us_f64();
        PlatformError::unless(good, "burst allowance us", value, "at most the window")
    }
}

/// A place where an accelerator can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteEntry {
    /// The accelerator's number on the platform; none for the storage alone.
    pub accelerator: Option<usize>,
    /// The DMA engine that leads to it.
    pub engine: usize,
}

/// An entry of the AccTable: an accelerator by name, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccEntry {
    /// What requests call it.
    pub name: String,
    /// Where it is, once or more often.
    pub routes: Vec<RouteEntry>,
}

/// A flow that asks to be admitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Its name, unlike all others.
    pub name: String,
    /// Its VM.
    pub vm: usize,
    /// The accelerator, by the name of an [`AccEntry`].
    pub accelerator: String,
    /// Its path.
    pub path: Path,
    /// The size of its messages.
    pub size: Bytes,
    /// Its SLO, which only opportunistic flows may lack.
    pub slo: Option<Rate>,
    /// A second limit, in the other unit: the flow is held to both, and promised the smaller.
    pub also: Option<Rate>,
    /// The kind of promise.
    pub policy: Policy,
}

impl Request {
    /// What it asks to be promised, or hopes for, in gigabits a second; none without an SLO.
    pub fn asked_gbit_per_s(&self) -> Option<f64> {
        let slo = self.slo.map(|rate| rate.gbit_per_s(self.size));
        let also = self.also.map(|rate| rate.gbit_per_s(self.size));
        match (slo, also) {
            // Not `min`, which would hide a NaN from the check.
            (Some(slo), Some(also)) if also.is_nan() || also < slo => Some(also),
            (slo, also) => slo.or(also),
        }
    }

    /// What the tokens of its first limit stand for.
    pub fn unit(&self) -> Unit {
        match self.slo {
            Some(rate) if self.policy != Policy::Opportunistic => rate.unit(),
            _ => Unit::Bytes,
        }
    }

    fn check(&self) -> Result<(), PlatformError> {
        self.policy.check()?;
        for rate in [self.slo, self.also].into_iter().flatten() {
            let asked = rate.gbit_per_s(self.size);
            let good = asked.is_finite() && asked > 0.0;
            PlatformError::unless(good, "slo in Gbit/s", asked, "a number above 0")?;
        }
        match (self.slo, self.also) {
            (None, _) if self.policy != Policy::Opportunistic => Err(PlatformError::NeedsSlo {
                name: self.name.clone(),
                policy: self.policy.name(),
            }),
            (Some(slo), Some(also)) if also.unit() == slo.unit() => {
                Err(PlatformError::SameUnit(self.name.clone()))
            }
            _ => Ok(()),
        }
    }
}

/// A row of the PerFlowStatusTable.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowStatus {
    /// What was asked for.
    pub request: Request,
    /// Where it goes.
    pub route: RouteEntry,
    /// The largest piece that its messages are cut to.
    pub segment: Bytes,
    /// Its registers.
    pub registers: Registers,
    /// Those of its second limit.
    pub also: Option<Registers>,
    /// The rate that they are set to, in gigabits a second.
    pub shaped_gbit_per_s: f64,
    /// What it last got, in gigabits a second; none before it was first measured.
    pub measured_gbit_per_s: Option<f64>,
}

impl FlowStatus {
    /// What it was promised, in gigabits a second; none for an opportunistic flow.
    pub fn slo_gbit_per_s(&self) -> Option<f64> {
        let promised = self.request.policy != Policy::Opportunistic;
        promised.then(|| self.request.asked_gbit_per_s()).flatten()
    }

    /// What a profile sees of it: its path, and the size of what reaches the accelerator.
    pub(super) fn kind(&self) -> (Path, Bytes) {
        (self.request.path, self.segment.min(self.request.size))
    }

    /// What the platform runs: the flow with these arrivals, and how it is shaped.
    pub fn deployed(&self, arrivals: Arrivals) -> (Flow, FlowConfig) {
        let request = &self.request;
        let flow = Flow::new(request.vm, request.path, request.size, arrivals);
        let port = (request.path == Path::InlineTx).then_some(0);
        let flow = Flow { port, ..flow }
            .through(self.route.accelerator.as_slice())
            .by_engine(self.route.engine);
        let shaping = FlowConfig {
            also: self.also,
            splitting: match request.size > self.segment {
                true => Splitting::Segments {
                    segment: self.segment,
                    header: Bytes(0),
                },
                false => Splitting::Never,
            },
            ..FlowConfig::new(request.unit(), self.registers)
        };
        (flow, shaping)
    }

    /// Its limits: what tokens stand for, and registers.
    pub fn limits(&self) -> impl Iterator<Item = (Unit, Registers)> {
        let unit = self.request.unit();
        let also = self.also.map(|registers| (unit.other(), registers));
        std::iter::once((unit, self.registers)).chain(also)
    }

    /// What the SLO takes of the capacity that can be promised.
    pub fn counted_gbit_per_s(&self) -> f64 {
        self.slo_gbit_per_s().unwrap_or(0.0)
    }
}

/// The control plane of one server.
#[derive(Clone, Debug)]
pub struct Manager {
    profiles: ProfileTable,
    accelerators: Vec<AccEntry>,
    flows: Vec<FlowStatus>,
}

/// What requests call the way to the storage that passes no accelerator.
pub const STORAGE: &str = "storage";

impl Manager {
    /// A control plane without flows. Every accelerator of the platform is in the AccTable under its
    /// own name, those of one name as routes to the same; each is reached by DMA engine 0. The
    /// platform's storage is there as [`STORAGE`].
    pub fn new(platform: Platform) -> Manager {
        let mut accelerators: Vec<AccEntry> = Vec::new();
        for (accelerator, it) in platform.accelerators.iter().enumerate() {
            let engine = 0;
            let route = RouteEntry {
                accelerator: Some(accelerator),
                engine,
            };
            match accelerators.iter_mut().find(|entry| entry.name == it.name) {
                Some(entry) => entry.routes.push(route),
                None => accelerators.push(AccEntry {
                    name: it.name.clone(),
                    routes: vec![route],
                }),
            }
        }
        if platform.storage.is_some() {
            let (accelerator, engine) = (None, 0);
            let routes = vec![RouteEntry {
                accelerator,
                engine,
            }];
            let name = STORAGE.to_owned();
            accelerators.push(AccEntry { name, routes });
        }
        Manager {
            profiles: ProfileTable::new(platform),
            accelerators,
            flows: Vec::new(),
        }
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

    /// Admits a flow and plans its registers, or rejects it (Algorithm 1, lines 7 to 10). Of the routes
    /// that can keep the promise, it takes the one with most left.
    ///
    /// # Errors
    /// [`PlatformError::NotAdmitted`] with what is left; [`PlatformError::UnknownAccelerator`],
    /// [`PlatformError::DuplicateFlow`] and [`PlatformError::OutOfRange`].
    pub fn register(&mut self, request: Request) -> Result<&FlowStatus, PlatformError> {
        request.check()?;
        if self.flows.iter().any(|it| it.request.name == request.name) {
            return Err(PlatformError::DuplicateFlow(request.name));
        }
        let routes = self.routes(&request)?;
        let alone = routes.iter().any(|route| route.accelerator.is_none());
        if alone && !request.path.uses_storage() {
            let (name, path) = (request.name, request.path.name());
            return Err(PlatformError::NeedsAccelerator { name, path });
        }
        let route = match request.policy {
            Policy::Opportunistic => self.roomiest(&request, routes)?,
            _ => self.admit(&request, routes)?,
        };
        let status = self.plan(request, route)?;
        self.flows.push(status);
        self.share_rest(route)?;
        Ok(&self.flows[self.flows.len() - 1])
    }

    /// Forgets a flow: its share is free.
    ///
    /// # Errors
    /// [`PlatformError::UnknownFlow`].
    pub fn release(&mut self, name: &str) -> Result<FlowStatus, PlatformError> {
        let found = self.flows.iter().position(|it| it.request.name == name);
        let unknown = || PlatformError::UnknownFlow(name.to_owned());
        let released = self.flows.remove(found.ok_or_else(unknown)?);
        self.share_rest(released.route)?;
        Ok(released)
    }

    /// The route with most left, if what is left there is enough.
    fn admit(
        &mut self,
        request: &Request,
        routes: Vec<RouteEntry>,
    ) -> Result<RouteEntry, PlatformError> {
        let asked = request.asked_gbit_per_s().unwrap_or(0.0);
        match self.most_left(request, routes)? {
            Some((route, left)) if asked <= left => Ok(route),
            most => Err(PlatformError::NotAdmitted {
                name: request.name.clone(),
                accelerator: request.accelerator.clone(),
                asked,
                left: most.map_or(0.0, |it| it.1),
            }),
        }
    }

    /// The route with most left for one more opportunistic flow.
    fn roomiest(
        &mut self,
        request: &Request,
        routes: Vec<RouteEntry>,
    ) -> Result<RouteEntry, PlatformError> {
        let mut best: Option<(RouteEntry, f64)> = None;
        for route in routes {
            let left = self.room(request, route)?;
            let left = left / (1 + self.opportunistic_on(route).len()) as f64;
            if best.is_none_or(|it| left > it.1) {
                best = Some((route, left));
            }
        }
        best.map(|it| it.0)
            .ok_or_else(|| self.unknown_accelerator(request))
    }

    fn most_left(
        &mut self,
        request: &Request,
        routes: Vec<RouteEntry>,
    ) -> Result<Option<(RouteEntry, f64)>, PlatformError> {
        let mut best: Option<(RouteEntry, f64)> = None;
        for route in routes {
            let left = self.room(request, route)?;
            if best.is_none_or(|it| left > it.1) {
                best = Some((route, left));
            }
        }
        Ok(best)
    }

    /// Plans the opportunistic flows of a route: what the promised ones leave if they use all that they
    /// may, in equal parts. The runtime gives them more while the others use less.
    fn share_rest(&mut self, route: RouteEntry) -> Result<(), PlatformError> {
        let rest = self.opportunistic_on(route);
        if rest.is_empty() {
            return Ok(());
        }
        let free = self.unused(route, |_, it| it.counted_gbit_per_s())?;
        for number in rest {
            let part = self.part_of_rest(number, free)?;
            self.reshape(number, part)?;
        }
        Ok(())
    }

    /// Another route of a flow that has room for it beside what was promised there (line 18).
    ///
    /// # Errors
    /// What the platform refuses.
    pub fn select_path(&mut self, number: usize) -> Result<Option<RouteEntry>, PlatformError> {
        let it = self.flows[number].clone();
        let mut routes = self.routes(&it.request)?;
        routes.retain(|route| *route != it.route);
        let most = self.most_left(&it.request, routes)?;
        Ok(most
            .filter(|most| it.counted_gbit_per_s() <= most.1)
            .map(|most| most.0))
    }

    /// What the platform runs: the flows with these arrivals, and ARCUS with their registers.
    pub fn deploy(&self, arrivals: impl Fn(&FlowStatus) -> Arrivals) -> (Vec<Flow>, Mechanism) {
        let each = self.flows.iter().map(|it| it.deployed(arrivals(it)));
        let (flows, shaping) = each.unzip();
        (flows, Mechanism::arcus(shaping))
    }

    pub(super) fn routes(&self, request: &Request) -> Result<Vec<RouteEntry>, PlatformError> {
        let found = self
            .accelerators
            .iter()
            .find(|it| it.name == request.accelerator);
        found
            .map(|it| it.routes.clone())
            .ok_or_else(|| self.unknown_accelerator(request))
    }

    fn unknown_accelerator(&self, request: &Request) -> PlatformError {
        let known = self.accelerators.iter().map(|it| it.name.as_str());
        PlatformError::UnknownAccelerator {
            name: request.name.clone(),
            accelerator: request.accelerator.clone(),
            known: known.collect::<Vec<&str>>().join(", "),
        }
    }

    /// What a profile sees of a flow on this route.
    pub(super) fn kind(&self, request: &Request, route: RouteEntry) -> (Path, Bytes) {
        let segment = self.segment(route.accelerator, request.size);
        (request.path, segment.min(request.size))
    }

    /// The piece that messages of `size` are best cut to (`ReshapeDecision`): the smallest power of two,
    /// from 1 KiB on, that costs the accelerator no more than 3 % of its rate.
    fn segment(&self, accelerator: Option<usize>, size: Bytes) -> Bytes {
        let Some(accelerator) = accelerator else {
            return size; // an operation of the storage is one
        };
        let curve = &self.profiles.platform().accelerators[accelerator].curve;
        let whole = curve.gbit_per_s(size);
        let sizes = (10..26).map(|power| Bytes(1 << power));
        let mut good = sizes.filter(|it| *it < size && curve.gbit_per_s(*it) >= 0.97 * whole);
        good.next().unwrap_or(size)
    }

    fn plan(&mut self, request: Request, route: RouteEntry) -> Result<FlowStatus, PlatformError> {
        let segment = self.segment(route.accelerator, request.size);
        let promised = match request.policy {
            // Until the rest is shared out, which is at once.
            Policy::Opportunistic => None,
            _ => request.asked_gbit_per_s(),
        };
        let gbit_per_s = match promised {
            Some(promised) => promised,
            None => self.alone(self.kind(&request, route), route)?,
        };
        let (registers, also) = registers_of(&request, segment, gbit_per_s)?;
        Ok(FlowStatus {
            shaped_gbit_per_s: gbit_per_s,
            route,
            segment,
            registers,
            also,
            measured_gbit_per_s: None,
            request,
        })
    }

    /// Sets a flow's rate to `gbit_per_s`: its new registers.
    pub(super) fn reshape(&mut self, number: usize, gbit_per_s: f64) -> Result<(), PlatformError> {
        let it = &mut self.flows[number];
        (it.registers, it.also) = registers_of(&it.request, it.segment, gbit_per_s)?;
        it.shaped_gbit_per_s = gbit_per_s;
        Ok(())
    }
}

/// Registers of both limits for `gbit_per_s`: each as many times its SLO as that is of the promise, which
/// is the smaller of them. Operations are segments there. An opportunistic flow has one limit, in bytes.
fn registers_of(
    request: &Request,
    segment: Bytes,
    gbit_per_s: f64,
) -> Result<(Registers, Option<Registers>), PlatformError> {
    let pieces = request.size.get().div_ceil(segment.get()) as f64;
    let promised = request.policy != Policy::Opportunistic;
    let (Some(slo), Some(asked)) = (request.slo.filter(|_| promised), request.asked_gbit_per_s())
    else {
        let registers = registers_for(Rate::GbitPerS(gbit_per_s), segment, Clock::PAPER)?;
        return Ok((registers, None));
    };
    let factor = gbit_per_s / asked;
    let registers = |rate: Rate| {
        let rate = match rate {
            Rate::OperationsPerS(rate) => Rate::OperationsPerS(rate * pieces * factor),
            Rate::GbitPerS(rate) => Rate::GbitPerS(rate * factor),
        };
        registers_for(rate, segment, Clock::PAPER)
    };
    let also = request.also.map(registers).transpose()?;
    Ok((registers(slo)?, also))
}
