//! The execution of traces in software, on a core.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::decide::read_all;
use crate::config::SoftwareBalancing;
use crate::orchestrators::Next;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{Held, Job, JobId, Task};
use crate::stats::Part;

impl Engine<'_> {
    /// Runs the trace of a job on its core, until it ends or waits for a message. `running`:
    /// whether its thread has the core.
    pub(crate) fn run_software(
        &mut self,
        id: JobId,
        running: bool,
        now: Time,
    ) -> Result<(), Failure> {
        self.trace_ended(id, now);
        let outside = self.outside(id);
        let job = self.jobs.get_mut(id);
        job.in_software = Some(job.cursor.trace);
        let own = outside + self.execute(id, now)?;
        let switch = if running {
            Time::ZERO
        } else {
            self.run.config.core.context_switch
        };
        let duration = switch + own;
        let job = self.jobs.get_mut(id);
        job.software = duration;
        let core = self.requests.get(job.request).core;
        if running {
            self.resume_task(core, Task::Software(id), duration, now);
        } else {
            self.push_task(core, Task::Software(id), duration, now);
        }
        Ok(())
    }

    /// The time of the operating system and the server around a request's traces, if a recording
    /// has it. All of it is spent with the first trace, which receives the request. Where
    /// accelerators execute traces it is zero: the orchestrator has the costs of cores.
    fn outside(&self, id: JobId) -> Time {
        let job = self.jobs.get(id);
        let request = self.requests.get(job.request);
        let first = request.phase == 0 && job.cursor.chain == 0 && job.cursor.ordinal == 0;
        if self.properties.accelerated || !first || self.attempt_of(job) > 0 {
            return Time::ZERO;
        }
        let outside = self.requests.outside_core(request);
        self.run.config.system_time(outside)
    }

    /// Executes the trace of a job, and the arms of its forks one after the other. Returns the core
    /// time. The jobs are left where they end or wait.
    fn execute(&mut self, root: JobId, now: Time) -> Result<Time, Failure> {
        let mut total = Time::ZERO;
        // Most traces have no arms, and take no memory for them.
        let (mut left, mut met) = (Vec::new(), Vec::new());
        let mut next = Some(root);
        while let Some(id) = next {
            total += self.execute_arm(root, id, &mut left, now)?;
            if self.join_reached(id).is_some() {
                met.push(id);
                left.extend(self.meet_in_software(root, id, &mut met, now)?);
            }
            next = left.pop();
        }
        Ok(total)
    }

    /// Executes one job until it ends, waits, or reaches a join. Executions that it forks are added
    /// to `left`.
    fn execute_arm(
        &mut self,
        root: JobId,
        id: JobId,
        left: &mut Vec<JobId>,
        now: Time,
    ) -> Result<Time, Failure> {
        let config = self.run.config;
        let mut total = Time::ZERO;
        let mut job = *self.jobs.get(id);
        while let (Next::Forward(_), false) = (job.next_step.next, job.next_step.meets) {
            self.measures
                .count_operation(&self.requests, &job, true, now);
            total += config.tax_time(job.operation.core);
            if job.deadline.is_set() {
                job.deadline.due = job.deadline.after(self.operation_time(&job));
            }
            job.balances |= self.balances(&job);
            let output = job.operation.output;
            let (reading, arms) = read_all(&self.requests, &mut self.joins, &mut job)?;
            let kib = output.get() as f64 / 1024.0;
            let transforms = kib * f64::from(reading.transforms);
            total += config.core.transform_per_kib.scale(transforms);
            left.extend(arms.into_iter().map(|arm| self.add_arm(root, arm)));
        }
        job.unit = self.at_own_type(&job);
        *self.jobs.get_mut(id) = job;
        Ok(total)
    }

    /// A core has executed a trace.
    pub(crate) fn software_done(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        if self.is_followed() {
            let Job {
                request,
                software,
                path,
                ..
            } = *self.jobs.get(id);
            let parts = [(Part::Cpu, software)];
            self.show_spent_on_core((request, Some(id)), path.since, &parts, now);
        }
        let job = self.jobs.get_mut(id);
        job.path.spend_up_to([(Part::Cpu, job.software)], now);
        job.in_software = None;
        let running = !self.balanced_in_software(id);
        let arms = self.joins.take_forked(id);
        let path = self.jobs.get(id).path;
        for &arm in &arms {
            self.jobs.get_mut(arm).path = path;
            self.show_job_continues(arm, id, now);
        }
        for job in std::iter::once(id).chain(arms) {
            self.software_ended(job, running, now)?;
        }
        Ok(())
    }

    /// One execution in software has ended, waits, or has reached a join.
    fn software_ended(&mut self, id: JobId, running: bool, now: Time) -> Result<(), Failure> {
        let job = *self.jobs.get(id);
        match job.next_step.next {
            _ if job.next_step.meets => self.come_from_core(id, now),
            Next::Park => {
                self.free_buffer(id);
                self.jobs.get_mut(id).entry.held = self.where_software_waits();
                self.await_message(id, now);
                Ok(())
            }
            _ => {
                if job.accel == Accel::Tcp {
                    self.respond_if_last(id, now);
                }
                self.follow(id, now);
                self.remove_job(id);
                self.execution_ended(job.request, job.cursor.chain, running, now)
            }
        }
    }

    /// "Using a software or hardware algorithm, a load balancer picks a core to execute the
    /// function" (AccelFlow, section II): if the trace that a core has executed contains LdB, its
    /// request is assigned to a core, preferably its own. Returns whether the core changes. With
    /// `core.software_balancing` none it stays on the core that its message was steered to.
    fn balanced_in_software(&mut self, id: JobId) -> bool {
        let job = self.jobs.get_mut(id);
        if !std::mem::take(&mut job.balances) {
            return false;
        }
        let request = job.request;
        match self.run.config.core.software_balancing {
            SoftwareBalancing::Same => self.balance(request, self.requests.get(request).core),
            SoftwareBalancing::None => false,
        }
    }

    /// Where a trace in software waits for its message. After a fallback the accelerators go on
    /// with it.
    fn where_software_waits(&self) -> Held {
        if self.properties.accelerated {
            Held::Nowhere
        } else {
            Held::Core
        }
    }
}
