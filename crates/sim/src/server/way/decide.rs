//! The decision on a result in an output queue: the trace determines the next step, and the
//! orchestrator determines who handles that step.

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use crate::orchestrators::{Arm, Completion, Decision, Next};
use crate::server::activity::Wait;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::parts::{Forked, Joins, Reading, Requests};
use crate::server::state::{Event, Job, JobId};
use crate::stats::Part;

impl Engine<'_> {
    /// Reads the next step from the trace, and asks the orchestrator who handles it. The result of
    /// the operation has waited for its output entry.
    pub(crate) fn decide(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        if let Some(decided) = self.decide_in_time(id, now)? {
            self.schedule(decided, Event::Dispatched(id));
        }
        Ok(())
    }

    /// The same at the end of a step, which may go on with what follows.
    #[inline(always)]
    pub(crate) fn decide_at_once(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        match self.decide_in_time(id, now)? {
            Some(decided) if self.goes_on_at(decided) => self.dispatched_at_once(id, decided),
            Some(decided) => {
                self.schedule(decided, Event::Dispatched(id));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Decides on a result. Returns the time when the dispatcher has decided, which is to be
    /// scheduled, unless that is done or depends on others.
    #[inline(always)]
    fn decide_in_time(&mut self, id: JobId, now: Time) -> Result<Option<Time>, Failure> {
        self.show_waited(id, Wait::Output, now);
        let job = self.jobs.get_mut(id);
        job.path.spend(Part::Queueing, now);
        self.measures.add_blocked(now - job.run.waits_since);
        let (from, on) = (job.accel, job.cursor.leg);
        let large = !self.timing.fits_entry(job.operation.output);
        let (Some(leg), Some((decision, alone))) =
            (self.requests.leg(on), self.policies.known(on, large))
        else {
            return self.decide_by_words(id, now);
        };
        self.requests.follow(leg, job)?;
        match alone {
            true => job.decision.dispatcher = decision.dispatcher,
            false => job.decision = *decision,
        }
        (job.alone, job.reads) = (*alone, leg.reading.loads);
        // Until it is forwarded, the job is an entry of the output queue of its unit.
        job.accel = from;
        self.dispatchers.count(decision);
        let (unit, takes) = (job.unit, decision.dispatcher);
        let (reads, sends) = (leg.reading.loads > 0, leg.next == Next::End);
        if sends && from == Accel::Tcp || from == Accel::Ldb {
            self.decided_of(from, id, now);
        }
        Ok(self.ask_dispatcher(id, unit, (takes, reads), now))
    }

    /// What follows from an operation of LdB, or of a TCP at the end of a trace, when the next step
    /// has been read.
    #[inline(never)]
    fn decided_of(&mut self, from: Accel, id: JobId, now: Time) {
        let job = self.jobs.get(id);
        if self.balances(job) {
            self.balance(job.request, 0);
        } else if from == Accel::Tcp {
            self.respond_if_last(id, now);
        }
    }

    /// The same where the trace must be read word by word, or the orchestrator asked.
    #[inline(never)]
    fn decide_by_words(&mut self, id: JobId, now: Time) -> Result<Option<Time>, Failure> {
        let job = self.jobs.get(id);
        let (from, size) = (job.accel, job.operation.output);
        if self.balances(job) {
            self.balance(job.request, 0);
        }
        let job = self.jobs.get_mut(id);
        let (reading, arms) = read_all(&self.requests, &mut self.joins, job)?;
        if from == Accel::Tcp && job.next_step.next == Next::End {
            self.respond_if_last(id, now);
        }
        let decision = self.ask(id, from, size, reading)?;
        self.dispatchers.count(&decision);
        let job = self.jobs.get_mut(id);
        (job.decision, job.reads) = (decision, reading.loads);
        job.alone = self.policies.is_alone(&decision);
        job.accel = from;
        let unit = job.unit;
        if !arms.is_empty() {
            let left = self.time_left(self.jobs.get(id))?;
            self.jobs.get_mut(id).left = left;
        }
        let asks = (decision.dispatcher, reading.loads > 0);
        let decided = self.ask_dispatcher(id, unit, asks, now);
        for arm in arms {
            self.add_arm(id, arm);
        }
        Ok(decided)
    }

    /// Asks the orchestrator who handles the completion of a job's operation of `from`, with a
    /// result of `size`.
    fn ask(
        &mut self,
        id: JobId,
        from: Accel,
        size: Bytes,
        reading: Reading,
    ) -> Result<Decision, Failure> {
        let next_step = self.jobs.get(id).next_step;
        let arm = match next_step.meets {
            true => self.joins.count_decided(self.jobs.get(id)),
            false => Arm::None,
        };
        let completion = Completion {
            from,
            next: next_step.next,
            branches: reading.branches,
            loads: reading.loads,
            transforms: reading.transforms,
            size,
            arm,
        };
        self.policies.decide(&self.run, &completion)
    }
}

/// Reads the trace of `job` up to its next operation, and gives the executions that it forks their
/// places at joins. The same dispatcher reads their traces as well: they are returned at their
/// first operations.
#[inline]
pub(crate) fn read_all(
    requests: &Requests<'_>,
    joins: &mut Joins,
    job: &mut Job,
) -> Result<(Reading, Vec<Job>), Failure> {
    let mut forked = Vec::new();
    let reading = requests.read(job, &mut forked)?;
    if forked.is_empty() {
        return Ok((reading, Vec::new()));
    }
    read_arms(requests, joins, job, (reading, forked))
}

/// The same from the forks of `job` on, which has been read.
#[inline(never)]
fn read_arms(
    requests: &Requests<'_>,
    joins: &mut Joins,
    job: &mut Job,
    (mut reading, mut forked): (Reading, Vec<Forked>),
) -> Result<(Reading, Vec<Job>), Failure> {
    let mut arms = Vec::new();
    joins.assign_arms(job, &mut forked);
    while let Some(mut arm) = forked.pop() {
        let started = forked.len();
        reading += requests.read(&mut arm.job, &mut forked)?;
        joins.assign_arms(&mut arm.job, &mut forked[started..]);
        arms.push(arm.job);
    }
    Ok((reading, arms))
}
