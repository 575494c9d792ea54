//! The decision on a result in an output queue: the trace determines the next step, and the
//! orchestrator who handles it.

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};

use crate::orchestrators::{Arm, Completion, Decision, Next};
use crate::server::activity::Wait;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::parts::{Forked, Joins, Reading, Requests};
use crate::server::state::{Job, JobId};

impl Engine<'_> {
    /// Reads the next step from the trace, and asks the orchestrator who handles it.
    pub(crate) fn decide(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        self.spend_waiting(id, Wait::Output, now);
        let job = self.jobs.get_mut(id);
        let waited = now - job.run.waits_since;
        let (from, size, leg) = (job.accel, job.operation.output, job.cursor.leg);
        self.measures.add_blocked(waited);
        if self.balances(self.jobs.get(id)) {
            self.balance(self.jobs.get(id).request, 0);
        }
        let job = self.jobs.get_mut(id);
        let (reading, arms) = read_all(&self.requests, &mut self.joins, job)?;
        let outlook = job.outlook;
        if from == Accel::Tcp && outlook.next == Next::End {
            let job = *job;
            self.respond_if_last(&job, now);
        }
        let large = size > self.run.config.accelerator.inline;
        let decision = match self.policies.known(leg, large) {
            Some(decision) => *decision,
            None => self.ask(id, from, size, reading)?,
        };
        self.dispatchers.count(&decision);
        let job = self.jobs.get_mut(id);
        (job.decision, job.reads) = (decision, reading.loads);
        // Until it is forwarded, the job is an entry of the output queue of its unit.
        job.accel = from;
        if !arms.is_empty() {
            let left = self.time_left(self.jobs.get(id))?;
            self.jobs.get_mut(id).left = left;
        }
        self.ask_dispatcher(id, now);
        for arm in arms {
            self.add_arm(id, arm);
        }
        Ok(())
    }

    /// Asks the orchestrator who handles the completion of a job's operation of `from`, with a result
    /// of `size`.
    #[inline(never)]
    fn ask(
        &mut self,
        id: JobId,
        from: Accel,
        size: Bytes,
        reading: Reading,
    ) -> Result<Decision, Failure> {
        let outlook = self.jobs.get(id).outlook;
        let arm = match outlook.meets {
            true => self.joins.count_decided(self.jobs.get(id)),
            false => Arm::None,
        };
        let completion = Completion {
            from,
            next: outlook.next,
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
    joins.seat(job, &mut forked);
    while let Some(mut arm) = forked.pop() {
        let started = forked.len();
        reading += requests.read(&mut arm.job, &mut forked)?;
        joins.seat(&mut arm.job, &mut forked[started..]);
        arms.push(arm.job);
    }
    Ok((reading, arms))
}
