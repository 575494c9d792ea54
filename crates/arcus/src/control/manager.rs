//! Admission, capacity planning and path selection; the table of flows.

use accelflow_shaping::{Clock, FlowConfig, Registers, Splitting, Unit};
use accelflow_units::{Bytes, Time};

use super::{ProfileTable, Rate, registers_for};
use crate::{Arrivals, Flow, Mechanism, Path, Platform, PlatformError};

/// The service class of a flow: what it is promised (section 6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceClass {
    /// The SLO always: the flow is admitted only into [`ServiceClass::RESERVED_SHARE`] of the capacity,
    /// as headroom for effects outside the profile.
    Reserved,
    /// The SLO almost always while it is registered: it may fill the capacity.
    OnDemand,
    /// The SLO always; and `factor` times as much for `allowance` in each `window`, from what others
    /// leave.
    ManagedBurst {
        /// The factor, at least 1.
        factor: f64,
        /// The time of bursts in a window.
        allowance: Time,
        /// The window.
        window: Time,
    },
    /// No promise: the flow gets what others leave. It needs no SLO; an SLO that it has is a wish,
    /// neither counted nor a limit.
    Opportunistic,
}

impl ServiceClass {
    /// The share of a capacity that reserved flows may be promised (assumed: the same headroom as
    /// between the paper's promises of 30 Gbit/s and 32 Gbit/s in Table 1, and no more than that).
    pub const RESERVED_SHARE: f64 = 30.0 / 32.0;

    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            ServiceClass::Reserved => "reserved",
            ServiceClass::OnDemand => "on-demand",
            ServiceClass::ManagedBurst { .. } => "managed-burst",
            ServiceClass::Opportunistic => "opportunistic",
        }
    }

    /// The share of a capacity into which such a flow is admitted.
    pub(super) fn admitted_share(self) -> f64 {
        match self {
            ServiceClass::Reserved | ServiceClass::Opportunistic => ServiceClass::RESERVED_SHARE,
            ServiceClass::OnDemand | ServiceClass::ManagedBurst { .. } => 1.0,
        }
    }

    fn check(self) -> Result<(), PlatformError> {
        let ServiceClass::ManagedBurst {
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

/// A route to an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteEntry {
    /// The accelerator's number on the platform; none for the storage alone.
    pub accelerator: Option<usize>,
    /// The DMA engine on the route.
    pub engine: usize,
}

/// An entry of the AccTable: an accelerator by name, and its routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccEntry {
    /// The name that requests use.
    pub name: String,
    /// Its routes, one or more.
    pub routes: Vec<RouteEntry>,
}

/// A request to admit a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct AdmissionRequest {
    /// Its unique name.
    pub name: String,
    /// Its VM.
    pub vm: usize,
    /// The accelerator, by the name of an [`AccEntry`].
    pub accelerator: String,
    /// Its path.
    pub path: Path,
    /// The size of its messages.
    pub size: Bytes,
    /// Its SLO; optional for opportunistic flows alone.
    pub slo: Option<Rate>,
    /// A second limit, in the other unit: the flow is held to both, and promised the smaller.
    pub also: Option<Rate>,
    /// What it is promised.
    pub class: ServiceClass,
}

impl AdmissionRequest {
    /// The rate that it asks for, in gigabits a second; `None` without an SLO.
    pub fn asked_gbit_per_s(&self) -> Option<f64> {
        let slo = self.slo.map(|rate| rate.gbit_per_s(self.size));
        let also = self.also.map(|rate| rate.gbit_per_s(self.size));
        match (slo, also) {
            // Not `min`, which would hide a NaN from the check.
            (Some(slo), Some(also)) if also.is_nan() || also < slo => Some(also),
            (slo, also) => slo.or(also),
        }
    }

    /// The unit of its first limit's tokens.
    pub fn unit(&self) -> Unit {
        match self.slo {
            Some(rate) if self.class != ServiceClass::Opportunistic => rate.unit(),
            _ => Unit::Bytes,
        }
    }

