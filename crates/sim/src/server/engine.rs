//! The event loop and the state it works on.

use std::ops::Range;
use std::sync::atomic::Ordering;

use accelflow_kernel::{BusyTime, Calendar, Priority, TimeAverage, attribute};
use accelflow_trace::Accel;
use accelflow_units::Time;

use super::arrivals::Source;
use super::buffers::Buffers;
use super::shaping::Shaped;
use super::state::{
    CoreId, Event, Job, JobId, Join, Letter, Request, RequestId, Task, Transfer, Unit,
};
use super::tenants::{Tenant, tenants};
use super::{Run, SimError, Watch};
use crate::config::{Config, Heaps, Isolation};
use crate::hardware::{
    CentralQueue, Core, Dma, Movement, Policy, Sizes, Slices, SoftQueue, Station, TraceMemory,
    Uncore,
};
use crate::orchestrators::Queueing;
use crate::plan::{ChainPlan, Message, PhasePlan};
use crate::stats::{Fallback, Operated, Orchestration, Outcome, Part, ServiceStats, Totals};

/// The attribute of a request that says which core its message is steered to.
pub(super) const HOME_CORE: u64 = 0;
/// The attribute that says which TCP its connection is with.
pub(super) const HOME_TCP: u64 = 1;

/// The attributes that say which cores LdB draws.
const LDB_DRAWS: [u64; 2] = [1 << 42, (1 << 42) + 1];

/// Events between two looks at whether the run is to stop: some milliseconds.
const EVENTS_BETWEEN_LOOKS: u64 = 1 << 16;

pub(super) struct Engine<'r> {
    pub(super) run: Run<'r>,
    pub(super) uncore: Uncore,
    pub(super) calendar: Calendar<Event>,
    pub(super) sources: Vec<Source>,
    pub(super) requests: Slab<Request>,
    pub(super) jobs: Slab<Job>,
    pub(super) cores: Vec<Core<Task>>,
    /// What accelerators have for each core; empty where they do not meet in queues.
    pub(super) soft_queues: Vec<SoftQueue<Letter>>,
    /// By type, then by instance, then by tenant if they have shares.
    pub(super) stations: Vec<Station<JobId>>,
    /// Stations of an instance: one, or one for each tenant.
    pub(super) parts: usize,
    /// By [`Accel::index`], which of the stations are of that type.
    pub(super) of_types: [Range<usize>; Accel::COUNT],
    /// In which order they load what is ready.
    pub(super) policy: Policy,
    pub(super) dma: Dma<(Transfer, Movement)>,
    pub(super) trace_memory: TraceMemory,
    /// The queue that all accelerators share, where the orchestrator has one.
    pub(super) central: Option<CentralQueue<JobId>>,
    /// For a central queue: how long each service takes from each of its phases on, unloaded.
    pub(super) expected: Vec<Vec<Time>>,
    /// Requests that LdB has given to cores.
    balanced: u64,
    pub(super) manager_free: Time,
    pub(super) manager: BusyTime,
    pub(super) services: Vec<ServiceStats>,
    pub(super) population: TimeAverage,
    pub(super) totals: Totals,
    pub(super) orchestration: Orchestration,
    pub(super) dispatches: u64,
    pub(super) instructions: u64,
    pub(super) page_faults: u64,
    pub(super) window: Option<Window>,
    pub(super) events: u64,
    /// Results that were given an output entry and have not been decided on.
    pub(super) unblocked: Vec<JobId>,
    /// Who may end the run early and is told how far it is.
    pub(super) watch: Option<&'r Watch>,
    /// Every operation, if they are asked for.
    pub(super) log: Option<Vec<Operated>>,
    /// Executions that a fork has created and that wait for the decision: (parent, arm).
    pub(super) arms: Vec<(JobId, JobId)>,
    pub(super) joins: Slab<Join>,
    /// Arms that have come to joins whose others have not: (join, arm).
    pub(super) met: Vec<(u32, JobId)>,
    pub(super) buffers: Buffers,
    pub(super) tenants: Vec<Tenant>,
    pub(super) shaped: Shaped,
    /// Tenants with fewer traces running than before, and others that wait.
    pub(super) admissible: Vec<u16>,
    /// From each phase of each service to its end on an idle server, if deadlines are set.
    pub(super) unloaded: Vec<Vec<Time>>,
    /// By accelerator, the speedup for endless payloads over the mean.
    pub(super) endless: [f64; Accel::COUNT],
}

