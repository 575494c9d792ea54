//! The central manager with one queue for all accelerators: how operations enter the queue, in
//! which order they leave it, and how they move to accelerators.
//!
//! The manager assigns operations to elements: when a completion frees an element, the manager
//! gives this element to the waiting operation with the least laxity.

use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::hardware::{Endpoints, Place, Source};
use crate::orchestrators::Next;
use crate::server::activity::Wait;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{Event, Job, JobId, Transfer, TransferKind, Unit};

impl Engine<'_> {
    /// The unloaded time from the beginning of a job's current operation to the end of its chain:
    /// elements and waits for messages, along the longest arm of each fork. Zero without a central
    /// queue, which alone needs it.
    pub(crate) fn time_left(&self, job: &Job) -> Result<Time, Failure> {
        if !self.manager.is_central() {
            return Ok(Time::ZERO);
        }
        let (mut time, mut at) = (Time::ZERO, *job);
        loop {
            let (rest, meets) = self.time_from(&mut at)?;
            time += rest;
            if !meets {
                return Ok(time);
            }
        }
    }

    /// The unloaded time from a job's next operation to the enclosing join or, without one, to the
    /// end of its chain; and whether there is a join. The job is moved behind the join.
    fn time_from(&self, job: &mut Job) -> Result<(Time, bool), Failure> {
        if job.next_step.meets {
            self.requests.read(job, &mut Vec::new())?;
            return Ok((Time::ZERO, true));
        }
        let here = match job.next_step.next {
            Next::Forward(accel) => self.timing.operation(&self.uncore, accel, job.operation),
            Next::Park => self.expected_wait(job),
            Next::End => return Ok((Time::ZERO, false)),
        };
        let (rest, meets) = self.time_after(job)?;
        Ok((here + rest, meets))
    }

    /// Like [`Engine::time_from`], from the end of an operation on.
    fn time_after(&self, job: &mut Job) -> Result<(Time, bool), Failure> {
        let mut forked = Vec::new();
        self.requests.read(job, &mut forked)?;
        let (mut time, mut meets) = self.time_from(job)?;
        for mut other in forked.into_iter().rev() {
            let (beside, also) = self.time_after(&mut other.job)?;
            time = time.max(beside);
            if also && !meets {
                (*job, meets) = (other.job, true);
            }
            if other.scatters && meets {
                let rest;
                (rest, meets) = self.time_from(job)?;
                time += rest;
            }
        }
        Ok((time, meets))
    }

    /// Subtracts a job's completed operation from the time left of its chain. Only with a central
    /// queue.
    pub(crate) fn advance(&mut self, id: JobId) {
        let done = self.operation_time(self.jobs.get(id));
        let job = self.jobs.get_mut(id);
        job.left = job.left.saturating_sub(done);
        job.entry.known = true;
    }

    /// The latest time at which a job's operation may start for its request to meet its deadline.
    fn latest_start(&self, job: &Job) -> Time {
        let request = self.requests.get(job.request);
        self.manager.latest_start(request, job.left)
    }

    /// An entry of the central queue has its data.
    pub(crate) fn entered(&mut self, id: JobId, now: Time) {
        let visit = self.properties.submission;
        match visit.filter(|_| !self.jobs.get(id).entry.known) {
            Some(visit) => self.visit_manager(visit, Event::Registered(id), now),
            None => self.registered(id, now),
        }
    }

    /// Moves the payload of a submitted chain to its entry.
    pub(crate) fn deliver_centrally(&mut self, job: JobId, now: Time) {
        let movement = self.entry_movement(job, Endpoints::Read(Source::Core, Place::Manager));
        let transfer = Transfer {
            kind: TransferKind::Central,
            source: None,
        };
        self.transfer(job, transfer, movement, now);
    }

    /// Registers an entry of the manager's queue.
    pub(crate) fn registered(&mut self, id: JobId, now: Time) {
        let job = self.jobs.get(id);
        let (accel, latest) = (job.accel, self.latest_start(job));
        if let Some(queue) = self.manager.queue() {
            queue.ready(id, accel, latest);
        }
        self.grant(accel, now);
    }

    /// The manager learns that an element of `unit` has completed its operation.
    pub(crate) fn free_central_element(&mut self, unit: Unit) {
        if let Some(queue) = self.manager.queue() {
            queue.freed(unit.accel, unit.instance);
        }
    }

    /// Gives the free elements of `accel` to the operations that wait for them.
    pub(crate) fn grant(&mut self, accel: Accel, now: Time) {
        while let Some((id, instance)) = self.manager.queue().and_then(|queue| queue.pick(accel)) {
            self.spend_waiting(id, Wait::Central, now);
            let job = self.jobs.get_mut(id);
            job.unit = self.ensemble.unit(accel, instance, job.unit.share);
            let unit = job.unit;
            self.ensemble.station_mut(unit).reserve_input();
            let endpoints = Endpoints::Queues(Place::Manager, unit.place());
            let movement = self.entry_movement(id, endpoints);
            let transfer = Transfer {
                kind: TransferKind::Grant,
                source: None,
            };
            self.transfer(id, transfer, movement, now);
        }
    }

    /// An entry of the central queue has reached its element.
    pub(crate) fn granted(&mut self, id: JobId, now: Time) {
        if let Some(next) = self.manager.queue().and_then(|queue| queue.release()) {
            self.recall(next, now);
        }
        self.enqueue(id, now);
    }

    /// An entry of the central queue's overflow area has its data.
    pub(crate) fn central_spilled(&mut self, id: JobId, now: Time) {
        match self.manager.queue().and_then(|queue| queue.spilled(id)) {
            Some(next) => self.recall(next, now),
            None => self.make_room(self.jobs.get(id).unit, now),
        }
    }

    /// Moves an overflow entry to the central queue.
    pub(crate) fn recall(&mut self, id: JobId, now: Time) {
        self.spend_waiting(id, Wait::CentralOverflow, now);
        let endpoints = Endpoints::Read(Source::Memory, Place::Manager);
        let movement = self.overflow_movement(id, endpoints);
        let done = self.uncore.carry(&movement, now);
        self.schedule(done, Event::Recalled(id));
    }

    /// Forwards a job from the output queue of `source`, or from memory: directly to an element if
    /// the manager promotes it, otherwise to the central queue.
    pub(crate) fn forward_centrally(
        &mut self,
        id: JobId,
        to: Accel,
        source: Option<Unit>,
        now: Time,
    ) -> Result<(), Failure> {
        let Some((kind, there)) = self.reserve_centrally(id, to, now) else {
            return self.fall_back(id, source, now);
        };
        let movement = match (kind, source) {
            (TransferKind::CentralSpill, _) => {
                let from = source.map_or(there, Unit::place);
                self.overflow_movement(id, Endpoints::Write(from))
            }
            (_, Some(source)) => self.entry_movement(id, Endpoints::Queues(source.place(), there)),
            (_, None) => {
                let copy = self.entry_movement(id, Endpoints::Read(Source::Memory, there));
                self.uncore.deliver(copy.address, copy.size, now);
                copy
            }
        };
        let transfer = Transfer { kind, source };
        self.transfer(id, transfer, movement, now);
        Ok(())
    }

    /// Reserves an element for a job's operation of `to`, if the manager promotes it, else an entry
    /// of the central queue or of its overflow area. `None` if both are full, or if the chip does
    /// not have the accelerator.
    fn reserve_centrally(
        &mut self,
        id: JobId,
        to: Accel,
        now: Time,
    ) -> Option<(TransferKind, Place)> {
        let there = self.has(to);
        let job = self.jobs.get_mut(id);
        // The manager picks the instance later; accelerators may have different numbers of them.
        job.accel = to;
        job.unit = self.ensemble.unit(to, 0, job.unit.share);
        (job.entry.known, job.entry.missing) = (true, 1);
        if !there {
            return None;
        }
        let job = self.jobs.get(id);
        let (latest, runtime) = (self.latest_start(job), self.operation_time(job));
        let queue = self.manager.queue()?;
        if let Some(instance) = queue.promote(to, latest, runtime, now) {
            let job = self.jobs.get_mut(id);
            job.unit = self.ensemble.unit(to, instance, job.unit.share);
            self.ensemble.station_mut(job.unit).reserve_input();
            Some((TransferKind::Forward, job.unit.place()))
        } else if queue.reserve() {
            Some((TransferKind::Central, Place::Manager))
        } else if queue.reserve_overflow() {
            Some((TransferKind::CentralSpill, Place::Manager))
        } else {
            None
        }
    }
}
