//! A result is in the output queue: the trace and the orchestrator decide what comes next.

use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::orchestrators::{Arm, Completion, Next};
use crate::server::activity::Wait;
use crate::server::engine::Engine;
use crate::server::error::SimError;
use crate::server::parts::Reading;
use crate::server::state::{Job, JobId};

impl Engine<'_> {
    /// Reads what comes next from the trace, and asks the orchestrator who handles it.
    pub(crate) fn decide(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        self.spend_waiting(id, Wait::Output, now);
        let mut job = *self.jobs.get(id);
        self.measures.add_blocked(now - job.run.waits_since);
        let (from, unit, size) = (job.accel, job.unit, job.operation.output);
        if self.balances(&job) {
            self.balance(job.request, 0);
        }
        let (reading, arms) = self.read_all(&mut job)?;
        if from == Accel::Tcp && job.outlook.next == Next::End {
            self.respond_if_last(&job, now);
        }
        let arm = match job.outlook.meets {
            true => self.joins.count_decided(&job),
            false => Arm::None,
        };
        let completion = Completion {
            from,
            next: job.outlook.next,
            branches: reading.branches,
            loads: reading.loads,
            transforms: reading.transforms,
            size,
            arm,
        };
        job.decision = self.policies.decide(&self.run, &completion)?;
        job.reads = reading.loads;
        self.dispatchers.count(&job.decision);
        // Until it is forwarded, the job is an entry of the output queue of `unit`.
        (job.accel, job.unit) = (from, unit);
        if !arms.is_empty() {
            job.left = self.time_left(&job)?;
        }
        *self.jobs.get_mut(id) = job;
        self.ask_dispatcher(id, now);
        for arm in arms {
            self.add_arm(id, arm);
        }
        Ok(())
    }

    /// Reads the trace of `job` up to its next operation, and gives the executions that it starts
    /// their places at joins. The same dispatcher reads on for these: they are returned at their
    /// first operations.
    pub(crate) fn read_all(&mut self, job: &mut Job) -> Result<(Reading, Vec<Job>), SimError> {
        let mut forked = Vec::new();
        let mut reading = self.requests.read(job, &mut forked)?;
        self.joins.seat(job, &mut forked);
        let mut arms = Vec::new();
        while let Some(mut arm) = forked.pop() {
            let started = forked.len();
            reading += self.requests.read(&mut arm.job, &mut forked)?;
            self.joins.seat(&mut arm.job, &mut forked[started..]);
            arms.push(arm.job);
        }
        Ok((reading, arms))
    }
}
