//! Failed attempts of chains, and the attempts that follow them.

use accelflow_kernel::attribute_unit;
use accelflow_units::Time;

use crate::plan::{ChainPlan, PhasePlan};
use crate::server::activity::Strand;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{Event, Job, JobId, RequestId, Task};
use crate::stats::Part;

/// The first of the attributes of a request that decide which attempts fail.
const FAILS: u64 = 0xFA11 << 48;

impl<'r> Engine<'r> {
    /// The number of the attempt of the chain that `job` executes, from 0.
    pub(crate) fn attempt_of(&self, job: &Job) -> u16 {
        let found = self.retries.attempt(job.request, job.cursor.chain);
        found.map_or(0, |attempt| attempt.number)
    }

    /// Handles the end of an execution of a chain. Returns whether the chain starts again. After
    /// the last attempt that may fail, the request is answered with an error.
    pub(crate) fn goes_again(&mut self, id: RequestId, index: u16, now: Time) -> bool {
        let Some(number) = self.retries.end(id, index) else {
            return false;
        };
        let request = *self.requests.get(id);
        let retry = self.chain_of(id, index).and_then(|chain| chain.retry);
        let Some(retry) = retry.filter(|_| !request.terminated) else {
            return false;
        };
        let place = u64::from(request.phase) << 32 | u64::from(index) << 16 | u64::from(number);
        let seed = self.requests.seed(&request);
        if attribute_unit(seed, request.number, FAILS | place) >= retry.odds {
            return false;
        }
        let again = number + 1 < retry.attempts;
        self.measures.count_failure(&request, again);
        if again {
            self.requests.get_mut(id).remote += 1;
            self.retries.begin(id, index, number + 1, request.path);
            self.show_continues(id, Strand::Attempt(index), Strand::Request, now);
            self.schedule(now + retry.backoff, Event::Again(id, index));
        } else {
            self.fail(id, Some(usize::from(index)), &request.path.spent, now);
        }
        again
    }

    /// The pause after a failed attempt is over: the core starts the chain again.
    pub(crate) fn again(&mut self, id: RequestId, index: u16, now: Time) -> Result<(), Failure> {
        self.requests.get_mut(id).remote -= 1;
        let request = *self.requests.get(id);
        let attempt = self.retries.attempt(id, index).copied();
        let (Some(attempt), Some(chain)) = (attempt, self.chain_of(id, index)) else {
            return Ok(());
        };
        if request.terminated {
            return self.execution_ended(id, index, false, now);
        }
        let job = self.new_job(id, index, chain)?;
        self.jobs.get_mut(job).path = attempt.path;
        self.show_continues(id, Strand::Trace(job), Strand::Attempt(index), now);
        self.spend(job, Part::Remote, now);
        if !self.properties.accelerated {
            return self.run_software(job, false, now);
        }
        let start = self.properties.start;
        self.measures.charge_cores(start);
        let duration = self.run.config.core.context_switch + start;
        self.push_task(request.core, Task::Again(job), duration, now);
        Ok(())
    }

    /// A core has started a chain again.
    pub(crate) fn begun_again(&mut self, job: JobId, now: Time) -> Result<(), Failure> {
        self.spend(job, Part::Cores, now);
        let input = self.jobs.get(job).operation.input;
        self.new_buffer(job, input);
        self.start_on_accelerators(job, false, now)
    }

    /// A chain of the current phase of a request.
    fn chain_of(&self, id: RequestId, index: u16) -> Option<&'r ChainPlan> {
        match self.requests.phase(self.requests.get(id))? {
            PhasePlan::Chains(chains) => chains.get(usize::from(index)),
            PhasePlan::Cpu(_) => None,
        }
    }
}
