//! Reads traces up to the next operation.

use accelflow_trace::{Accel, Action, AtmAddress, Fault, Instruction, Link, PositionMark, Word};
use accelflow_units::Bytes;

use super::requests::Requests;
use crate::orchestrators::Next;
use crate::plan::{ChainPlan, Form, Operation};
use crate::server::error::{Failure, SimError};
use crate::server::state::{Cursor, Job};

/// Counts of the fields of a trace that were read up to the next operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    pub branches: u8,
    pub loads: u8,
    pub transforms: u8,
}

impl std::ops::AddAssign for Reading {
    fn add_assign(&mut self, other: Reading) {
        self.branches += other.branches;
        self.loads += other.loads;
        self.transforms += other.transforms;
    }
}

/// An execution that a fork has started, at the beginning of its arm.
pub(crate) struct Forked {
    pub job: Job,
    /// Whether a join waits for both executions.
    pub scatters: bool,
}

impl Requests<'_> {
    /// Reads the trace of `job` up to its next operation, a join, its end or a tail, and updates the
    /// job. Executions that a fork starts are pushed to `forked`.
    #[inline]
    pub(crate) fn read(&self, job: &mut Job, forked: &mut Vec<Forked>) -> Result<Reading, Failure> {
        // Most of the time the next operation is the next instruction.
        let Some((accel, next)) = self.code.forwards(job.cursor.word, job.cursor.mark) else {
            return self.read_any(job, forked);
        };
        let chain = self.chain(job).ok_or_else(|| self.no_chain(job))?;
        let at_start = job.cursor.at_start();
        job.outlook.meets = false;
        job.cursor.mark = next;
        self.go_to(accel, chain, job, at_start)?;
        Ok(Reading::default())
    }

    /// The same, whatever the next instruction is.
    #[inline(never)]
    fn read_any(&self, job: &mut Job, forked: &mut Vec<Forked>) -> Result<Reading, Failure> {
        let image = &self.plan.image;
        let chain = self.chain(job).ok_or_else(|| self.no_chain(job))?;
        let mut reading = Reading::default();
        job.outlook.meets = false;
        loop {
            let at_start = job.cursor.at_start();
            let Cursor {
                trace, word, mark, ..
            } = job.cursor;
            let facts = || self.facts(job.request, chain, trace);
            let read = self.code.step(image, word, mark, facts);
            let read = read.map_err(|fault| self.fault(job, fault))?;
            reading.branches += read.branches;
            job.cursor.mark = read.next;
            match read.action {
                Action::Forward(accel) => {
                    self.go_to(accel, chain, job, at_start)?;
                    return Ok(reading);
                }
                Action::Transform(_) => reading.transforms += 1,
                Action::Fork { arm } => forked.push(fork(job, arm, false)),
                Action::Scatter { arm } => forked.push(fork(job, arm, true)),
                Action::Join => {
                    job.outlook.meets = true;
                    let word = image.word(word);
                    let word = word.map_err(|fault| self.fault(job, fault))?;
                    job.outlook.next = after_join(word, job.cursor.mark);
                    return Ok(reading);
                }
                Action::Notify => {
                    job.outlook.next = Next::End;
                    return Ok(reading);
                }
                Action::LoadAtm { address, link } => {
                    reading.loads += 1;
                    (job.cursor.word, job.cursor.mark) = (address, PositionMark::START);
                    if link == Link::Next && self.begin_trace(chain, job, address)? {
                        job.outlook.next = Next::Park;
                        return Ok(reading);
                    }
                }
            }
        }
    }

    /// Sets the next operation of `job`, of `accel`; `at_start`: whether it is the first instruction
    /// of its trace.
    #[inline(always)]
    fn go_to(
        &self,
        accel: Accel,
        chain: &ChainPlan,
        job: &mut Job,
        at_start: bool,
    ) -> Result<(), Failure> {
        job.accel = accel;
        job.outlook.next = Next::Forward(accel);
        let receives = at_start && accel == Accel::Tcp;
        job.operation = match self.operation(chain, job, receives) {
            Some(operation) => operation,
            None => return Err(self.no_cost(job)),
        };
        job.payload.compressed = self.form(job).after(accel);
        Ok(())
    }

    /// Moves `job` to the beginning of the next trace of its chain. Returns whether that waits for
    /// a message. A trace that continues at once and then sends reports an error to the caller.
    fn begin_trace(
        &self,
        chain: &ChainPlan,
        job: &mut Job,
        trace: AtmAddress,
    ) -> Result<bool, Failure> {
        job.cursor.trace = trace;
        job.cursor.ordinal += 1;
        job.payload.message = self.message(job.request, chain, job.cursor.ordinal);
        job.payload.compressed = self.arrives_compressed(job.request, chain, trace);
        let word = self.plan.image.word(trace);
        let word = word.map_err(|fault| self.fault(job, fault))?;
        job.outlook.error = word.first() != Some(Accel::Tcp);
        Ok(!job.outlook.error)
    }

    /// Reads the operation after a join, on `input` bytes.
    pub(crate) fn read_joined(&self, job: &mut Job, input: Bytes) -> Result<(), Failure> {
        let chain = self.chain(job).ok_or_else(|| self.no_chain(job))?;
        if let Next::Forward(to) = job.outlook.next {
            let (trace, form) = (job.cursor.trace, self.form(job));
            job.payload.message = chain.joined(trace, to, job.payload.message, form, input);
        }
        self.read(job, &mut Vec::new())?;
        job.operation.input = input;
        Ok(())
    }

    /// The operation of the job's accelerator; `None` if it has no cost.
    #[inline]
    fn operation(&self, chain: &ChainPlan, job: &Job, receives: bool) -> Option<Operation> {
        let (place, message) = ((job.cursor.trace, job.accel, receives), job.payload.message);
        chain.operation_of(place, message, self.form(job), || {
            let request = self.get(job.request);
            (self.seed(request), request.number)
        })
    }

    #[cold]
    fn no_cost(&self, job: &Job) -> Failure {
        Box::new(SimError::NoCost {
            service: self.service_name(job.request),
            trace: self.plan.image.name(job.cursor.trace).to_owned(),
            accel: self.plan.image.accel_name(job.accel).to_owned(),
        })
    }

    #[inline]
    fn form(&self, job: &Job) -> Form {
        Form {
            compressed: job.payload.compressed,
            ratio: self.compression_ratio,
        }
    }

    #[cold]
    fn fault(&self, job: &Job, fault: Fault) -> Failure {
        Box::new(SimError::Fault {
            service: self.service_name(job.request),
            trace: self.plan.image.name(job.cursor.trace).to_owned(),
            fault,
        })
    }
}

/// The execution that `job` starts at `arm`.
fn fork(job: &Job, arm: PositionMark, scatters: bool) -> Forked {
    let mut job = *job;
    job.cursor.mark = arm;
    Forked { job, scatters }
}

/// The next step after a join that ends before `mark`: an accelerator, or the end of the trace.
fn after_join(word: Word, mark: PositionMark) -> Next {
    match word.decode(mark) {
        Ok((Instruction::Call(accel), _)) => Next::Forward(accel),
        _ => Next::End,
    }
}
