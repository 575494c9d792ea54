//! The central manager and, with RELIEF, the queue that all accelerators share.

use accelflow_kernel::BusyTime;
use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::config::Config;
use crate::hardware::CentralQueue;
use crate::orchestrators::{ManagerVisit, Properties, Queueing};
use crate::server::state::{JobId, Request};

/// The manager, which serves one visit after the other.
pub(crate) struct Manager {
    /// The time when the last visit so far ends.
    free: Time,
    busy: BusyTime,
    occupancy: Time,
    queue: Option<CentralQueue<JobId>>,
    /// With a queue, the unloaded time from each phase of each service to its end.
    unloaded: Vec<Vec<Time>>,
    /// Deadline of a request over its unloaded time.
    deadline_ratio: f64,
}

impl Manager {
    /// The manager of a server with `config`. `unloaded` computes the unloaded times, which only a
    /// central queue needs.
    pub(crate) fn new(
        config: &Config,
        properties: &Properties,
        unloaded: impl FnOnce() -> Vec<Vec<Time>>,
    ) -> Manager {
        let queue = (properties.queueing == Queueing::Central).then(|| central_queue(config));
        Manager {
            free: Time::ZERO,
            busy: BusyTime::new(Time::ZERO),
            occupancy: config.relief.occupancy,
            unloaded: queue.as_ref().map_or_else(Vec::new, |_| unloaded()),
            queue,
            deadline_ratio: config.relief.deadline,
        }
    }

    /// Whether all accelerators share a queue.
    pub(crate) fn is_central(&self) -> bool {
        self.queue.is_some()
    }

    /// The queue that all accelerators share, if there is one.
    pub(crate) fn queue(&mut self) -> Option<&mut CentralQueue<JobId>> {
        self.queue.as_mut()
    }

    /// Adds a visit. Returns the time when its decision takes effect.
    pub(crate) fn visit(&mut self, visit: ManagerVisit, now: Time) -> Time {
        let start = self.free.max(now);
        self.free = start + visit.occupancy;
        self.busy.charge(visit.occupancy);
        start + visit.latency.max(visit.occupancy)
    }

    /// The time when the last visit so far ends.
    pub(crate) fn free_from(&self) -> Time {
        self.free
    }

    /// The latest time at which an operation may start for `request` to meet its deadline, if the
    /// operation and the rest of its chain take `left`, and later phases their unloaded time.
    pub(crate) fn latest_start(&self, request: &Request, left: Time) -> Time {
        let phases = &self.unloaded[usize::from(request.service)];
        let from = |phase: usize| phases.get(phase).copied().unwrap_or(Time::ZERO);
        let deadline = request.arrived + from(0).scale(self.deadline_ratio);
        deadline.saturating_sub(from(usize::from(request.phase) + 1) + left)
    }

    /// Busy time until `now`. Visits are charged at once, so those to come are subtracted.
    pub(crate) fn busy_at(&self, now: Time) -> Time {
        let to_come = self.free.saturating_sub(now);
        self.busy.total_at(now).saturating_sub(to_come)
    }

    /// Number of visits that wait, if they are all as long as RELIEF's.
    pub(crate) fn backlog(&self, now: Time) -> usize {
        let occupancy = self.occupancy.as_ps().max(1);
        (self.free.saturating_sub(now).as_ps() / occupancy) as usize
    }

    /// Number of operations of `accel` that wait in the queue for an element.
    pub(crate) fn waiting(&self, accel: Accel) -> usize {
        let queue = self.queue.as_ref();
        queue.map_or(0, |queue| queue.waiting(accel))
    }

    /// Whether nothing is in the queue or on elements that it assigns.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.as_ref().is_none_or(CentralQueue::is_idle)
    }
}

fn central_queue(config: &Config) -> CentralQueue<JobId> {
    let hardware = &config.accelerator;
    let elements = |accel| Ord::min(hardware.pes_of(accel), hardware.input_entries_of(accel));
    CentralQueue::new(
        config.relief.queue_entries,
        hardware.overflow_entries,
        Accel::EVERY.map(elements),
        Accel::EVERY.map(|accel| hardware.instances_of(accel)),
    )
}