/// The measured window: from the end of the warm-up to the last arrival.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub from: Time,
    /// Busy times before the window.
    pub before: super::report::Busy,
    /// Set when the arrivals have ended.
    pub closed: Option<super::report::Closing>,
}

impl<'r> Engine<'r> {
    pub(super) fn new(run: &Run<'r>) -> Result<Engine<'r>, SimError> {
        run.config.check()?;
        check_paths(run)?;
        let sources = run.loads.iter().map(|load| Source::new(run, load));
        let policy = run.orchestrator.policy(run.config);
        let tenants = tenants(run.loads);
        let parts = parts(run, tenants.len())?;
        let mut engine = Engine {
            uncore: Uncore::new(run.config),
            calendar: Calendar::with_capacity(1024),
            sources: sources.collect::<Result<_, SimError>>()?,
            requests: Slab::new(),
            jobs: Slab::new(),
            cores: vec![Core::new(slices(run.config)); run.config.core.count],
            soft_queues: soft_queues(run),
            stations: stations(run, policy, parts)?,
            parts,
            of_types: of_types(run.config, parts),
            policy,
            dma: Dma::new(run.config.network.dma_engines),
            trace_memory: TraceMemory::new(&run.config.atm),
            central: central(run),
            expected: Vec::new(),
            balanced: 0,
            manager_free: Time::ZERO,
            manager: BusyTime::new(Time::ZERO),
            services: vec![ServiceStats::default(); run.plan.services.len()],
            population: TimeAverage::new(Time::ZERO),
            totals: Totals::default(),
            orchestration: Orchestration::default(),
            dispatches: 0,
            instructions: 0,
            page_faults: 0,
            window: None,
            events: 0,
            unblocked: Vec::new(),
            watch: None,
            log: None,
            arms: Vec::new(),
            joins: Slab::new(),
            met: Vec::new(),
            buffers: Buffers::new(run.plan.services.len(), heaps(run.config)),
            shaped: Shaped::new(run.loads, &tenants)?,
            tenants,
            admissible: Vec::new(),
            unloaded: Vec::new(),
            endless: super::curve::endless(run),
            run: run.clone(),
        };
        if policy.has_deadlines() {
            engine.unloaded = engine.unloaded();
        }
        if engine.central.is_some() {
            engine.expected = engine.unloaded();
        }
        Ok(engine)
    }

    pub(super) fn run(mut self) -> Result<(Outcome, Vec<Operated>), SimError> {
        for load in 0..self.sources.len() {
            self.schedule_arrival(load);
        }
        while let Some((now, event)) = self.calendar.pop() {
            self.events += 1;
            if self.events.is_multiple_of(EVENTS_BETWEEN_LOOKS) && self.stopped() {
                break;
            }
            self.handle(event, now)?;
            self.settle(now)?;
        }
        let log = self.log.take().unwrap_or_default();
        Ok((self.report(), log))
    }

    /// Tells how far the run is; whether it is to stop.
    fn stopped(&self) -> bool {
        self.watch.is_some_and(|watch| {
            let ended = self.counted().saturating_sub(self.requests.live() as u64);
            watch.ended.store(ended, Ordering::Relaxed);
            watch.stop.load(Ordering::Relaxed)
        })
    }

    fn handle(&mut self, event: Event, now: Time) -> Result<(), SimError> {
        match event {
            Event::Arrive(load) => self.arrive(usize::from(load), now),
            Event::Computed(job) => {
                self.computed(job, now);
                Ok(())
            }
            Event::Operated(job) => self.operated(job, now),
            Event::Looked(job) => {
                self.dispatch(job, now);
                Ok(())
            }
            Event::Dispatched(job) => self.dispatched(job, now),
            Event::Managed(job) => self.managed(job, now),
            Event::Submitted(job) => {
                self.spend(job, Part::Manager, now);
                self.submitted(job, now);
                Ok(())
            }
            Event::Registered(job) => {
                self.spend(job, Part::Manager, now);
                self.registered(job, now);
                Ok(())
            }
            Event::Recalled(job) => {
                self.spend(job, Part::Communication, now);
                self.entered(job, now);
                Ok(())
            }
            Event::Begun(job) => {
                self.spend(job, Part::Communication, now);
                self.submitted(job, now);
                Ok(())
            }
            Event::Fetched(job) => self.fetched(job, now),
            Event::Moved(transfer) => self.moved(transfer, now),
            Event::Refilled(job) => {
                self.spend(job, Part::Communication, now);
                self.enqueue(job, now);
                Ok(())
            }
            Event::Answered(job) => self.answered(job, now),
            Event::TimedOut(job) => {
                self.timed_out(job, now);
                Ok(())
            }
            Event::Terminated(job) => self.terminated(job, now),
            Event::Notified(job) => self.notified(job, now),
            Event::Grants => self.grant_due(now),
            Event::Released(start) => self.released(start, now),
            Event::CoreDone(core, number) => self.core_done(core, number, now),
        }
    }

    pub(super) fn schedule(&mut self, at: Time, event: Event) {
        self.calendar.schedule(at, Priority::NORMAL, event);
    }

    /// A number for `purpose` that depends on the request alone, the same in every system.
    pub(super) fn attribute(&self, request: &Request, purpose: u64) -> u64 {
        attribute(self.request_seed(request), request.number, purpose)
    }

    /// The message that a trace of a chain handles, the same in every system.
    pub(super) fn message(&self, request: RequestId, chain: &ChainPlan, trace: u16) -> Message {
        let request = self.requests.get(request);
        chain.message(trace, self.request_seed(request), request.number)
    }

    pub(super) fn request_seed(&self, request: &Request) -> u64 {
        self.run.seed ^ (u64::from(request.service) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    pub(super) fn phase(&self, request: &Request) -> Option<&'r PhasePlan> {
        let plan: &'r crate::plan::Plan = self.run.plan;
        plan.services[usize::from(request.service)]
            .phases
            .get(usize::from(request.phase))
    }

    /// The chain of `job`, which its request has not left.
    pub(super) fn chain(&self, job: &Job) -> Option<&'r ChainPlan> {
        match self.phase(self.requests.get(job.request))? {
            PhasePlan::Chains(chains) => chains.get(usize::from(job.chain)),
            PhasePlan::Cpu(_) => None,
        }
    }

    pub(super) fn log(&mut self, job: &Job, on_core: bool, at: Time) {
        if self.log.is_none() {
            return;
        }
        let request = self.requests.get(job.request);
        let entry = Operated {
            at,
            service: usize::from(request.service),
            request: request.number,
            phase: usize::from(request.phase),
            chain: usize::from(job.chain),
            trace: job.trace,
            accel: job.accel,
            sizes: [job.operation.input, job.operation.output],
            on_core,
        };
        if let Some(log) = &mut self.log {
            log.push(entry);
        }
    }

    pub(super) fn count_fallback(&mut self, request: RequestId, reason: Fallback) {
        let service = usize::from(self.requests.get(request).service);
        *self.services[service].fallbacks.entry(reason).or_default() += 1;
    }

    pub(super) fn station(&mut self, unit: Unit) -> &mut Station<JobId> {
        let place = self.place_of(unit);
        &mut self.stations[place]
    }

    /// Where the station of `unit` is.
    pub(super) fn place_of(&self, unit: Unit) -> usize {
        let first = self.of_types[unit.accel.index()].start;
        first + usize::from(unit.instance) * self.parts + usize::from(unit.part)
    }

    /// The stations of an accelerator.
    pub(super) fn stations_of(&self, accel: Accel) -> &[Station<JobId>] {
        &self.stations[self.of_types[accel.index()].clone()]
    }

    /// Whose share of accelerators a request has.
    pub(super) fn part(&self, request: RequestId) -> u16 {
        match self.parts {
            1 => 0,
            _ => self.requests.get(request).tenant,
        }
    }

    /// Whether the operation of a job gives its request to a core: LdB's of a new request.
    /// Responses go to the core that started it.
    pub(super) fn balances(&self, job: &Job) -> bool {
        job.accel == Accel::Ldb && self.requests.get(job.request).phase == 0
    }

    /// LdB gives a request to a core, of equals to the first from `first` on: whether to another
    /// than had it. What is random in it is an attribute of the request.
    pub(super) fn balance(&mut self, id: RequestId, first: CoreId) -> bool {
        let request = self.requests.get(id);
        let draws = LDB_DRAWS.map(|purpose| self.attribute(request, purpose));
        let policy = self.run.config.core.balancing;
        let core = policy.choose(&self.cores, draws, self.balanced, usize::from(first));
        self.balanced += 1;
        self.cores[core].own();
        let request = self.requests.get_mut(id);
        request.balanced = true;
        std::mem::replace(&mut request.core, core as CoreId) != core as CoreId
    }
}

fn slices(config: &Config) -> Slices {
    Slices {
        length: config.core.time_slice,
        switch: config.core.context_switch,
    }
}

/// How many heaps the allocator of a service has.
fn heaps(config: &Config) -> usize {
    match config.payload.heaps {
        Heaps::OfCores => config.core.count,
        Heaps::OfServices => 1,
    }
}

/// A path begins with a message that arrives and ends with one that is sent.
fn check_paths(run: &Run<'_>) -> Result<(), SimError> {
    let chains = |phase: Option<&PhasePlan>| matches!(phase, Some(PhasePlan::Chains(_)));
    for service in &run.plan.services {
        if !chains(service.phases.first()) || !chains(service.phases.last()) {
            return Err(SimError::Path(service.name.clone()));
        }
    }
    Ok(())
}

/// How many shares each accelerator is divided into: one for each of `tenants`, if they reserve
/// them.
fn parts(run: &Run<'_>, tenants: usize) -> Result<usize, SimError> {
    let reserved = run.config.tenant.isolation == Isolation::Reserved;
    if !reserved || tenants < 2 {
        return Ok(1);
    }
    if run.orchestrator.queueing() == Queueing::Central {
        return Err(SimError::ReservedCentrally(
            run.orchestrator.id().to_owned(),
        ));
    }
    Ok(tenants)
}

fn stations(run: &Run<'_>, policy: Policy, parts: usize) -> Result<Vec<Station<JobId>>, SimError> {
    let hardware = &run.config.accelerator;
    let mut stations = Vec::new();
    for accel in Accel::ALL {
        let sizes = Sizes {
            elements: hardware.pes_of(accel),
            input: hardware.input_entries_of(accel),
            overflow: hardware.overflow_entries,
            output: hardware.output_entries_of(accel),
        };
        let fewest = sizes.elements.min(sizes.input).min(sizes.output);
        if fewest < parts {
            return Err(SimError::ReservedTooFew {
                tenants: parts,
                accel: accel.to_string(),
                fewest,
            });
        }
        for _ in 0..hardware.instances_of(accel) {
            let of_part = |part| Station::new(sizes.share(part, parts), policy);
            stations.extend((0..parts).map(of_part));
        }
    }
    Ok(stations)
}

/// Which of the stations are of each type.
fn of_types(config: &Config, parts: usize) -> [Range<usize>; Accel::COUNT] {
    let mut end = 0;
    Accel::ALL.map(|accel| {
        let first = end;
        end += config.accelerator.instances_of(accel) * parts;
        first..end
    })
}

fn central(run: &Run<'_>) -> Option<CentralQueue<JobId>> {
    let hardware = &run.config.accelerator;
    let elements = |accel| Ord::min(hardware.pes_of(accel), hardware.input_entries_of(accel));
    let queue = || {
        CentralQueue::new(
            run.config.relief.queue_entries,
            hardware.overflow_entries,
            Accel::ALL.map(elements),
            Accel::ALL.map(|accel| hardware.instances_of(accel)),
        )
    };
    (run.orchestrator.queueing() == Queueing::Central).then(queue)
}

fn soft_queues(run: &Run<'_>) -> Vec<SoftQueue<Letter>> {
    if !run.orchestrator.software_queues() {
        return Vec::new();
    }
    let queue = |_| SoftQueue::new(run.config.cohort.queue_entries);
    (0..run.config.core.count).map(queue).collect()
}

/// Values in reusable slots.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    fn new() -> Slab<T> {
        Slab {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(super) fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = value;
                slot
            }
            None => {
                self.slots.push(value);
                (self.slots.len() - 1) as u32
            }
        }
    }

    pub(super) fn get(&self, slot: u32) -> &T {
        &self.slots[slot as usize]
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }

    pub(super) fn remove(&mut self, slot: u32) {
        self.free.push(slot);
    }

    pub(super) fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