    fn check(&self) -> Result<(), PlatformError> {
        self.class.check()?;
        for rate in [self.slo, self.also].into_iter().flatten() {
            let asked = rate.gbit_per_s(self.size);
            let good = asked.is_finite() && asked > 0.0;
            PlatformError::unless(good, "slo in Gbit/s", asked, "a number above 0")?;
        }
        match (self.slo, self.also) {
            (None, _) if self.class != ServiceClass::Opportunistic => {
                Err(PlatformError::NeedsSlo {
                    name: self.name.clone(),
                    policy: self.class.name(),
                })
            }
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
    /// The request.
    pub request: AdmissionRequest,
    /// Its route.
    pub route: RouteEntry,
    /// The largest piece that its messages are cut to.
    pub segment: Bytes,
    /// Its registers.
    pub registers: Registers,
    /// The registers of its second limit.
    pub also: Option<Registers>,
    /// The rate that the registers are set to, in gigabits a second.
    pub shaped_gbit_per_s: f64,
    /// The rate last measured, in gigabits a second; `None` before the first measurement.
    pub measured_gbit_per_s: Option<f64>,
}

impl FlowStatus {
    /// The promised rate, in gigabits a second; `None` for an opportunistic flow.
    pub fn slo_gbit_per_s(&self) -> Option<f64> {
        let promised = self.request.class != ServiceClass::Opportunistic;
        promised.then(|| self.request.asked_gbit_per_s()).flatten()
    }

    /// Its kind in a profile: its path, and the size of the pieces that reach the accelerator.
    pub(super) fn kind(&self) -> (Path, Bytes) {
        (self.request.path, self.segment.min(self.request.size))
    }

    /// The flow for the platform with these arrivals, and its shaping.
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

    /// Its limits: unit of the tokens, and registers.
    pub fn limits(&self) -> impl Iterator<Item = (Unit, Registers)> {
        let unit = self.request.unit();
        let also = self.also.map(|registers| (unit.other(), registers));
        std::iter::once((unit, self.registers)).chain(also)
    }

    /// The part of the capacity that the promise takes, in gigabits a second.
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

/// The name in requests of the route to the storage that passes no accelerator.
pub const STORAGE: &str = "storage";

impl Manager {
    /// A control plane without flows. Every accelerator of the platform is in the AccTable under its
    /// own name, those of one name as routes to the same; each is reached by DMA engine 0. The
    /// platform's storage is there as [`STORAGE`].
    pub fn new(platform: Platform) -> Manager {
        let mut accelerators: Vec<AccEntry> = Vec::new();
        for (accelerator, part) in platform.accelerators.iter().enumerate() {
            let engine = 0;
            let route = RouteEntry {
                accelerator: Some(accelerator),
                engine,
            };
            match accelerators
                .iter_mut()
                .find(|entry| entry.name == part.name)
            {
                Some(entry) => entry.routes.push(route),
                None => accelerators.push(AccEntry {
                    name: part.name.clone(),
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
        let alone = routes.iter().any(|route| route.accelerator.is_none());
        if alone && !request.path.uses_storage() {
            let (name, path) = (request.name, request.path.name());
            return Err(PlatformError::NeedsAccelerator { name, path });
        }
        let route = match request.class {
            ServiceClass::Opportunistic => self.roomiest(&request, routes)?,
            _ => self.admit(&request, routes)?,
        };
        let status = self.plan(request, route)?;
        self.flows.push(status);
        self.share_rest(route)?;
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
        self.share_rest(released.route)?;
        Ok(released)
    }

    /// The route with the most capacity left, if that is enough.
    fn admit(
        &mut self,
        request: &AdmissionRequest,
        routes: Vec<RouteEntry>,
    ) -> Result<RouteEntry, PlatformError> {
        let asked = request.asked_gbit_per_s().unwrap_or(0.0);
        match self.most_left(request, routes)? {
            Some((route, left)) if asked <= left => Ok(route),
            most => Err(PlatformError::NotAdmitted {
                name: request.name.clone(),
                accelerator: request.accelerator.clone(),
                asked,
                left: most.map_or(0.0, |found| found.1),
            }),
        }
    }

    /// The route with the most capacity left for one more opportunistic flow.
    fn roomiest(
        &mut self,
        request: &AdmissionRequest,
        routes: Vec<RouteEntry>,
    ) -> Result<RouteEntry, PlatformError> {
        let mut best: Option<(RouteEntry, f64)> = None;
        for route in routes {
            let left = self.room(request, route)?;
            let left = left / (1 + self.opportunistic_on(route).len()) as f64;
            if best.is_none_or(|found| left > found.1) {
                best = Some((route, left));
            }
        }
        best.map(|found| found.0)
            .ok_or_else(|| self.unknown_accelerator(request))
    }

    fn most_left(
        &mut self,
        request: &AdmissionRequest,
        routes: Vec<RouteEntry>,
    ) -> Result<Option<(RouteEntry, f64)>, PlatformError> {
        let mut best: Option<(RouteEntry, f64)> = None;
        for route in routes {
            let left = self.room(request, route)?;
            if best.is_none_or(|found| left > found.1) {
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
        let free = self.unused(route, |_, flow| flow.counted_gbit_per_s())?;
        for number in rest {
            let part = self.part_of_rest(number, free)?;
            self.reshape(number, part)?;
        }
        Ok(())
    }

    /// Another route of a flow that has room for it beside what was promised there (line 18).
    ///
    /// # Errors As [`Platform::check`].
    pub fn select_path(&mut self, number: usize) -> Result<Option<RouteEntry>, PlatformError> {
        let status = self.flows[number].clone();
        let mut routes = self.routes(&status.request)?;
        routes.retain(|route| *route != status.route);
        let most = self.most_left(&status.request, routes)?;
        Ok(most
            .filter(|most| status.counted_gbit_per_s() <= most.1)
            .map(|most| most.0))
    }

    /// The flows for the platform with these arrivals, and ARCUS with their registers.
    pub fn deploy(&self, arrivals: impl Fn(&FlowStatus) -> Arrivals) -> (Vec<Flow>, Mechanism) {
        let each = self.flows.iter().map(|flow| flow.deployed(arrivals(flow)));
        let (flows, shaping) = each.unzip();
        (flows, Mechanism::arcus(shaping))
    }

    pub(super) fn routes(
        &self,
        request: &AdmissionRequest,
    ) -> Result<Vec<RouteEntry>, PlatformError> {
        let found = self
            .accelerators
            .iter()
            .find(|entry| entry.name == request.accelerator);
        found
            .map(|entry| entry.routes.clone())
            .ok_or_else(|| self.unknown_accelerator(request))
    }

    fn unknown_accelerator(&self, request: &AdmissionRequest) -> PlatformError {
        let known = self.accelerators.iter().map(|entry| entry.name.as_str());
        PlatformError::UnknownAccelerator {
            name: request.name.clone(),
            accelerator: request.accelerator.clone(),
            known: known.collect::<Vec<&str>>().join(", "),
        }
    }

    /// The kind of a flow on this route, as a profile sees it.
    pub(super) fn kind(&self, request: &AdmissionRequest, route: RouteEntry) -> (Path, Bytes) {
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
        let mut good =
            sizes.filter(|smaller| *smaller < size && curve.gbit_per_s(*smaller) >= 0.97 * whole);
        good.next().unwrap_or(size)
    }

    fn plan(
        &mut self,
        request: AdmissionRequest,
        route: RouteEntry,
    ) -> Result<FlowStatus, PlatformError> {
        let segment = self.segment(route.accelerator, request.size);
        let promised = match request.class {
            // Until the rest of the capacity is divided, which happens at once.
            ServiceClass::Opportunistic => None,
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
        let status = &mut self.flows[number];
        (status.registers, status.also) =
            registers_of(&status.request, status.segment, gbit_per_s)?;
        status.shaped_gbit_per_s = gbit_per_s;
        Ok(())
    }
}

/// Registers of both limits for `gbit_per_s`: each as many times its SLO as that is of the promise, which
/// is the smaller of them. Operations are segments there. An opportunistic flow has one limit, in bytes.
fn registers_of(
    request: &AdmissionRequest,
    segment: Bytes,
    gbit_per_s: f64,
) -> Result<(Registers, Option<Registers>), PlatformError> {
    let pieces = request.size.get().div_ceil(segment.get()) as f64;
    let promised = request.class != ServiceClass::Opportunistic;
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
