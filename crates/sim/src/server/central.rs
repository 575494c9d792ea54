//! A manager with one queue for all accelerators: admission, order, forwarding.
//!
//! The manager gives each element its work: it learns of a completion, which frees an element,
//! and hands the element to the waiting operation with the least laxity.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::SimError;
use super::engine::Engine;
use super::state::{Event, Job, JobId, Transfer, TransferKind, Unit};
use crate::hardware::{Place, Source, Way};
use crate::orchestrators::Next;
use crate::stats::Part;

impl Engine<'_> {
    /// The unloaded time from the beginning of a job's current operation to the end of its chain:
    /// elements and waits for messages, along the longest arm of each fork. Nothing without a
    /// central queue, which alone asks for it.
    pub(super) fn time_left(&self, job: &Job) -> Result<Time, SimError> {
        if self.central.is_none() {
            return Ok(Time::ZERO);
        }
        let (mut time, mut at) = self.time_from(*job)?;
        while let Some(after) = at {
            let (rest, next) = self.time_from(after)?;
            (time, at) = (time + rest, next);
        }
        Ok(time)
    }

    /// The unloaded time from a job's next operation to the next join around it, if it comes to
    /// one: then also the job as it stands after it; else to the end of its chain.
    fn time_from(&self, job: Job) -> Result<(Time, Option<Job>), SimError> {
        if job.meets {
            let mut after = job;
            self.read(&mut after, &mut Vec::new())?;
            return Ok((Time::ZERO, Some(after)));
        }
        let here = match job.next {
            Next::Forward(accel) => self.operation_time(accel, job.operation),
            Next::Park => self.run.plan.typical_wait(job.trace),
            Next::End => return Ok((Time::ZERO, None)),
        };
        let (rest, at) = self.time_after(job)?;
        Ok((here + rest, at))
    }

    /// The same from the end of an operation on.
    fn time_after(&self, mut job: Job) -> Result<(Time, Option<Job>), SimError> {
        let mut forked = Vec::new();
        self.read(&mut job, &mut forked)?;
        let (mut time, mut at) = self.time_from(job)?;
        for other in forked.into_iter().rev() {
            let (beside, meets) = self.time_after(other.job)?;
            time = time.max(beside);
            at = at.or(meets);
            if other.scatters
                && let Some(after) = at.take()
            {
                let (rest, next) = self.time_from(after)?;
                (time, at) = (time + rest, next);
            }
        }
        Ok((time, at))
    }

    /// A job's operation has completed.
    pub(super) fn advance(&mut self, id: JobId) {
        if self.central.is_some() {
            let done = self.element_time(id);
            let job = self.jobs.get_mut(id);
            job.left = job.left.saturating_sub(done);
            job.known = true;
        }
    }

    /// The latest time at which a job's operation may start for its request to meet its deadline,
    /// if all that follows takes its unloaded time.
    fn latest_start(&self, id: JobId) -> Time {
        let job = self.jobs.get(id);
        let request = self.requests.get(job.request);
        let phases = &self.expected[usize::from(request.service)];
        let from = |phase: usize| phases.get(phase).copied().unwrap_or(Time::ZERO);
        let deadline = request.arrived + from(0).scale(self.run.config.relief.deadline);
        deadline.saturating_sub(from(usize::from(request.phase) + 1) + job.left)
    }

    /// A message arrives: it waits in the central queue until the manager gives it an element.
    pub(super) fn admit_centrally(&mut self, id: JobId, now: Time) -> Result<(), SimError> {
        let Some(central) = &mut self.central else {
            return Ok(());
        };
        if central.reserve() {
            self.entered(id, now);
        } else if central.reserve_overflow() {
            self.receive_overflow(id, now);
            self.central_spilled(id, now);
        } else {
            return self.fall_back(id, None, now);
        }
        Ok(())
    }

    /// The data of an entry of the central queue is there.
    pub(super) fn entered(&mut self, id: JobId, now: Time) {
        let visit = self.run.orchestrator.submission(self.run.config);
        match visit.filter(|_| !self.jobs.get(id).known) {
            Some(visit) => self.visit_manager(visit, Event::Registered(id), now),
            None => self.registered(id, now),
        }
    }

    /// The payload of a chain that a core has submitted is moved to its entry.
    pub(super) fn deliver_centrally(&mut self, job: JobId, now: Time) {
        let movement = self.entry_movement(job, Way::Read(Source::Core, Place::Manager));
        let transfer = Transfer {
            job,
            kind: TransferKind::Central,
            source: None,
        };
        self.transfer(transfer, movement, now);
    }

    /// The manager knows of an entry of its queue.
    pub(super) fn registered(&mut self, id: JobId, now: Time) {
        let latest = self.latest_start(id);
        let accel = self.jobs.get(id).accel;
        if let Some(central) = &mut self.central {
            central.ready(id, accel, latest);
        }
        self.grant(accel, now);
    }

    /// The manager learns that an element of `unit` has completed its operation.
    pub(super) fn element_known_free(&mut self, unit: Unit) {
        if let Some(central) = &mut self.central {
            central.freed(unit.accel, unit.instance);
        }
    }

    /// Gives the free elements of `accel` to what waits for them.
    pub(super) fn grant(&mut self, accel: Accel, now: Time) {
        while let Some((job, instance)) = self.central.as_mut().and_then(|it| it.pick(accel)) {
            self.spend(job, Part::Queueing, now);
            self.jobs.get_mut(job).instance = instance;
            let unit = Unit {
                accel,
                ..self.jobs.get(job).unit()
            };
            self.station(unit).reserve_input();
            let there = unit.place();
            let movement = self.entry_movement(job, Way::Queues(Place::Manager, there));
            let transfer = Transfer {
                job,
                kind: TransferKind::Grant,
                source: None,
            };
            self.transfer(transfer, movement, now);
        }
    }

    /// An entry of the central queue has reached its element.
    pub(super) fn granted(&mut self, id: JobId, now: Time) {
        if let Some(next) = self.central.as_mut().and_then(|it| it.release()) {
            self.recall(next, now);
        }
        self.enqueue(id, now);
    }

    /// An entry of the central queue's overflow area has its data.
    pub(super) fn central_spilled(&mut self, id: JobId, now: Time) {
        if let Some(next) = self.central.as_mut().and_then(|it| it.spilled(id)) {
            self.recall(next, now);
        }
    }

    /// An overflow entry moves up, one memory transfer later.
    pub(super) fn recall(&mut self, id: JobId, now: Time) {
        self.spend(id, Part::Queueing, now);
        let way = Way::Read(Source::Memory, Place::Manager);
        let movement = self.overflow_movement(id, way);
        let done = self.uncore.carry(&movement, now);
        self.schedule(done, Event::Recalled(id));
    }

    /// Hands a job on from the output queue of `source`, or from memory: straight to an element
    /// if the manager promotes it, else to the central queue.
    pub(super) fn forward_centrally(
        &mut self,
        id: JobId,
        to: Accel,
        source: Option<Unit>,
        now: Time,
    ) -> Result<(), SimError> {
        let (latest, runtime) = (self.latest_start(id), self.element_time(id));
        let job = self.jobs.get_mut(id);
        // The manager picks the instance later; accelerators may have different numbers of them.
        (job.accel, job.host, job.instance) = (to, to, 0);
        (job.known, job.missing) = (true, 1);
        let Some(central) = &mut self.central else {
            return Ok(());
        };
        let (kind, there) = if let Some(instance) = central.promote(to, latest, runtime, now) {
            self.jobs.get_mut(id).instance = instance;
            let unit = self.jobs.get(id).unit();
            self.station(unit).reserve_input();
            (TransferKind::Forward, unit.place())
        } else if central.reserve() {
            (TransferKind::Central, Place::Manager)
        } else if central.reserve_overflow() {
            (TransferKind::CentralSpill, Place::Manager)
        } else {
            return self.fall_back(id, source, now);
        };
        let movement = match (kind, source) {
            (TransferKind::CentralSpill, _) => {
                let from = source.map_or(there, Unit::place);
                self.overflow_movement(id, Way::Write(from))
            }
            (_, Some(source)) => self.entry_movement(id, Way::Queues(source.place(), there)),
            (_, None) => {
                let copy = self.entry_movement(id, Way::Read(Source::Memory, there));
                self.uncore.deliver(copy.address, copy.size, now);
                copy
            }
        };
        let transfer = Transfer {
            job: id,
            kind,
            source,
        };
        self.transfer(transfer, movement, now);
        Ok(())
    }
}
