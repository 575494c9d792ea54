//! Forks: a trace starts the executions of its parallel arms.

use accelflow_units::Time;

use crate::hardware::{Endpoints, Source};
use crate::orchestrators::Next;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{Job, JobId, Task, Transfer, TransferKind};

impl Engine<'_> {
    /// Adds an execution that `parent` has forked. It starts with the parent's next step.
    pub(crate) fn add_arm(&mut self, parent: JobId, mut arm: Job) -> JobId {
        arm.payload.buffer = None; // the parent's
        arm.in_software = None;
        self.requests.get_mut(arm.request).outstanding += 1;
        if self.retries.any() {
            self.retries.fork(arm.request, arm.cursor.chain);
        }
        self.count_arm(&arm);
        let arm = self.jobs.insert(arm);
        self.tenancy.share_account(parent, arm);
        self.joins.add_forked(parent, arm);
        arm
    }

    /// Starts the executions that `parent` has forked, once the fork is decided, each with a copy
    /// of the payload from memory.
    pub(crate) fn start_arms(&mut self, parent: JobId, now: Time) -> Result<(), Failure> {
        let arms = self.joins.take_forked(parent);
        if !self.properties.parks && !arms.is_empty() {
            // A dispatcher reads all arms itself; otherwise the core starts each.
            let request = self.jobs.get(parent).request;
            let core = self.requests.get(request).core;
            let cost = self.properties.start * arms.len() as u64;
            self.measures.charge_cores(cost);
            self.push_task(core, Task::Notice, cost, now);
        }
        for id in arms {
            self.jobs.get_mut(id).path = self.jobs.get(parent).path;
            self.show_job_continues(id, parent, now);
            self.start_arm(id, now)?;
        }
        Ok(())
    }

    fn start_arm(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        let job = self.jobs.get(id);
        if job.next_step.meets {
            self.joins.count_decided(job);
            return self.come_to_join(id, None, now);
        }
        let accel = match job.next_step.next {
            Next::Forward(accel) => accel,
            Next::Park => {
                self.park(id, now);
                return Ok(());
            }
            Next::End => {
                self.notify(id, now);
                return Ok(());
            }
        };
        if self.manager.is_central() {
            let left = self.time_left(job)?;
            self.jobs.get_mut(id).left = left;
            return self.forward_centrally(id, accel, None, now);
        }
        let Some(kind) = self.reserve(id, accel) else {
            return self.fall_back(id, None, now);
        };
        let there = self.jobs.get(id).unit.place();
        let movement = match kind {
            TransferKind::Spill => self.overflow_movement(id, Endpoints::Write(there)),
            _ => {
                let copy = self.entry_movement(id, Endpoints::Read(Source::Memory, there));
                self.uncore.deliver(copy.address, copy.size, now);
                copy
            }
        };
        let transfer = Transfer { kind, source: None };
        self.transfer(id, transfer, movement, now);
        Ok(())
    }
}
