//! Jobs on accelerators: operate, decide, move, and start over.

use accelflow_trace::{Accel, Action, Link, PositionMark, step};
use accelflow_units::{Bytes, Time};

use super::SimError;
use super::engine::Engine;
use super::state::{Event, Held, Job, JobId, RequestId, Task, Transfer, TransferKind};
use crate::hardware::Place;
use crate::orchestrators::{Completion, Decision, Next};
use crate::plan::{ChainPlan, Operation};
use crate::stats::Fallback;

/// Where an execution stands after the fields of a trace up to the next operation were read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Read {
    pub branches: u8,
    pub loads: u8,
    pub transforms: u8,
}

impl std::ops::AddAssign for Read {
    fn add_assign(&mut self, other: Read) {
        self.branches += other.branches;
        self.loads += other.loads;
        self.transforms += other.transforms;
    }
}

impl Engine<'_> {
    /// Creates a job at the beginning of a chain.
    pub(super) fn new_job(
        &mut self,
        request: RequestId,
        index: u16,
        chain: &ChainPlan,
    ) -> Result<JobId, SimError> {
        let entry = chain.facts.entry();
        let message = self.message(request, chain, 0);
        let mut job = Job {
            request,
            chain: index,
            trace: entry,
            word: entry,
            mark: PositionMark::START,
            accel: Accel::Tcp,
            operation: Operation {
                core: Time::ZERO,
                input: Bytes(0),
                output: Bytes(0),
            },
            ordinal: 0,
            message,
            next: Next::End,
            decision: Decision::default(),
            deposited: Time::ZERO,
            held: Held::Nowhere,
        };
        self.read(&mut job, &mut Vec::new())?;
        Ok(self.jobs.insert(job))
    }

    /// Reads the trace of `job` up to its next operation, its end or a tail, and notes that in
    /// the job. Executions that a fork starts are pushed to `forked`, each standing at its arm.
    pub(super) fn read(&self, job: &mut Job, forked: &mut Vec<Job>) -> Result<Read, SimError> {
        let image = &self.run.plan.image;
        let fault = |job: &Job, fault| SimError::Fault {
            service: self.service_name(job.request),
            trace: image.name(job.trace).to_owned(),
            fault,
        };
        let chain = self.chain(job).ok_or_else(|| self.no_chain(job))?;
        let mut read = Read::default();
        loop {
            let word = image.word(job.word).map_err(|e| fault(job, e))?;
            let receives = job.word == job.trace && job.mark == PositionMark::START;
            let facts = chain.facts.of(job.trace);
            let step =
                step(word, job.mark, image.predicates(), &facts).map_err(|e| fault(job, e))?;
            read.branches += step.branches;
            job.mark = step.next;
            match step.action {
                Action::Forward(accel) => {
                    job.accel = accel;
                    job.next = Next::Forward(accel);
                    let receives = receives && accel == Accel::Tcp;
                    job.operation = self.operation(chain, job, accel, receives)?;
                    return Ok(read);
                }
                Action::Transform(_) => read.transforms += 1,
                Action::Fork { arm } => forked.push(Job { mark: arm, ..*job }),
                Action::Notify => {
                    job.next = Next::End;
                    return Ok(read);
                }
                Action::LoadAtm { address, link } => {
                    read.loads += 1;
                    (job.word, job.mark) = (address, PositionMark::START);
                    if link == Link::Next {
                        job.trace = address;
                        job.ordinal += 1;
                        job.message = self.message(job.request, chain, job.ordinal);
                        let word = image.word(address).map_err(|e| fault(job, e))?;
                        if word.first() == Some(Accel::Tcp) {
                            job.next = Next::Park;
                            return Ok(read);
                        }
                    }
                }
            }
        }
    }

    /// Like [`Engine::read`], also for the executions that forks on the way start: they stand at
    /// their first operations, and the same dispatcher has read them.
    pub(super) fn read_all(&self, job: &mut Job) -> Result<(Read, Vec<Job>), SimError> {
        let mut forked = Vec::new();
        let mut read = self.read(job, &mut forked)?;
        let mut arms = Vec::new();
        while let Some(mut arm) = forked.pop() {
            read += self.read(&mut arm, &mut forked)?;
            arms.push(arm);
        }
        Ok((read, arms))
    }

    fn operation(
        &self,
        chain: &ChainPlan,
        job: &Job,
        accel: Accel,
        receives: bool,
    ) -> Result<Operation, SimError> {
        let found = chain.operation(job.trace, accel, receives, job.message);
        found.ok_or_else(|| SimError::NoCost {
            service: self.service_name(job.request),
            trace: self.run.plan.image.name(job.trace).to_owned(),
            accel: accel.name().to_owned(),
        })
    }

    /// A chain starts on accelerators: the payload is in memory, or, for a message, at the TCP.
    pub(super) fn start_on_accelerators(
        &mut self,
        job: JobId,
        message: bool,
        now: Time,
    ) -> Result<(), SimError> {
        let accel = self.jobs.get(job).accel;
        if message {
            return self.admit_message(job, now);
        }
        if !self.station(accel).reserve_input() {
            // The thread that has tried has the core.
            self.count_fallback(self.jobs.get(job).request, Fallback::EnqueueDenied);
            return self.run_software(job, true, now);
        }
        let size = self.entry_size(self.jobs.get(job).operation.input);
        let duration = self
            .network
            .transfer(Place::Memory, Place::Accel(accel), size);
        self.transfer(
            Transfer {
                job,
                kind: TransferKind::Forward,
                source: None,
            },
            duration,
            now,
        );
        Ok(())
    }

    /// A message arrives at a TCP: from outside, so no DMA engine is involved.
    fn admit_message(&mut self, job: JobId, now: Time) -> Result<(), SimError> {
        let accel = self.jobs.get(job).accel;
        if self.station(accel).reserve_input() {
            self.enqueue(job, now);
        } else if self.station(accel).reserve_overflow() {
            self.spilled(job, now);
        } else {
            return self.fall_back(job, None, now);
        }
        Ok(())
    }

    /// A reserved input entry is ready.
    pub(super) fn enqueue(&mut self, job: JobId, now: Time) {
        let accel = self.jobs.get(job).accel;
        self.station(accel).ready(job);
        self.start_elements(accel, now);
    }

    fn start_elements(&mut self, accel: Accel, now: Time) {
        while let Some(job) = self.station(accel).start(now) {
            let work = self.element_time(job);
            self.totals.element_work += work;
            self.station(accel).work += work;
            self.schedule(now + work, Event::Operated(job));
            if let Some(refill) = self.station(accel).refill() {
                self.refill(refill, now);
            }
        }
    }

    /// Load into the scratchpad, compute, write back; the parts beyond the queue entry come from
    /// and go to memory.
    fn element_time(&self, job: JobId) -> Time {
        let job = self.jobs.get(job);
        let hardware = &self.run.config.accelerator;
        let pad = |size: Bytes| {
            hardware.scratchpad_latency + hardware.scratchpad_bandwidth.transfer(size)
        };
        let beyond = |size: Bytes| match size.beyond(hardware.inline) {
            Bytes(0) => Time::ZERO,
            rest => {
                let here = Place::Accel(job.accel);
                self.network.transfer(Place::Memory, here, rest)
            }
        };
        let Operation {
            core,
            input,
            output,
        } = job.operation;
        let compute = self.run.config.accelerated(job.accel, core);
        let moved = |size: Bytes| pad(self.inline(size)) + beyond(size);
        moved(input) + compute + moved(output)
    }

    fn spilled(&mut self, job: JobId, now: Time) {
        let accel = self.jobs.get(job).accel;
        if let Some(refill) = self.station(accel).spilled(job) {
            self.refill(refill, now);
        }
    }

    fn refill(&mut self, job: JobId, now: Time) {
        let entry = self.jobs.get(job);
        let size = self.entry_size(entry.operation.input);
        let duration = self
            .network
            .transfer(Place::Memory, Place::Accel(entry.accel), size);
        self.schedule(now + duration, Event::Refilled(job));
    }

    /// An operation has completed in its processing element.
    pub(super) fn operated(&mut self, job: JobId, now: Time) -> Result<(), SimError> {
        let accel = self.jobs.get(job).accel;
        let entry = *self.jobs.get(job);
        self.log(&entry, false, now);
        self.totals.on_accelerators[accel.index()] += 1;
        self.jobs.get_mut(job).deposited = now;
        if self.station(accel).deposit(job, now) {
            self.start_elements(accel, now);
            self.decide(job, now)?;
        }
        Ok(())
    }

    /// A result is in the output queue: the trace says what comes next, the orchestrator who
    /// sees to it.
    fn decide(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        let mut job = *self.jobs.get(id);
        self.totals.element_blocked += now - job.deposited;
        let from = job.accel;
        let size = job.operation.output;
        // Only a new request is given to a core; responses go to the one that started it.
        if from == Accel::Ldb && self.requests.get(job.request).phase == 0 {
            let core = self.least_loaded();
            self.requests.get_mut(job.request).core = core;
        }
        let (read, arms) = self.read_all(&mut job)?;
        if from == Accel::Tcp && job.next == Next::End {
            self.respond_if_last(job.request, now);
        }
        let completion = Completion {
            from,
            next: job.next,
            branches: read.branches,
            loads: read.loads,
            transforms: read.transforms,
            size,
        };
        let decision =
            self.run
                .orchestrator
                .decide(&completion, self.run.config, &self.run.plan.links);
        job.decision = decision;
        // From here on the job is an entry of the output queue of `from`.
        job.accel = from;
        *self.jobs.get_mut(id) = job;
        if decision.instructions > 0 {
            self.dispatches += 1;
            self.instructions += decision.instructions;
        }
        let done = self.station(from).dispatch(decision.dispatcher, now);
        self.schedule(done, Event::Dispatched(id));
        for arm in arms {
            self.add_arm(id, arm);
        }
        Ok(())
    }

    /// Adds an execution that `parent` has forked, to be started with the parent's next step.
    pub(super) fn add_arm(&mut self, parent: JobId, arm: Job) -> JobId {
        self.requests.get_mut(arm.request).outstanding += 1;
        let arm = self.jobs.insert(arm);
        self.arms.push((parent, arm));
        arm
    }

    /// Starts the other executions of a fork, once it is decided, each with a copy of the payload
    /// from memory.
    fn start_arms(&mut self, parent: JobId, now: Time) -> Result<(), SimError> {
        let arms = self.take_arms(parent);
        if !self.run.orchestrator.parks() && !arms.is_empty() {
            // A dispatcher reads all arms itself; otherwise the core starts each.
            let request = self.jobs.get(parent).request;
            let core = self.requests.get(request).core;
            let cost = self.run.orchestrator.start(self.run.config) * arms.len() as u64;
            self.push_task(core, Task::Notice, cost, now);
        }
        for id in arms {
            let job = *self.jobs.get(id);
            let Next::Forward(accel) = job.next else {
                match job.next {
                    Next::Park => self.park(id, now),
                    _ => self.notify(id, now),
                }
                continue;
            };
            let (kind, to) = if self.station(accel).reserve_input() {
                (TransferKind::Forward, Place::Accel(accel))
            } else if self.station(accel).reserve_overflow() {
                (TransferKind::Spill, Place::Memory)
            } else {
                self.fall_back(id, None, now)?;
                continue;
            };
            let size = self.entry_size(job.operation.input);
            let duration = self.network.transfer(Place::Memory, to, size);
            let source = None;
            let transfer = Transfer {
                job: id,
                kind,
                source,
            };
            self.transfer(transfer, duration, now);
        }
        Ok(())
    }

    /// The executions that `parent` has forked.
    pub(super) fn take_arms(&mut self, parent: JobId) -> Vec<JobId> {
        let taken = self
            .arms
            .iter()
            .filter(|arm| arm.0 == parent)
            .map(|arm| arm.1)
            .collect();
        self.arms.retain(|arm| arm.0 != parent);
        taken
    }

    pub(super) fn dispatched(&mut self, job: JobId, now: Time) -> Result<(), SimError> {
        match self.jobs.get(job).decision.manager {
            Some(visit) => {
                let start = self.manager_free.max(now);
                self.manager_free = start + visit.occupancy;
                self.manager.charge(visit.occupancy);
                self.schedule(
                    start + visit.latency.max(visit.occupancy),
                    Event::Managed(job),
                );
                Ok(())
            }
            None => self.managed(job, now),
        }
    }

    pub(super) fn managed(&mut self, job: JobId, now: Time) -> Result<(), SimError> {
        let Job {
            request, decision, ..
        } = *self.jobs.get(job);
        let core = self.requests.get(request).core;
        if decision.background > Time::ZERO {
            self.push_task(core, Task::Notice, decision.background, now);
        }
        if decision.core > Time::ZERO {
            self.push_task(core, Task::Decide(job), decision.core, now);
            Ok(())
        } else {
            self.forward(job, now)
        }
    }

    /// All decisions are taken: move the entry out of the output queue.
    pub(super) fn forward(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        if !self.arms.is_empty() {
            self.start_arms(id, now)?;
        }
        let job = *self.jobs.get(id);
        let source = Some(job.accel);
        let here = Place::Accel(job.accel);
        match job.next {
            Next::Forward(to) => {
                let size = self.entry_size(job.operation.input);
                self.jobs.get_mut(id).accel = to;
                let (kind, duration) = if self.station(to).reserve_input() {
                    let there = Place::Accel(to);
                    (
                        TransferKind::Forward,
                        self.network.transfer(here, there, size),
                    )
                } else if self.station(to).reserve_overflow() {
                    (
                        TransferKind::Spill,
                        self.network.transfer(here, Place::Memory, size),
                    )
                } else {
                    return self.fall_back(id, source, now);
                };
                self.transfer(
                    Transfer {
                        job: id,
                        kind,
                        source,
                    },
                    duration,
                    now,
                );
            }
            Next::Park => {
                self.withdraw(job.accel, now);
                self.park(id, now);
            }
            Next::End => {
                let size = self.inline(job.operation.output);
                let duration = self.network.transfer(here, Place::Memory, size);
                let kind = TransferKind::Result;
                self.transfer(
                    Transfer {
                        job: id,
                        kind,
                        source,
                    },
                    duration,
                    now,
                );
            }
        }
        Ok(())
    }

    /// The next trace waits at this TCP for a message. Where the accelerators keep it, it takes
    /// an entry there; otherwise the core has posted a buffer, and the message finds the TCP.
    fn park(&mut self, id: JobId, now: Time) {
        let held = if !self.run.orchestrator.parks() {
            Held::Nowhere
        } else if self.station(Accel::Tcp).reserve_input() {
            Held::Input
        } else if self.station(Accel::Tcp).reserve_overflow() {
            Held::Overflow
        } else {
            let request = self.jobs.get(id).request;
            self.count_fallback(request, Fallback::OverflowFull);
            Held::Core
        };
        self.jobs.get_mut(id).held = held;
        self.await_message(id, now);
    }

    pub(super) fn await_message(&mut self, id: JobId, now: Time) {
        let wait = self.run.plan.wait(self.jobs.get(id).trace);
        self.schedule(now + wait, Event::Answered(id));
    }

    /// The message that a parked job waits for is there.
    pub(super) fn answered(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        let mut job = *self.jobs.get(id);
        self.read(&mut job, &mut Vec::new())?;
        let held = std::mem::take(&mut job.held);
        *self.jobs.get_mut(id) = job;
        match held {
            Held::Input => self.enqueue(id, now),
            Held::Overflow => self.spilled(id, now),
            Held::Core => self.run_software(id, false, now)?,
            Held::Nowhere => self.admit_message(id, now)?,
        }
        Ok(())
    }

    fn transfer(&mut self, transfer: Transfer, duration: Time, now: Time) {
        let duration = self.run.config.network.dma_setup + duration;
        if self.dma.request(transfer, duration, now) {
            self.schedule(now + duration, Event::Moved(transfer));
        }
    }

    /// An A-DMA engine is done.
    pub(super) fn moved(&mut self, transfer: Transfer, now: Time) -> Result<(), SimError> {
        if let Some((next, duration)) = self.dma.release(now) {
            self.schedule(now + duration, Event::Moved(next));
        }
        if let Some(source) = transfer.source {
            self.withdraw(source, now);
        }
        match transfer.kind {
            TransferKind::Forward => self.enqueue(transfer.job, now),
            TransferKind::Spill => self.spilled(transfer.job, now),
            TransferKind::Result => self.notify(transfer.job, now),
            TransferKind::Rescue => self.run_software(transfer.job, false, now)?,
        }
        Ok(())
    }

    fn withdraw(&mut self, accel: Accel, now: Time) {
        if let Some(blocked) = self.station(accel).withdraw(now) {
            self.unblocked.push(blocked);
        }
    }

    /// Lets results go on that were given an output entry.
    pub(super) fn settle(&mut self, now: Time) -> Result<(), SimError> {
        while let Some(job) = self.unblocked.pop() {
            let accel = self.jobs.get(job).accel;
            self.start_elements(accel, now);
            self.decide(job, now)?;
        }
        Ok(())
    }

    fn notify(&mut self, job: JobId, now: Time) {
        let clock = self.run.config.core.clock;
        let latency = self.run.config.network.notification.at(clock);
        self.schedule(now + latency, Event::Notified(job));
    }

    /// Hands the rest of a job's trace to its core, as queue and overflow area are full: at once
    /// if its payload is in memory, otherwise when it has been moved there from `source`.
    fn fall_back(&mut self, job: JobId, source: Option<Accel>, now: Time) -> Result<(), SimError> {
        let Job {
            request, operation, ..
        } = *self.jobs.get(job);
        self.count_fallback(request, Fallback::OverflowFull);
        let Some(from) = source else {
            return self.run_software(job, false, now);
        };
        let size = self.inline(operation.input);
        let duration = self
            .network
            .transfer(Place::Accel(from), Place::Memory, size);
        self.transfer(
            Transfer {
                job,
                kind: TransferKind::Rescue,
                source,
            },
            duration,
            now,
        );
        Ok(())
    }

    /// What of a payload is in a queue entry; the rest is in memory already.
    fn inline(&self, payload: Bytes) -> Bytes {
        payload.min(self.run.config.accelerator.inline)
    }

    /// What crosses a wire with an entry: at most the inline part of the payload, and the rest of
    /// the entry.
    fn entry_size(&self, payload: Bytes) -> Bytes {
        self.inline(payload) + self.run.config.network.entry_overhead
    }

    fn service_name(&self, request: RequestId) -> String {
        let service = usize::from(self.requests.get(request).service);
        self.run.plan.services[service].name.clone()
    }

    fn no_chain(&self, job: &Job) -> SimError {
        SimError::Path(self.service_name(job.request))
    }
}
