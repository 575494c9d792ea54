//! Admission, capacity planning and path selection; the table of flows.

use accelflow_shaping::{Clock, FlowConfig, Registers, Splitting, Unit};
use accelflow_units::{Bytes, Time};

use super::{Context, ProfileTable, Rate, registers_for};
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
    /// Nothing: what others leave, up to the SLO, which is not counted.
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
    /// Its SLO.
    pub slo: Rate,
    /// A second limit, in the other unit: the flow is held to both, and promised the smaller.
    pub also: Option<Rate>,
    /// The kind of promise.
    pub policy: Policy,
}

impl Request {
    /// What it asks to be promised, in gigabits a second.
    pub fn asked_gbit_per_s(&self) -> f64 {
        let slo = self.slo.gbit_per_s(self.size);
        let also = self.also.map(|rate| rate.gbit_per_s(self.size));
        // Not `min`, which would hide a NaN from the check.
        also.filter(|also| also.is_nan() || *also < slo)
            .unwrap_or(slo)
    }

    fn check(&self) -> Result<(), PlatformError> {
        self.policy.check()?;
        for rate in [Some(self.slo), self.also].into_iter().flatten() {
            let asked = rate.gbit_per_s(self.size);
            let good = asked.is_finite() && asked > 0.0;
            PlatformError::unless(good, "slo in Gbit/s", asked, "a number above 0")?;
        }
        match self.also {
            Some(rate) if rate.unit() == self.slo.unit() => {
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
    /// Its SLO in gigabits a second.
    pub fn slo_gbit_per_s(&self) -> f64 {
        self.request.asked_gbit_per_s()
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
            ..FlowConfig::new(request.slo.unit(), self.registers)
        };
        (flow, shaping)
    }

    /// Its limits: what tokens stand for, and registers.
    pub fn limits(&self) -> impl Iterator<Item = (Unit, Registers)> {
        let unit = self.request.slo.unit();
        let also = self.also.map(|registers| (unit.other(), registers));
        std::iter::once((unit, self.registers)).chain(also)
    }

    /// What the SLO takes of the capacity that can be promised.
    pub fn counted_gbit_per_s(&self) -> f64 {
        match self.request.policy {
            Policy::Opportunistic => 0.0,
            _ => self.slo_gbit_per_s(),
        }
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

/// The least that an opportunistic flow is shaped to, as a share of its SLO: a rate cannot be zero.
pub(super) const TRICKLE: f64 = 0.01;

/// Rounds of halving in the search for what is left: to 2^-7 of what was asked.
const ROUNDS: u32 = 7;

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
        let asked = request.asked_gbit_per_s();
        if self.flows.iter().any(|it| it.request.name == request.name) {
            return Err(PlatformError::DuplicateFlow(request.name));
        }
        let routes = self.routes(&request)?;
        let alone = routes.iter().any(|route| route.accelerator.is_none());
        if alone && !request.path.uses_storage() {
            let (name, path) = (request.name, request.path.name());
            return Err(PlatformError::NeedsAccelerator { name, path });
        }
        let mut best: Option<(RouteEntry, f64)> = None;
        for route in routes {
            let left = self.left_after(&request, route, asked)?;
            if left >= 0.0 && best.is_none_or(|it| left > it.1) {
                best = Some((route, left));
            }
        }
        let Some((route, _)) = best else {
            let left = self.left(&request)?;
            return Err(PlatformError::NotAdmitted {
                name: request.name,
                accelerator: request.accelerator,
                asked,
                left,
            });
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

    /// Plans the opportunistic flows of a route: what the promised ones leave if they use all that they
    /// may, in equal parts. The runtime gives them more while the others use less.
    fn share_rest(&mut self, route: RouteEntry) -> Result<(), PlatformError> {
        let here = |it: &FlowStatus| it.route == route;
        let promised: f64 = self
            .flows
            .iter()
            .filter(|it| here(it))
            .map(|it| it.counted_gbit_per_s())
            .sum();
        let is_rest = |it: &FlowStatus| here(it) && it.request.policy == Policy::Opportunistic;
        let rest: Vec<usize> = (0..self.flows.len())
            .filter(|it| is_rest(&self.flows[*it]))
            .collect();
        if rest.is_empty() {
            return Ok(());
        }
        let left = self.capacity_of(route)? * Policy::RESERVED_SHARE - promised;
        for number in &rest {
            let slo = self.flows[*number].slo_gbit_per_s();
            let part = left / rest.len() as f64;
            self.reshape(*number, part.clamp(TRICKLE * slo, slo))?;
        }
        Ok(())
    }

    /// The largest SLO that this flow could be admitted with, in gigabits a second, to a part in 128 of
    /// what it asks for.
    ///
    /// # Errors
    /// [`PlatformError::UnknownAccelerator`] and what the platform refuses.
    pub fn left(&mut self, request: &Request) -> Result<f64, PlatformError> {
        let asked = request.asked_gbit_per_s();
        let mut best: f64 = 0.0;
        for route in self.routes(request)? {
            let (mut low, mut high) = (0.0, asked);
            for _ in 0..ROUNDS {
                let middle = (low + high) / 2.0;
                match self.left_after(request, route, middle)? >= 0.0 {
                    true => low = middle,
                    false => high = middle,
                }
            }
            best = best.max(low);
        }
        Ok(best)
    }

    /// Another route of a flow that has room for it beside what was promised there (line 18).
    ///
    /// # Errors
    /// What the platform refuses.
    pub fn select_path(&mut self, number: usize) -> Result<Option<RouteEntry>, PlatformError> {
        let it = self.flows[number].clone();
        let mut best: Option<(RouteEntry, f64)> = None;
        for route in self.routes(&it.request)? {
            if route == it.route {
                continue;
            }
            let left = self.left_after(&it.request, route, it.counted_gbit_per_s())?;
            if left >= 0.0 && best.is_none_or(|it| left > it.1) {
                best = Some((route, left));
            }
        }
        Ok(best.map(|it| it.0))
    }

    /// What the platform runs: the flows with these arrivals, and ARCUS with their registers.
    pub fn deploy(&self, arrivals: impl Fn(&FlowStatus) -> Arrivals) -> (Vec<Flow>, Mechanism) {
        let each = self.flows.iter().map(|it| it.deployed(arrivals(it)));
        let (flows, shaping) = each.unzip();
        (flows, Mechanism::arcus(shaping))
    }

    /// Gigabits a second that a context with these flows on `route` can deliver in all, of which
    /// `more` are for `request`, less what it was promised to deliver.
    fn left_after(
        &mut self,
        request: &Request,
        route: RouteEntry,
        more: f64,
    ) -> Result<f64, PlatformError> {
        let others = self.flows.iter().filter(|it| {
            it.route == route && it.counted_gbit_per_s() > 0.0 && it.request.name != request.name
        });
        let mut flows: Vec<(Path, Bytes, f64)> = others
            .map(|it| {
                (
                    it.request.path,
                    it.segment.min(it.request.size),
                    it.counted_gbit_per_s(),
                )
            })
            .collect();
        let counted = if request.policy == Policy::Opportunistic {
            0.0
        } else {
            more
        };
        if counted > 0.0 {
            let segment = self.segment(route.accelerator, request.size);
            flows.push((request.path, segment.min(request.size), counted));
        }
        if flows.is_empty() {
            return Ok(0.0);
        }
        let promised: f64 = flows.iter().map(|it| it.2).sum();
        let context = Context::new(route.accelerator, route.engine, &flows);
        let capacity = self.profiles.capacity(&context)?.gbit_per_s;
        let share = if request.policy == Policy::Reserved {
            Policy::RESERVED_SHARE
        } else {
            1.0
        };
        Ok(capacity * share - promised)
    }

    fn routes(&self, request: &Request) -> Result<Vec<RouteEntry>, PlatformError> {
        let found = self
            .accelerators
            .iter()
            .find(|it| it.name == request.accelerator);
        found.map(|it| it.routes.clone()).ok_or_else(|| {
            let known: Vec<&str> = self
                .accelerators
                .iter()
                .map(|it| it.name.as_str())
                .collect();
            PlatformError::UnknownAccelerator {
                name: request.name.clone(),
                accelerator: request.accelerator.clone(),
                known: known.join(", "),
            }
        })
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

    fn plan(&self, request: Request, route: RouteEntry) -> Result<FlowStatus, PlatformError> {
        let segment = self.segment(route.accelerator, request.size);
        let (registers, also) = registers_of(&request, segment, 1.0)?;
        Ok(FlowStatus {
            shaped_gbit_per_s: request.asked_gbit_per_s(),
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
        let factor = gbit_per_s / it.slo_gbit_per_s();
        (it.registers, it.also) = registers_of(&it.request, it.segment, factor)?;
        it.shaped_gbit_per_s = gbit_per_s;
        Ok(())
    }

    pub(super) fn capacity_of(&mut self, route: RouteEntry) -> Result<f64, PlatformError> {
        let here = self.flows.iter().filter(|it| it.route == route);
        let flows: Vec<(Path, Bytes, f64)> = here
            .map(|it| {
                (
                    it.request.path,
                    it.segment.min(it.request.size),
                    it.slo_gbit_per_s(),
                )
            })
            .collect();
        let context = Context::new(route.accelerator, route.engine, &flows);
        Ok(self.profiles.capacity(&context)?.gbit_per_s)
    }
}

/// Registers of both limits for `factor` times what they are; operations are segments there.
fn registers_of(
    request: &Request,
    segment: Bytes,
    factor: f64,
) -> Result<(Registers, Option<Registers>), PlatformError> {
    let pieces = request.size.get().div_ceil(segment.get()) as f64;
    let registers = |rate: Rate| {
        let rate = match rate {
            Rate::OperationsPerS(rate) => Rate::OperationsPerS(rate * pieces * factor),
            Rate::GbitPerS(rate) => Rate::GbitPerS(rate * factor),
        };
        registers_for(rate, segment, Clock::PAPER)
    };
    let also = request.also.map(registers).transpose()?;
    Ok((registers(request.slo)?, also))
}
