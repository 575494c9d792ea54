//! Forks whose arms have not started, and joins that wait for arms.

use accelflow_units::Bytes;

use crate::orchestrators::Arm;
use crate::server::state::{Job, JobId, Join, JoinArm, Meeting, Slab};

use super::reader::Forked;

/// Executions that wait to start after a fork, and joins that wait for their arms.
pub(crate) struct Joins {
    /// Executions that a fork has created: (parent, arm).
    forked: Vec<(JobId, JobId)>,
    joins: Slab<Join>,
    /// Arms that have arrived at joins whose others have not: (join, arm).
    arrived: Vec<(u32, JobId)>,
}

impl Joins {
    /// No forks and no joins.
    pub(crate) fn new() -> Joins {
        Joins {
            forked: Vec::new(),
            joins: Slab::new(),
            arrived: Vec::new(),
        }
    }

    /// Notes that `arm` starts with the next step of `parent`.
    pub(crate) fn add_forked(&mut self, parent: JobId, arm: JobId) {
        self.forked.push((parent, arm));
    }

    /// Whether no execution awaits its start.
    pub(crate) fn none_forked(&self) -> bool {
        self.forked.is_empty()
    }

    /// Takes the executions that start with the next step of `parent`.
    pub(crate) fn take_forked(&mut self, parent: JobId) -> Vec<JobId> {
        let of_parent = |arm: &&(JobId, JobId)| arm.0 == parent;
        let forked = self.forked.iter().filter(of_parent);
        let taken = forked.map(|arm| arm.1).collect();
        self.forked.retain(|arm| arm.0 != parent);
        taken
    }

    /// Forgets the executions `arms`, but not `lead`.
    pub(crate) fn forget_forked(&mut self, arms: &[JobId], lead: JobId) {
        self.forked
            .retain(|(_, arm)| *arm == lead || !arms.contains(arm));
    }

    /// Gives `job` and its forked executions, in order, their places at joins.
    pub(crate) fn assign_arms(&mut self, job: &mut Job, forked: &mut [Forked]) {
        for other in forked {
            let join_arm = &mut other.job.next_step.join_arm;
            if other.scatters {
                let join = self.joins.insert(Join {
                    outer: job.next_step.join_arm,
                    arms: 2,
                    decided: 0,
                    lead: None,
                    at: Meeting::Core,
                    filled: Bytes(0),
                });
                [job.next_step.join_arm, *join_arm] = [0, 1].map(|arm| Some(JoinArm { join, arm }));
            } else if let Some(own) = job.next_step.join_arm {
                let arms = &mut self.joins.get_mut(own.join).arms;
                let arm = *arms;
                *arms += 1;
                *join_arm = Some(JoinArm { arm, ..own });
            }
        }
    }

    /// Counts an arm whose last operation before the join has been decided on.
    pub(crate) fn count_decided(&mut self, job: &Job) -> Arm {
        let Some(join_arm) = job.next_step.join_arm else {
            return Arm::None;
        };
        let join = self.joins.get_mut(join_arm.join);
        join.decided += 1;
        match join.decided == join.arms {
            true => Arm::Last,
            false => Arm::Waits,
        }
    }

    /// The join that `job` is an arm of, and its place there.
    pub(crate) fn of(&self, job: &Job) -> Option<(JoinArm, Join)> {
        let join_arm = job.next_step.join_arm?;
        Some((join_arm, *self.joins.get(join_arm.join)))
    }

    /// Makes `lead`, the first arm to arrive, wait for the others at `at`.
    pub(crate) fn lead(&mut self, join_arm: JoinArm, lead: JobId, at: Meeting) {
        let join = self.joins.get_mut(join_arm.join);
        (join.lead, join.at) = (Some(lead), at);
    }

    /// Adds `size` to the bytes in the entry of a join.
    pub(crate) fn fill(&mut self, join_arm: JoinArm, size: Bytes) {
        self.joins.get_mut(join_arm.join).filled += size;
    }

    /// Notes that `arm` has arrived; all arms, if it is the last of `count`.
    pub(crate) fn arrive(
        &mut self,
        join_arm: JoinArm,
        arm: JobId,
        count: u8,
    ) -> Option<Vec<JobId>> {
        self.arrived.push((join_arm.join, arm));
        let of_join = self.arrived.iter().filter(|arm| arm.0 == join_arm.join);
        let arms: Vec<JobId> = of_join.map(|arm| arm.1).collect();
        if arms.len() < usize::from(count) {
            return None;
        }
        self.arrived.retain(|arm| arm.0 != join_arm.join);
        Some(arms)
    }

    /// Removes a join whose arms have all arrived.
    pub(crate) fn remove(&mut self, join_arm: JoinArm) {
        self.joins.remove(join_arm.join);
    }
}
