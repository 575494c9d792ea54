//! Joins: the arms of a scatter meet in one input entry.
//!
//! "If an input queue entry needs data from multiple source accelerators, the dispatcher marks the
//! entry as ready when all data has arrived" (AccelFlow, section IV.A). The first arm that comes
//! takes the entry, and each brings its data there. An arm must not wait for what only its own join
//! gives back. It waits for no room, as where queue and overflow area are full the arms meet at the
//! core. What is in an overflow area waits for an input entry, so one of these is never a join's.

use accelflow_units::{Bytes, Time};

use super::SimError;
use super::engine::Engine;
use super::state::{Job, JobId, Join, Meeting, Seat, Task, Transfer, TransferKind, Unit};
use crate::hardware::{Movement, Place, Source, Way};
use crate::orchestrators::{Arm, Next};
use crate::stats::Fallback;

impl Engine<'_> {
    /// An arm has been told that it comes to its join.
    pub(super) fn decided(&mut self, job: &Job) -> Arm {
        let Some(seat) = job.seat else {
            return Arm::None;
        };
        let join = self.joins.get_mut(seat.join);
        join.decided += 1;
        match join.decided == join.arms {
            true => Arm::Last,
            false => Arm::Waits,
        }
    }

    /// An arm brings its data to its join, from the output queue of `source` or from memory.
    pub(super) fn come_to_join(
        &mut self,
        id: JobId,
        source: Option<Unit>,
        now: Time,
    ) -> Result<(), SimError> {
        let Some((seat, join)) = self.join_of(id) else {
            return Ok(());
        };
        match join.lead {
            Some(lead) => {
                let lead = *self.jobs.get(lead);
                let job = self.jobs.get_mut(id);
                (job.accel, job.host, job.instance) = (lead.accel, lead.host, lead.instance);
            }
            None => {
                let at = self.meeting_place(id);
                let join = self.joins.get_mut(seat.join);
                (join.lead, join.at) = (Some(id), at);
            }
        }
        match self.contribution(id, source.map(Unit::place), now) {
            Some(movement) => {
                let transfer = Transfer {
                    job: id,
                    kind: TransferKind::Join,
                    source,
                };
                self.transfer(transfer, movement, now);
                Ok(())
            }
            None => self.arrived(id, now),
        }
    }

    /// A core has executed an arm up to its join.
    pub(super) fn come_from_core(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        let Some((seat, join)) = self.join_of(id) else {
            return Ok(());
        };
        let job = *self.jobs.get(id);
        self.decided(&job);
        if join.lead.is_none() {
            // What a core has begun it goes on with.
            self.joins.get_mut(seat.join).lead = Some(id);
        } else if join.at != Meeting::Core {
            let core = self.requests.get(self.jobs.get(id).request).core;
            let cost = self.run.orchestrator.start(self.run.config);
            self.orchestration.cores += cost;
            self.push_task(core, Task::Notice, cost, now);
        }
        self.come_to_join(id, None, now)
    }

    fn join_of(&self, id: JobId) -> Option<(Seat, Join)> {
        let seat = self.jobs.get(id).seat?;
        Some((seat, *self.joins.get(seat.join)))
    }

    /// Takes an entry for the arms of a join, of which `id` is the first to come.
    fn meeting_place(&mut self, id: JobId) -> Meeting {
        let Next::Forward(to) = self.jobs.get(id).next else {
            return Meeting::Core;
        };
        let instance = self.instance_for(id, to);
        let job = self.jobs.get_mut(id);
        (job.accel, job.host, job.instance) = (to, to, instance);
        job.known = self.central.is_some();
        let (unit, request) = (job.unit(), job.request);
        let entry = match &mut self.central {
            Some(central) => central.reserve_for_join(),
            None => self.station(unit).reserve_for_join(),
        };
        if entry {
            return Meeting::Entry;
        }
        let overflow = match &mut self.central {
            Some(central) => central.reserve_overflow(),
            None => self.station(unit).reserve_overflow(),
        };
        if overflow {
            return Meeting::Overflow;
        }
        self.count_fallback(request, Fallback::OverflowFull);
        self.station(unit).turned_away += 1;
        Meeting::Core
    }

    /// How the data of an arm come to where they meet, from an output queue `here` or from memory;
    /// `None` if they are there.
    fn contribution(&mut self, id: JobId, here: Option<Place>, now: Time) -> Option<Movement> {
        let (seat, join) = self.join_of(id)?;
        let job = *self.jobs.get(id);
        let size = job.operation.output;
        let there = match self.central {
            Some(_) => Place::Manager,
            None => job.unit().place(),
        };
        let part = self.inline(size);
        let fits = join.filled + part <= self.run.config.accelerator.inline;
        match (join.at, here) {
            (Meeting::Entry, _) if fits => {
                self.joins.get_mut(seat.join).filled += part;
                let way = here.map_or(Way::Read(Source::Memory, there), |here| {
                    Way::Queues(here, there)
                });
                let address = match here {
                    Some(_) => 0,
                    None => self.payload(id, size),
                };
                let movement = Movement {
                    way,
                    address,
                    size: self.entry_size(size),
                    tenant: self.requests.get(job.request).tenant,
                };
                if here.is_none() {
                    self.uncore.deliver(address, movement.size, now);
                }
                Some(movement)
            }
            (Meeting::Overflow, _) => {
                let lead = join.lead.unwrap_or(id);
                let way = Way::Write(here.unwrap_or(there));
                let size = self.entry_size(size);
                let entry = self.overflow_movement(lead, way);
                Some(Movement { size, ..entry })
            }
            // The rest of the entry is in memory, and so is what a core goes on with.
            (_, Some(here)) => Some(self.result_movement(id, size, here)),
            (_, None) => None,
        }
    }

    /// The data of an arm are where the arms meet. With the last of them the lead goes on.
    pub(super) fn arrived(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        let Some((seat, join)) = self.join_of(id) else {
            return Ok(());
        };
        self.met.push((seat.join, id));
        let of_join = self.met.iter().filter(|met| met.0 == seat.join);
        let arms: Vec<JobId> = of_join.map(|met| met.1).collect();
        if arms.len() < usize::from(join.arms) {
            return Ok(());
        }
        self.met.retain(|met| met.0 != seat.join);
        let lead = join.lead.unwrap_or(id);
        self.gather(lead, id, &arms)?;
        let unit = self.jobs.get(lead).unit();
        match (join.at, &mut self.central) {
            (Meeting::Entry, Some(central)) => central.joined(),
            (Meeting::Entry, None) => self.station(unit).joined(),
            _ => {}
        }
        match (join.at, self.central.is_some()) {
            (Meeting::Entry, false) => self.enqueue(lead, now),
            (Meeting::Entry, true) => self.entered(lead, now),
            (Meeting::Overflow, false) => self.spilled(lead, now),
            (Meeting::Overflow, true) => self.central_spilled(lead, now),
            (Meeting::Core, _) => return self.run_software(lead, false, now),
        }
        Ok(())
    }

    /// Makes `lead` the one execution that is left of `arms`, all of a join: it stands at the
    /// operation after it, with the data of all, and has come the way of `last`.
    fn gather(&mut self, lead: JobId, last: JobId, arms: &[JobId]) -> Result<(), SimError> {
        let Some((seat, join)) = self.join_of(lead) else {
            return Ok(());
        };
        let mut job = *self.jobs.get(lead);
        let mut input = Bytes(0);
        for &id in arms {
            let arm = *self.jobs.get(id);
            input += arm.operation.output;
            job.steps = job.steps.max(arm.steps);
            job.due = job.due.max(arm.due);
            // What the requests are must not depend on who comes first.
            if arm.seat.is_some_and(|seat| seat.arm == 0) {
                (job.message, job.compressed) = (arm.message, arm.compressed);
            }
        }
        let on_path = self.jobs.get(last);
        (job.spent, job.since, job.seat) = (on_path.spent, on_path.since, join.outer);
        self.read_joined(&mut job, input)?;
        job.left = self.time_left(&job)?;
        *self.jobs.get_mut(lead) = job;
        for &id in arms.iter().filter(|&&id| id != lead) {
            self.requests.get_mut(job.request).outstanding -= 1;
            self.trace_ended(id);
            self.remove_job(id);
        }
        self.joins.remove(seat.join);
        if input > self.run.config.accelerator.inline {
            self.new_buffer(lead, input);
        }
        Ok(())
    }

    /// Reads the operation after a join, on `input` bytes.
    fn read_joined(&self, job: &mut Job, input: Bytes) -> Result<(), SimError> {
        let chain = self.chain(job).ok_or_else(|| self.no_chain(job))?;
        if let Next::Forward(to) = job.next {
            job.message = chain.joined(job.trace, to, job.message, self.form(job), input);
        }
        self.read(job, &mut Vec::new())?;
        job.operation.input = input;
        Ok(())
    }

    /// A core that executes the trace of `root` has come to the end of `id`, the last of `met`:
    /// who goes on if that is a join, all of whose arms it has executed.
    pub(super) fn meet_in_software(
        &mut self,
        root: JobId,
        id: JobId,
        met: &mut Vec<JobId>,
    ) -> Result<Option<JobId>, SimError> {
        let meets = |job: &Job, join: u32| job.meets && job.seat.is_some_and(|it| it.join == join);
        let Some((seat, join)) = self.join_of(id).filter(|_| self.jobs.get(id).meets) else {
            met.pop();
            return Ok(None);
        };
        let of_join = |id: &&JobId| meets(self.jobs.get(**id), seat.join);
        let arms: Vec<JobId> = met.iter().filter(of_join).copied().collect();
        if arms.len() < usize::from(join.arms) {
            return Ok(None);
        }
        let lead = if arms.contains(&root) { root } else { id };
        met.retain(|id| !arms.contains(id));
        self.arms
            .retain(|(_, arm)| *arm == lead || !arms.contains(arm));
        self.gather(lead, lead, &arms)?;
        Ok(Some(lead))
    }
}
