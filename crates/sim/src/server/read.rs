//! Reading traces: where an execution stands, and what it is to do next.

use accelflow_trace::{
    Accel, Action, AtmAddress, Facts, Instruction, Link, PositionMark, Word, step,
};
use accelflow_units::{Bytes, Time};
use accelflow_workload::services::DrawnFacts;

use super::SimError;
use super::engine::Engine;
use super::state::{Held, Job, JobId, Join, Meeting, RequestId, Seat};
use crate::orchestrators::{Decision, Next};
use crate::plan::{ChainPlan, Form, Operation};
use crate::stats::Breakdown;

/// Where an execution stands after the fields of a trace up to the next operation were read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Read {
    pub branches: u8,
    pub loads: u8,
    pub transforms: u8,
}

/// An execution that another has started, standing at its arm.
pub(super) struct Forked {
    pub job: Job,
    /// Whether a join waits for both.
    pub scatters: bool,
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
            host: Accel::Tcp,
            instance: self.requests.get(request).tcp,
            part: self.part(request),
            operation: Operation {
                core: Time::ZERO,
                input: Bytes(0),
                output: Bytes(0),
            },
            ordinal: 0,
            buffer: None,
            message,
            compressed: self.arrives_compressed(request, chain, entry),
            error: false,
            next: Next::End,
            meets: false,
            seat: None,
            decision: Decision::default(),
            deposited: Time::ZERO,
            held: Held::Nowhere,
            missing: 0,
            reads: 0,
            attempts: 0,
            balances: false,
            counted: false,
            due: Time::MAX,
            stretch: 0.0,
            ends: Time::ZERO,
            steps: 0,
            known: false,
            spent: Breakdown::default(),
            since: Time::ZERO,
            software: Time::ZERO,
            left: Time::ZERO,
        };
        self.read(&mut job, &mut Vec::new())?;
        self.set_deadlines(&mut job);
        job.left = self.time_left(&job)?;
        Ok(self.jobs.insert(job))
    }

    /// Reads the trace of `job` up to its next operation, a join, its end or a tail, and notes that
    /// in the job. Executions that a fork starts are pushed to `forked`, each standing at its arm.
    pub(super) fn read(&self, job: &mut Job, forked: &mut Vec<Forked>) -> Result<Read, SimError> {
        let image = &self.run.plan.image;
        let fault = |job: &Job, fault| SimError::Fault {
            service: self.service_name(job.request),
            trace: image.name(job.trace).to_owned(),
            fault,
        };
        let chain = self.chain(job).ok_or_else(|| self.no_chain(job))?;
        let mut read = Read::default();
        job.meets = false;
        loop {
            let word = image.word(job.word).map_err(|e| fault(job, e))?;
            let receives = job.word == job.trace && job.mark == PositionMark::START;
            let facts = self.facts(job.request, chain, job.trace);
            let step =
                step(word, job.mark, image.predicates(), &facts).map_err(|e| fault(job, e))?;
            read.branches += step.branches;
            job.mark = step.next;
            match step.action {
                Action::Forward(accel) => {
                    (job.accel, job.host) = (accel, accel);
                    job.next = Next::Forward(accel);
                    let receives = receives && accel == Accel::Tcp;
                    job.operation = self.operation(chain, job, accel, receives)?;
                    job.compressed = self.form(job).after(accel);
                    return Ok(read);
                }
                Action::Transform(_) => read.transforms += 1,
                Action::Fork { arm } | Action::Scatter { arm } => forked.push(Forked {
                    job: Job { mark: arm, ..*job },
                    scatters: matches!(step.action, Action::Scatter { .. }),
                }),
                Action::Join => {
                    job.meets = true;
                    job.next = after_join(word, job.mark);
                    return Ok(read);
                }
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
                        job.compressed = self.arrives_compressed(job.request, chain, address);
                        let word = image.word(address).map_err(|e| fault(job, e))?;
                        // What runs on at once and then sends reports an error to the caller.
                        job.error = word.first() != Some(Accel::Tcp);
                        if !job.error {
                            job.next = Next::Park;
                            return Ok(read);
                        }
                    }
                }
            }
        }
    }

    /// Like [`Engine::read`], also gives the executions that start their places at joins, and reads on for them: they stand at
    /// their first operations, and the same dispatcher has read them.
    pub(super) fn read_all(&mut self, job: &mut Job) -> Result<(Read, Vec<Job>), SimError> {
        let mut forked = Vec::new();
        let mut read = self.read(job, &mut forked)?;
        self.seat(job, &mut forked);
        let mut arms = Vec::new();
        while let Some(mut arm) = forked.pop() {
            let started = forked.len();
            read += self.read(&mut arm.job, &mut forked)?;
            self.seat(&mut arm.job, &mut forked[started..]);
            arms.push(arm.job);
        }
        Ok((read, arms))
    }

    /// Gives `job` and what it has forked, in order, their places at joins.
    fn seat(&mut self, job: &mut Job, forked: &mut [Forked]) {
        for other in forked {
            if other.scatters {
                let join = self.joins.insert(Join {
                    outer: job.seat,
                    arms: 2,
                    decided: 0,
                    lead: None,
                    at: Meeting::Core,
                    filled: Bytes(0),
                });
                [job.seat, other.job.seat] = [0, 1].map(|arm| Some(Seat { join, arm }));
            } else if let Some(seat) = job.seat {
                let arms = &mut self.joins.get_mut(seat.join).arms;
                let arm = *arms;
                *arms += 1;
                other.job.seat = Some(Seat { arm, ..seat });
            }
        }
    }

    pub(super) fn operation(
        &self,
        chain: &ChainPlan,
        job: &Job,
        accel: Accel,
        receives: bool,
    ) -> Result<Operation, SimError> {
        let found = chain.operation(job.trace, accel, receives, job.message, self.form(job));
        found.ok_or_else(|| SimError::NoCost {
            service: self.service_name(job.request),
            trace: self.run.plan.image.name(job.trace).to_owned(),
            accel: accel.name().to_owned(),
        })
    }

    pub(super) fn form(&self, job: &Job) -> Form {
        Form {
            compressed: job.compressed,
            ratio: self.run.config.payload.compression_ratio,
        }
    }

    /// What the payload of a trace says, the same in every system.
    fn facts<'c>(
        &self,
        request: RequestId,
        chain: &'c ChainPlan,
        trace: AtmAddress,
    ) -> DrawnFacts<'c> {
        let request = self.requests.get(request);
        let seed = self.request_seed(request);
        chain.facts.of_request(trace, seed, request.number)
    }

    /// How long a parked job waits for its message, the same in every system.
    pub(super) fn remote_wait(&self, id: JobId) -> Time {
        let job = self.jobs.get(id);
        let request = self.requests.get(job.request);
        let seed = self.request_seed(request);
        let wait = |chain| self.run.plan.wait(chain, job.trace, seed, request.number);
        self.chain(job).map_or(Time::ZERO, wait)
    }

    /// Whether the message that a trace begins with is compressed: what the trace tests for.
    fn arrives_compressed(&self, request: RequestId, chain: &ChainPlan, trace: AtmAddress) -> bool {
        let facts = self.facts(request, chain, trace);
        let field = self.run.plan.compressed_field();
        field.and_then(|field| facts.get(field)) == Some(1)
    }

    pub(super) fn no_chain(&self, job: &Job) -> SimError {
        SimError::Path(self.service_name(job.request))
    }

    pub(super) fn service_name(&self, request: RequestId) -> String {
        let service = usize::from(self.requests.get(request).service);
        self.run.plan.services[service].name.clone()
    }
}

/// What follows a join that ends before `mark`: only an accelerator can.
fn after_join(word: Word, mark: PositionMark) -> Next {
    match word.decode(mark) {
        Ok((Instruction::Call(accel), _)) => Next::Forward(accel),
        _ => Next::End,
    }
}
