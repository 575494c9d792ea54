//! At the output dispatcher: what comes next, and who sees to it.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::SimError;
use super::engine::Engine;
use super::state::{Event, Job, JobId, Task, Transfer, TransferKind};
use crate::hardware::{Source, Way};
use crate::orchestrators::{Arm, Completion, Manager, Next};
use crate::stats::Part;

impl Engine<'_> {
    /// A result is in the output queue: the trace says what comes next, the orchestrator who
    /// sees to it.
    pub(super) fn decide(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        self.spend(id, Part::Queueing, now);
        let mut job = *self.jobs.get(id);
        self.totals.element_blocked += now - job.deposited;
        let (from, host) = (job.accel, job.host);
        let size = job.operation.output;
        if self.balances(&job) {
            self.balance(job.request, 0);
        }
        let (read, arms) = self.read_all(&mut job)?;
        if from == Accel::Tcp && job.next == Next::End {
            self.respond_if_last(&job, now);
        }
        let arm = match job.meets {
            true => self.decided(&job),
            false => Arm::None,
        };
        let completion = Completion {
            from,
            next: job.next,
            branches: read.branches,
            loads: read.loads,
            transforms: read.transforms,
            size,
            arm,
        };
        let decision =
            self.run
                .orchestrator
                .decide(&completion, self.run.config, &self.run.plan.links);
        (job.decision, job.reads) = (decision, read.loads);
        // From here on the job is an entry of the output queue of `from`.
        (job.accel, job.host) = (from, host);
        if !arms.is_empty() {
            job.left = self.time_left(&job)?;
        }
        *self.jobs.get_mut(id) = job;
        if decision.instructions > 0 {
            self.dispatches += 1;
            self.instructions += decision.instructions;
        }
        self.ask_dispatcher(id, now);
        for arm in arms {
            self.add_arm(id, arm);
        }
        Ok(())
    }

    /// Adds an execution that `parent` has forked, to be started with the parent's next step.
    pub(super) fn add_arm(&mut self, parent: JobId, arm: Job) -> JobId {
        let arm = Job {
            buffer: None, // the parent's
            ..arm
        };
        self.requests.get_mut(arm.request).outstanding += 1;
        self.count_arm(&arm);
        let arm = self.jobs.insert(arm);
        self.arms.push((parent, arm));
        arm
    }

    /// Starts the other executions of a fork, once it is decided, each with a copy of the payload
    /// from memory.
    pub(super) fn start_arms(&mut self, parent: JobId, now: Time) -> Result<(), SimError> {
        let arms = self.take_arms(parent);
        if !self.run.orchestrator.parks() && !arms.is_empty() {
            // A dispatcher reads all arms itself; otherwise the core starts each.
            let request = self.jobs.get(parent).request;
            let core = self.requests.get(request).core;
            let cost = self.run.orchestrator.start(self.run.config) * arms.len() as u64;
            self.orchestration.cores += cost;
            self.push_task(core, Task::Notice, cost, now);
        }
        for id in arms {
            self.inherit_from(id, parent);
            let job = *self.jobs.get(id);
            if job.meets {
                self.decided(&job);
                self.come_to_join(id, None, now)?;
                continue;
            }
            let Next::Forward(accel) = job.next else {
                match job.next {
                    Next::Park => self.park(id, now),
                    _ => self.notify(id, now),
                }
                continue;
            };
            if self.central.is_some() {
                self.jobs.get_mut(id).left = self.time_left(&job)?;
                self.forward_centrally(id, accel, None, now)?;
                continue;
            }
            let Some(kind) = self.reserve(id, accel) else {
                self.fall_back(id, None, now)?;
                continue;
            };
            let there = self.jobs.get(id).unit().place();
            let movement = match kind {
                TransferKind::Spill => self.overflow_movement(id, Way::Write(there)),
                _ => {
                    let copy = self.entry_movement(id, Way::Read(Source::Memory, there));
                    self.uncore.deliver(copy.address, copy.size, now);
                    copy
                }
            };
            let transfer = Transfer {
                job: id,
                kind,
                source: None,
            };
            self.transfer(transfer, movement, now);
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
        self.spend(job, Part::Dispatcher, now);
        self.instructions_end(job, now);
        match self.jobs.get(job).decision.manager {
            Some(visit) => {
                self.visit_manager(visit, Event::Managed(job), now);
                Ok(())
            }
            None => self.managed(job, now),
        }
    }

    /// `event` happens when the manager, which serves one after the other, has decided.
    pub(super) fn visit_manager(&mut self, visit: Manager, event: Event, now: Time) {
        let start = self.manager_free.max(now);
        self.manager_free = start + visit.occupancy;
        self.manager.charge(visit.occupancy);
        self.orchestration.manager += visit.occupancy;
        self.schedule(start + visit.latency.max(visit.occupancy), event);
    }

    pub(super) fn managed(&mut self, job: JobId, now: Time) -> Result<(), SimError> {
        self.spend(job, Part::Manager, now);
        let entry = *self.jobs.get(job);
        let Job {
            request, decision, ..
        } = entry;
        self.element_known_free(entry.unit());
        let core = self.requests.get(request).core;
        self.orchestration.cores += decision.background + decision.core;
        if decision.background > Time::ZERO {
            self.ask_core(core, Task::Notice, decision.background, now);
        }
        if decision.core > Time::ZERO {
            self.ask_core(core, Task::Decide(job), decision.core, now);
        } else {
            self.forward(job, now)?;
        }
        self.grant(entry.accel, now);
        Ok(())
    }
}
