//! The engine, which composes the parts of the server and runs the event loop.

use std::sync::atomic::Ordering;

use accelflow_kernel::{Priority, Wheel};
use accelflow_units::Time;

use super::activity::Wait;
use super::error::{Failure, SimError};
use super::parts::{
    Arrivals, Buffers, Calls, Cores, Deadlines, Dispatchers, Ensemble, Exceptions, Joins, Manager,
    Measures, Policies, Processor, Requests, Retries, Tenancy, Timing, Usage, Watching,
    unloaded_phases,
};
use super::run::{Run, Watch};
use super::state::{Event, Job, JobId, RequestId, Slab, Start};
use crate::config::{Config, Heaps};
use crate::hardware::{Dma, Movement, Uncore};
use crate::orchestrators::{CoreRequests, Properties};
use crate::plan::{PhasePlan, Plan};
use crate::stats::{Fallback, Operated, Part, SimulationResult};

/// Number of events between two checks of the watch: less than a millisecond, or a second if each
/// event moves a payload of 100 MB.
pub(super) const EVENTS_BETWEEN_LOOKS: u64 = 1 << 11;

/// The first simulated time that is too long: 53 days. It is a quarter of the longest time that
/// exists, so that none overflows between two checks.
pub(crate) const TOO_LONG: Time = Time::from_ps(1 << 62);

/// Refuses to go on to a simulated time that is too long.
pub(crate) fn check_time(now: Time) -> Result<(), SimError> {
    match now >= TOO_LONG {
        true => Err(SimError::TooLong),
        false => Ok(()),
    }
}

/// A server under simulation.
pub(crate) struct Engine<'r> {
    /// The inputs of the simulation: server parameters, plan, orchestrator and loads.
    pub run: Run<'r>,
    /// The properties of the orchestrator, which do not change during the simulation.
    pub properties: Properties,
    /// The scheduled events, by simulated time.
    pub calendar: Wheel<Event>,
    /// For each load, the requests that are still to arrive from clients.
    pub arrivals: Arrivals,
    /// The requests that have arrived and have not ended.
    pub requests: Requests<'r>,
    /// The executions of traces that have not ended.
    pub jobs: Slab<Job>,
    /// A buffer for the first traces of a phase's chains, which start together. The buffer is
    /// reused to avoid allocations.
    pub started: Vec<JobId>,
    /// The tenants, with their limits and traffic shapers.
    pub tenancy: Tenancy,
    /// The accelerators, with their queues, processing elements and output dispatchers.
    pub ensemble: Ensemble,
    /// The trace memory that the output dispatchers read, and the number of instructions that the
    /// dispatchers have executed so far.
    pub dispatchers: Dispatchers,
    /// The central hardware manager, with the queue that all accelerators share, if there is such a
    /// queue.
    pub manager: Manager,
    /// The state of the RPC processor (Cerebros), if one replaces the RPC accelerator.
    pub processor: Processor,
    /// The arms that forks have created and that have not started, and the joins that wait for
    /// arms.
    pub joins: Joins,
    /// The unanswered calls to other services, and the requests on their way to services of this
    /// server.
    pub calls: Calls,
    /// The current attempts of the chains that may be retried.
    pub retries: Retries,
    /// The cores and the tasks that they execute.
    pub cores: Cores,
    /// The networks, caches and memory of the server.
    pub uncore: Uncore,
    /// The A-DMA engines, and the transfers that wait for them.
    pub dma: Dma<(JobId, Movement)>,
    /// The memory buffers of payloads.
    pub buffers: Buffers,
    /// The durations of operations on processing elements.
    pub timing: Timing<'r>,
    /// For each phase of each service, the time from the start of the phase to the response on an
    /// idle server. Deadlines of operations are derived from these times.
    pub deadlines: Deadlines,
    /// The statistics collected so far.
    pub measures: Measures,
    /// The component that asks the orchestrator for decisions. If the orchestrator keeps state
    /// during a simulation, its [`Session`](crate::orchestrators::Session) is asked instead.
    pub policies: Policies,
    /// The probabilities that operations raise exceptions and meet page faults.
    pub exceptions: Exceptions,
    /// The time before which a step may go on with later events.
    pub(super) horizon: Time,
    /// Readings of the server's busy times, if the outcome needs them.
    pub(super) usage: Option<Box<Usage>>,
    watch: Option<&'r Watch>,
    pub(super) watching: Option<Box<Watching<'r>>>,
}

