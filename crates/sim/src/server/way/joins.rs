//! Joins: the parallel arms of a fork meet in one entry of an input queue.
//!
//! "If an input queue entry needs data from multiple source accelerators, the dispatcher marks the
//! entry as ready when all data has arrived" (AccelFlow, section IV.A). The first arm to arrive
//! takes the entry, and each arm brings its data to this entry.
//!
//! Two rules prevent deadlock. First, an arm never waits for room in a queue, since its own join
//! may occupy that room: if queue and overflow area are full, the arms meet at the core. Second,
//! joins never occupy all entries of an input queue: arms of these joins may be among the
//! operations in the overflow area, which enter the queue only when an entry becomes free.

use accelflow_units::{Bytes, Time};

use crate::hardware::{Endpoints, Movement, Place, Source};
use crate::orchestrators::Next;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{
    Job, JobId, Join, JoinArm, Meeting, Payload, Task, Transfer, TransferKind, Unit,
};

impl Engine<'_> {
    /// An arm brings its data to its join, from the output queue of `source` or from memory.
    pub(crate) fn come_to_join(
        &mut self,
        id: JobId,
        source: Option<Unit>,
        now: Time,
    ) -> Result<(), Failure> {
        let Some((join_arm, join)) = self.joins.of(self.jobs.get(id)) else {
            return Ok(());
        };
        match join.lead {
            Some(lead) => {
                let Job { accel, unit, .. } = *self.jobs.get(lead);
                let job = self.jobs.get_mut(id);
                let Unit {
                    accel: host,
                    instance,
                    ..
                } = unit;
                job.accel = accel;
                job.unit = self.ensemble.unit(host, instance, job.unit.share);
            }
            None => {
                let at = self.meeting_place(id);
                self.joins.lead(join_arm, id, at);
            }
        }
        match self.contribution(id, source.map(Unit::place), now) {
            Some(movement) => {
                let transfer = Transfer {
                    kind: TransferKind::Join,
                    source,
                };
                self.transfer(id, transfer, movement, now);
                Ok(())
            }
            None => self.arrived(id, now),
        }
    }

    /// A core has executed an arm up to its join.
    pub(crate) fn come_from_core(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        let job = self.jobs.get(id);
        let Some((join_arm, join)) = self.joins.of(job) else {
            return Ok(());
        };
        self.joins.count_decided(job);
        if join.lead.is_none() {
            // A core continues what it has begun.
            self.joins.lead(join_arm, id, join.at);
        } else if join.at != Meeting::Core {
            let core = self.requests.get(job.request).core;
            let cost = self.properties.start;
            self.measures.charge_cores(cost);
            self.push_task(core, Task::Notice, cost, now);
        }
        self.come_to_join(id, None, now)
    }

    /// Reserves an entry for the arms of a join, of which `id` is the first to arrive.
    fn meeting_place(&mut self, id: JobId) -> Meeting {
        let Next::Forward(to) = self.jobs.get(id).next_step.next else {
            return Meeting::Core;
        };
        let instance = self.instance_for(id, to);
        let job = self.jobs.get_mut(id);
        job.accel = to;
        job.unit = self.ensemble.unit(to, instance, job.unit.share);
        job.entry.known = self.manager.is_central();
        let (unit, request) = (job.unit, job.request);
        if !self.has(to) {
            self.count_turned_away(request, unit);
            return Meeting::Core;
        }
        let entry = match self.manager.queue() {
            Some(queue) => queue.reserve_for_join(),
            None => self.ensemble.station_mut(unit).reserve_for_join(),
        };
        if entry {
            return Meeting::Entry;
        }
        if self.reserve_overflow(unit) {
            return Meeting::Overflow;
        }
        self.count_turned_away(request, unit);
        Meeting::Core
    }

    /// How the data of an arm gets to where the arms meet, from an output queue `here` or from
    /// memory; `None` if it is there.
    fn contribution(&mut self, id: JobId, here: Option<Place>, now: Time) -> Option<Movement> {
        let job = self.jobs.get(id);
        let (join_arm, join) = self.joins.of(job)?;
        let size = job.operation.output;
        let there = match self.manager.is_central() {
            true => Place::Manager,
            false => job.unit.place(),
        };
        let part = self.timing.inline(size);
        let fits = join.filled + part <= self.run.config.accelerator.inline;
        match (join.at, here) {
            (Meeting::Entry, _) if fits => {
                self.joins.fill(join_arm, part);
                Some(self.entry_contribution(id, here, there, now))
            }
            (Meeting::Overflow, _) => {
                let lead = join.lead.unwrap_or(id);
                let endpoints = Endpoints::Write(here.unwrap_or(there));
                let size = self.timing.entry_size(size);
                let entry = self.overflow_movement(lead, endpoints);
                Some(Movement { size, ..entry })
            }
            // The rest of the entry is in memory, and so is everything that a core goes on with.
            (_, Some(here)) => Some(self.result_movement(id, size, here)),
            (_, None) => None,
        }
    }

    /// Moves the data of an arm into the entry of its join.
    fn entry_contribution(
        &mut self,
        id: JobId,
        here: Option<Place>,
        there: Place,
        now: Time,
    ) -> Movement {
        let job = self.jobs.get(id);
        let (request, output) = (job.request, job.operation.output);
        let (endpoints, address) = match here {
            Some(here) => (Endpoints::Queues(here, there), 0),
            None => {
                let address = self.payload_address(id, output);
                (Endpoints::Read(Source::Memory, there), address)
            }
        };
        let size = self.timing.entry_size(output);
        if here.is_none() {
            self.uncore.deliver(address, size, now);
        }
        Movement {
            endpoints,
            address,
            size,
            tenant: self.requests.get(request).tenant,
        }
    }

    /// The data of an arm has reached its join. With the last arm the lead goes on.
    pub(crate) fn arrived(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        let Some((join_arm, join)) = self.joins.of(self.jobs.get(id)) else {
            return Ok(());
        };
        let Some(arms) = self.joins.arrive(join_arm, id, join.arms) else {
            return Ok(());
        };
        let lead = join.lead.unwrap_or(id);
        self.gather(lead, id, &arms, now)?;
        let unit = self.jobs.get(lead).unit;
        match join.at {
            Meeting::Entry => {
                match self.manager.queue() {
                    Some(queue) => queue.joined(),
                    None => self.ensemble.station_mut(unit).joined(),
                }
                self.entry_filled(lead, now);
            }
            Meeting::Overflow => self.overflow_filled(lead, now),
            Meeting::Core => return self.run_software(lead, false, now),
        }
        Ok(())
    }

    /// Merges all `arms` of a join into `lead`. It then is at the operation after the join, with
    /// the data of all arms and the time breakdown of `last`.
    fn gather(
        &mut self,
        lead: JobId,
        last: JobId,
        arms: &[JobId],
        now: Time,
    ) -> Result<(), Failure> {
        let mut job = *self.jobs.get(lead);
        let Some((join_arm, join)) = self.joins.of(&job) else {
            return Ok(());
        };
        let input = self.merge_arms(&mut job, arms);
        if last != lead {
            self.show_job_continues(lead, last, now);
        }
        (job.path, job.next_step.join_arm) = (self.jobs.get(last).path, join.outer);
        self.requests.read_joined(&mut job, input)?;
        job.left = self.time_left(&job)?;
        *self.jobs.get_mut(lead) = job;
        for &id in arms.iter().filter(|&&id| id != lead) {
            self.requests.get_mut(job.request).outstanding -= 1;
            if self.retries.any() {
                self.retries.end(job.request, job.cursor.chain);
            }
            self.trace_ended(id, now);
            self.remove_job(id);
        }
        self.joins.remove(join_arm);
        if input > self.run.config.accelerator.inline {
            self.new_buffer(lead, input);
        }
        Ok(())
    }

    /// Takes over steps, deadlines and messages of `arms`: the size of their data.
    fn merge_arms(&self, job: &mut Job, arms: &[JobId]) -> Bytes {
        let mut input = Bytes(0);
        for &id in arms {
            let arm = self.jobs.get(id);
            input += arm.operation.output;
            job.run.steps = job.run.steps.max(arm.run.steps);
            job.deadline.due = job.deadline.due.max(arm.deadline.due);
            // The requests must not depend on which arm is the first to arrive.
            if arm
                .next_step
                .join_arm
                .is_some_and(|join_arm| join_arm.arm == 0)
            {
                job.payload = Payload {
                    buffer: job.payload.buffer,
                    ..arm.payload
                };
            }
        }
        input
    }

    /// Handles the end of `id`, the last of `met`, on a core that executes the trace of `root`. If
    /// that is a join whose arms the core has all executed, returns the execution that continues.
    pub(crate) fn meet_in_software(
        &mut self,
        root: JobId,
        id: JobId,
        met: &mut Vec<JobId>,
        now: Time,
    ) -> Result<Option<JobId>, Failure> {
        let Some((join_arm, join)) = self.join_reached(id) else {
            return Ok(None);
        };
        let of_join = |id: &&JobId| {
            self.join_reached(**id)
                .is_some_and(|(other, _)| other.join == join_arm.join)
        };
        let arms: Vec<JobId> = met.iter().filter(of_join).copied().collect();
        if arms.len() < usize::from(join.arms) {
            return Ok(None);
        }
        let lead = if arms.contains(&root) { root } else { id };
        met.retain(|id| !arms.contains(id));
        self.joins.forget_forked(&arms, lead);
        self.gather(lead, lead, &arms, now)?;
        Ok(Some(lead))
    }

    /// The join that a job has reached.
    pub(crate) fn join_reached(&self, id: JobId) -> Option<(JoinArm, Join)> {
        let job = self.jobs.get(id);
        self.joins.of(job).filter(|_| job.next_step.meets)
    }
}
