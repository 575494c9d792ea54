//! Reading traces: where an execution stands, and what it is to do next.

use accelflow_trace::{Accel, Action, Link, PositionMark, step};
use accelflow_units::{Bytes, Time};

use super::SimError;
use super::engine::Engine;
use super::state::{Held, Job, JobId, RequestId};
use crate::orchestrators::{Decision, Next};
use crate::plan::{ChainPlan, Operation};

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
            instance: self.requests.get(request).tcp,
            operation: Operation {
                core: Time::ZERO,
                input: Bytes(0),
                output: Bytes(0),
            },
            ordinal: 0,
            buffer: None,
            message,
            next: Next::End,
            decision: Decision::default(),
            deposited: Time::ZERO,
            held: Held::Nowhere,
            missing: 0,
            attempts: 0,
            counted: false,
            due: Time::MAX,
            stretch: 0.0,
            ends: Time::ZERO,
            steps: 0,
        };
        self.read(&mut job, &mut Vec::new())?;
        self.set_deadlines(&mut job);
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

    pub(super) fn operation(
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

    pub(super) fn no_chain(&self, job: &Job) -> SimError {
        SimError::Path(self.service_name(job.request))
    }

    pub(super) fn service_name(&self, request: RequestId) -> String {
        let service = usize::from(self.requests.get(request).service);
        self.run.plan.services[service].name.clone()
    }
}