impl<'r> Engine<'r> {
    /// Makes the server number `server` of `run`, before the first event. All loads of `run` are on
    /// it.
    pub(crate) fn new(run: &Run<'r>, server: usize) -> Result<Engine<'r>, SimError> {
        let (config, plan) = (run.config, run.plan);
        check_paths(run)?;
        let arrivals = Arrivals::new(run)?;
        let tenancy = Tenancy::new(run)?;
        let (mut policies, properties) = Policies::new(run, &tenancy)?;
        let requests = Requests::new(run);
        policies.learn(run, requests.legs());
        let (uncore, timing) = (Uncore::new(config), Timing::new(run));
        let unloaded = || unloaded_phases(plan, config, &timing, &uncore);
        let has_deadlines = policies.has_deadlines();
        let deadlines = has_deadlines.then(unloaded).unwrap_or_default();
        let calls = Calls::new(server, expected(plan, unloaded));
        Ok(Engine {
            calendar: Wheel::new(),
            arrivals,
            requests,
            jobs: Slab::new(),
            started: Vec::new(),
            ensemble: Ensemble::new(run, &properties, tenancy.count())?,
            tenancy,
            dispatchers: Dispatchers::new(config),
            manager: Manager::new(config, &properties, unloaded),
            processor: Processor::new(run, &properties),
            joins: Joins::new(),
            calls,
            retries: Retries::new(plan.has_retries()),
            cores: Cores::new(config, properties.requests == CoreRequests::SoftwareQueue),
            dma: Dma::new(config.network.dma_engines),
            buffers: Buffers::new(plan.services.len(), heaps(config)),
            deadlines: Deadlines::new(deadlines),
            measures: Measures::new(run),
            policies,
            exceptions: Exceptions::new(config),
            horizon: Time::MAX,
            usage: None,
            watch: None,
            watching: None,
            properties,
            uncore,
            timing,
            run: run.clone(),
        })
    }

    /// Connects the run to `watch`, which may stop it, gets its progress, and may ask for readings
    /// of busy times.
    pub(crate) fn watched_by(mut self, watch: &'r Watch) -> Engine<'r> {
        self.watch = Some(watch);
        self.reading_use(watch.use_intervals)
    }

    /// Reads busy times from time to time, for at most `intervals` intervals.
    pub(crate) fn reading_use(mut self, intervals: usize) -> Engine<'r> {
        self.usage = Usage::new(intervals);
        self
    }

    /// Keeps every operation.
    pub(crate) fn with_log(mut self) -> Engine<'r> {
        self.measures.keep_log();
        self
    }

    /// Simulates until nothing is left to do or the watch stops the run.
    pub(crate) fn run(mut self) -> Result<(SimulationResult, Vec<Operated>), SimError> {
        self.begin();
        let (mut stopped, mut look) = (false, EVENTS_BETWEEN_LOOKS);
        while !stopped && self.step().map_err(|failure| *failure)?.is_some() {
            if self.measures.events() >= look {
                look += EVENTS_BETWEEN_LOOKS;
                check_time(self.calendar.now())?;
                stopped = self.stopped();
            }
        }
        self.finish(stopped)
    }

    /// Schedules the first arrivals.
    pub(crate) fn begin(&mut self) {
        for load in 0..self.arrivals.loads() {
            self.schedule_arrival(load);
        }
    }

    /// The time of the next event.
    pub(crate) fn next_time(&self) -> Option<Time> {
        self.calendar.peek_time()
    }

