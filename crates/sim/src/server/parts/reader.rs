//! The reader of traces: it finds the next operation of a trace.

use accelflow_trace::{Accel, Action, AtmAddress, Fault, Instruction, Link, PositionMark, Word};
use accelflow_units::Bytes;

use super::reading::Reading;
use super::requests::Requests;
use super::script::{Begins, Leg};
use crate::orchestrators::Next;
use crate::plan::{ChainPlan, Form, Operation};
use crate::server::error::{Failure, SimError};
use crate::server::state::{Cursor, Job, LegId};

/// An execution that a fork has started, at the beginning of its arm.
pub(crate) struct Forked {
    /// The execution of an arm that a fork starts.
    pub job: Job,
    /// Whether a join waits for both the arm and the trace that forked it.
    pub scatters: bool,
}

impl Requests<'_> {
    /// Reads the trace of `job` up to its next operation, a join, its end or a tail, and updates
    /// the job. Executions that a fork starts are pushed to `forked`.
    #[inline]
    pub(crate) fn read(&self, job: &mut Job, forked: &mut Vec<Forked>) -> Result<Reading, Failure> {
        match self.scripts.leg(job.cursor.leg) {
            Some(leg) => {
                self.follow(leg, job)?;
                Ok(leg.reading)
            }
            None => self.read_any(job, forked),
        }
    }

    /// Moves a job along a leg from its position, which [`Requests::read`] would read.
    #[inline(always)]
    pub(crate) fn follow(&self, leg: &Leg, job: &mut Job) -> Result<(), Failure> {
        (job.next_step.next, job.next_step.meets) = (leg.next, false);
        (job.cursor.word, job.cursor.mark) = (leg.word, leg.mark);
        job.cursor.leg = leg.then;
        if let Some(begins) = leg.begins {
            self.begin_leg(leg.trace, begins, job)?;
        }
        let Next::Forward(accel) = leg.next else {
            return Ok(());
        };
        job.accel = accel;
        let Some(law) = leg.law else {
            return self.operate(leg.receives, job);
        };
        let (payload, after) = (&job.payload, self.form(job).after(accel));
        job.operation = Operation {
            core: law.at(payload.relative),
            input: payload.size(payload.compressed),
            output: payload.size(after),
        };
        job.payload.compressed = after;
        Ok(())
    }

    /// Moves a job to the beginning of the next trace of its chain.
    #[inline(never)]
    fn begin_leg(&self, trace: AtmAddress, begins: Begins, job: &mut Job) -> Result<(), Failure> {
        let chain = self.chain(job).ok_or_else(|| self.no_chain(job))?;
        job.begin_trace(trace);
        let message = self.message(job.request, chain, job.cursor.ordinal);
        job.payload.set_message(message, self.compression_ratio);
        let drawn = || self.arrives_compressed(job.request, chain, trace);
        job.payload.compressed = begins.compressed.unwrap_or_else(drawn);
        job.next_step.error = begins.error;
        Ok(())
    }

    /// The same as [`Requests::read`], word by word.
    #[inline(never)]
    fn read_any(&self, job: &mut Job, forked: &mut Vec<Forked>) -> Result<Reading, Failure> {
        let reading = self.read_words(job, forked)?;
        job.cursor.leg = self.scripts.leg_at(&job.cursor);
        Ok(reading)
    }

    fn read_words(&self, job: &mut Job, forked: &mut Vec<Forked>) -> Result<Reading, Failure> {
        let image = &self.plan.image;
        let chain = self.chain(job).ok_or_else(|| self.no_chain(job))?;
        let mut reading = Reading::default();
        job.next_step.meets = false;
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
                    (job.accel, job.next_step.next) = (accel, Next::Forward(accel));
                    self.operate(at_start && accel == Accel::Tcp, job)?;
                    return Ok(reading);
                }
                Action::Transform(_) => reading.transforms += 1,
                Action::Fork { arm } => forked.push(fork(job, arm, false)),
                Action::Scatter { arm } => forked.push(fork(job, arm, true)),
                Action::Join => {
                    job.next_step.meets = true;
                    let word = image.word(word);
                    let word = word.map_err(|fault| self.fault(job, fault))?;
                    job.next_step.next = after_join(word, job.cursor.mark);
                    return Ok(reading);
                }
                Action::Notify => {
                    job.next_step.next = Next::End;
                    return Ok(reading);
                }
                Action::LoadAtm { address, link } => {
                    reading.loads += 1;
                    (job.cursor.word, job.cursor.mark) = (address, PositionMark::START);
                    if link == Link::Next && self.begin_trace(chain, job, address)? {
                        job.next_step.next = Next::Park;
                        return Ok(reading);
                    }
                }
            }
        }
    }

    /// Sets the next operation of `job`, of its accelerator; `receives`: whether that receives a
    /// message.
    #[inline(never)]
    fn operate(&self, receives: bool, job: &mut Job) -> Result<(), Failure> {
        let chain = self.chain(job).ok_or_else(|| self.no_chain(job))?;
        job.operation = match self.operation(chain, job, receives) {
            Some(operation) => operation,
            None => return Err(self.no_cost(job)),
        };
        job.payload.compressed = self.form(job).after(job.accel);
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
        job.begin_trace(trace);
        let message = self.message(job.request, chain, job.cursor.ordinal);
        job.payload.set_message(message, self.compression_ratio);
        job.payload.compressed = self.arrives_compressed(job.request, chain, trace);
        let word = self.plan.image.word(trace);
        let word = word.map_err(|fault| self.fault(job, fault))?;
        job.next_step.error = word.first() != Some(Accel::Tcp);
        Ok(!job.next_step.error)
    }

    /// Reads the operation after a join, on `input` bytes.
    pub(crate) fn read_joined(&self, job: &mut Job, input: Bytes) -> Result<(), Failure> {
        let chain = self.chain(job).ok_or_else(|| self.no_chain(job))?;
        if let Next::Forward(to) = job.next_step.next {
            let (trace, form) = (job.cursor.trace, self.form(job));
            let message = chain.joined(trace, to, job.payload.message, form, input);
            job.payload.set_message(message, self.compression_ratio);
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
    (job.cursor.mark, job.cursor.leg) = (arm, LegId::NONE);
    Forked { job, scatters }
}

/// The next step after a join that ends before `mark`: an accelerator, or the end of the trace.
fn after_join(word: Word, mark: PositionMark) -> Next {
    match word.decode(mark) {
        Ok((Instruction::Call(accel), _)) => Next::Forward(accel),
        _ => Next::End,
    }
}

#[cfg(test)]
mod tests;