    /// Handles the next event, and perhaps those that follow from it, before any other. Returns
    /// whether it was the arrival of a load's request; `None` if there is no event.
    #[inline(always)]
    pub(crate) fn step(&mut self) -> Result<Option<bool>, Failure> {
        let Some((now, event)) = self.calendar.pop() else {
            return Ok(None);
        };
        self.measures.count_event();
        match event {
            Event::Operated(job) => self.operated(job, now)?,
            Event::Dispatched(job) => self.dispatched(job, now)?,
            Event::Moved(job) => self.moved(job, now)?,
            _ => self.handle(event, now)?,
        }
        if !self.is_settled() {
            self.settle(self.calendar.now())?;
        }
        self.policies.check()?;
        if self.watching.is_some() {
            self.show_changes(now);
        }
        Ok(Some(matches!(event, Event::Arrive(_))))
    }

    /// Allows steps to go on with events before `horizon`. With an observer none does, since it is
    /// shown the changes after each event.
    pub(crate) fn go_on_until(&mut self, horizon: Time) {
        if self.watching.is_none() {
            self.horizon = horizon;
        }
    }

    /// Whether a step that has nothing else to do may go on with what happens at `at`, since no
    /// other event comes before or then. If so, it is that time.
    #[inline(always)]
    pub(crate) fn goes_on_at(&mut self, at: Time) -> bool {
        let next = at < self.horizon && self.calendar.is_clear_until(at) && self.is_settled();
        if next {
            self.calendar.advance(at);
            self.measures.count_event();
        }
        next
    }

    /// Whether no result and no trace may continue since a resource has become free.
    #[inline(always)]
    fn is_settled(&self) -> bool {
        self.ensemble.is_settled() && self.tenancy.is_settled()
    }

    /// The outcome and the log at the end, or when the run is `stopped` before it.
    pub(crate) fn finish(
        mut self,
        stopped: bool,
    ) -> Result<(SimulationResult, Vec<Operated>), SimError> {
        if !stopped {
            self.check_drained()?;
        }
        let log = self.measures.take_log();
        Ok((self.report(), log))
    }

    /// Reports the progress to the watch. Returns whether it stops the run.
    fn stopped(&self) -> bool {
        self.watch.is_some_and(|watch| {
            watch.ended.store(self.ended(), Ordering::Relaxed);
            watch.stop.load(Ordering::Relaxed)
        })
    }

    /// Number of counted requests that have arrived and ended.
    pub(crate) fn ended(&self) -> u64 {
        let in_flight = self.requests.live() as u64;
        self.arrivals.counted().saturating_sub(in_flight)
    }

    #[inline(never)]
    fn handle(&mut self, event: Event, now: Time) -> Result<(), Failure> {
        match event {
            Event::Arrive(load) => return self.arrive(usize::from(load), now),
            Event::Received(request) => return self.received(request, now),
            Event::Operated(job) => return self.operated(job, now),
            Event::Dispatched(job) => return self.dispatched(job, now),
            Event::Managed(job) => return self.managed(job, now),
            Event::Fetched(job) => return self.fetched(job, now),
            Event::Resubmitted(job) => return self.resubmitted(job, now),
            Event::Moved(job) => return self.moved(job, now),
            Event::Answered(job) => return self.answered(job, now),
            Event::Terminated(job) => return self.terminated(job, now),
            Event::Notified(job) => return self.notified(job, now),
            Event::Grants => return self.grant_due(now),
            Event::Released(by, job) => return self.released(Start { job, by }, now),
            Event::Resent(by, job) => return self.resent(Start { job, by }, now),
            Event::CoreDone(core, number) => return self.core_done(core, number, now),
            Event::Invoked(index) => return self.invoked(index, now),
            Event::Returned(call) => return self.returned(call, now),
            Event::Again(request, chain) => return self.again(request, chain, now),
            Event::CallsDue => self.calls_due(now),
            Event::CoreFills(parts) => self.core_fills(parts, now),
            Event::Computed(job) => self.computed(job, now),
            Event::WordRead(job) => self.dispatch(job, now),
            Event::TimedOut(job) => self.timed_out(job, now),
            Event::Submitted(job) => {
                self.spend(job, Part::Manager, now);
                self.submitted(job, now);
            }
            Event::Registered(job) => {
                self.spend(job, Part::Manager, now);
                self.registered(job, now);
            }
            Event::Recalled(job) => {
                self.spend(job, Part::Communication, now);
                self.entered(job, now);
            }
            Event::Begun(job) => {
                self.spend(job, Part::Communication, now);
                self.submitted(job, now);
            }
            Event::Refilled(job) => {
                self.spend(job, Part::Communication, now);
                self.enqueue(job, now);
            }
        }
        Ok(())
    }

    /// Continues with results that were given an output entry, and starts traces that waited for
    /// others of their tenants to end.
    #[inline(never)]
    fn settle(&mut self, now: Time) -> Result<(), Failure> {
        loop {
            if let Some(job) = self.ensemble.next_unblocked() {
                self.show_freed(job, now);
                self.start_elements(self.jobs.get(job).unit, now);
                self.decide(job, now)?;
            } else if let Some(tenant) = self.tenancy.next_admissible() {
                self.admit_waiting(tenant, now)?;
            } else {
                return Ok(());
            }
        }
    }

    /// Schedules `event` at `at`.
    #[inline(always)]
    pub(crate) fn schedule(&mut self, at: Time, event: Event) {
        self.calendar.schedule(at, Priority::NORMAL, event);
    }

    /// Charges the time since the last charge of a job to `part`.
    #[inline(always)]
    pub(crate) fn spend(&mut self, id: JobId, part: Part, now: Time) {
        self.show_part(id, part, now);
        self.jobs.get_mut(id).path.spend(part, now);
    }

    /// Charges the time since the last charge of a job to the remote side whose answer it awaited.
    #[inline(always)]
    pub(crate) fn spend_awaiting(&mut self, id: JobId, now: Time) {
        self.show_answered(id, now);
        self.jobs.get_mut(id).path.spend(Part::Remote, now);
    }

    /// Charges the time since the last charge of a job to the wait `wait`.
    #[inline(always)]
    pub(crate) fn spend_waiting(&mut self, id: JobId, wait: Wait, now: Time) {
        self.show_waited(id, wait, now);
        self.jobs.get_mut(id).path.spend(Part::Queueing, now);
    }

    /// Counts a fallback of a request's trace to a core.
    pub(crate) fn count_fallback(&mut self, id: RequestId, reason: Fallback) {
        self.measures.count_fallback(self.requests.get(id), reason);
    }

    /// Whether accelerators and cores communicate through software queues.
    pub(crate) fn has_software_queues(&self) -> bool {
        self.properties.requests == CoreRequests::SoftwareQueue
    }
}

/// By service, the time on idle servers from the arrival of a call to its response; empty without
/// calls.
fn expected(plan: &Plan, unloaded: impl Fn() -> Vec<Vec<Time>>) -> Vec<Time> {
    if !plan.has_calls() {
        return Vec::new();
    }
    let whole = |phases: &Vec<Time>| phases.first().copied().unwrap_or(Time::ZERO);
    unloaded().iter().map(whole).collect()
}

/// The number of heaps of a service's allocator.
fn heaps(config: &Config) -> usize {
    match config.payload.heaps {
        Heaps::OfCores => config.core.count,
        Heaps::OfServices => 1,
    }
}

/// Checks that each path begins with a message that arrives and ends with one that is sent.
fn check_paths(run: &Run<'_>) -> Result<(), SimError> {
    let chains = |phase: Option<&PhasePlan>| matches!(phase, Some(PhasePlan::Chains(_)));
    for service in &run.plan.services {
        if !chains(service.phases.first()) || !chains(service.phases.last()) {
            return Err(SimError::Path(service.name.clone()));
        }
    }
    Ok(())
}
