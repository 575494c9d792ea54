//! The outcome of a run, and the laws it must obey.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::engine::{Engine, Window};
use super::saturation::{Queues, saturation};
use super::state::{Job, Request, RequestId};
use crate::hardware::{Carried, CentralQueue, SoftQueue, Station};
use crate::stats::{AccelStats, Breakdown, DataStats, Outcome};

/// Busy times since the start of the run.
#[derive(Clone, Debug)]
pub(super) struct Busy {
    cores: Time,
    manager: Time,
    dma: Time,
    links: Carried,
    /// All elements together, and any of them.
    accelerators: [(Time, Time); Accel::COUNT],
    dispatchers: [Time; Accel::COUNT],
    /// What waits for each resource.
    pub(super) queues: Queues,
}

/// What is read off when the last request has arrived.
#[derive(Clone, Debug)]
pub(super) struct Closing {
    at: Time,
    busy: Busy,
    in_flight: usize,
}

/// A backlog below this many requests is a burst, not saturation.
const SATURATED_BACKLOG: usize = 100;
/// Saturated if at least this share of the window's requests was still there at its end.
const SATURATED_SHARE: f64 = 0.05;

/// Share of the operations asked of these instances that they turned away.
fn denied<T: Copy + PartialEq>(stations: &[Station<T>]) -> f64 {
    let turned_away: u64 = stations.iter().map(|it| it.turned_away).sum();
    let operations: u64 = stations.iter().map(|it| it.operations).sum();
    turned_away as f64 / (turned_away + operations).max(1) as f64
}

impl Engine<'_> {
    /// An execution has ended with a message that was sent: the response, if this was the last
    /// phase, or a response with an error, which ends the request's path with this phase.
    pub(super) fn respond_if_last(&mut self, job: &Job, now: Time) {
        let id = job.request;
        if job.error {
            let request = self.requests.get_mut(id);
            request.terminated = true;
            let (first, service) = (!request.responded, usize::from(request.service));
            self.services[service].errors += u64::from(first);
            self.respond(id, &job.spent, now);
        } else if self.is_last_phase(self.requests.get(id)) {
            self.respond(id, &job.spent, now);
        }
    }

    pub(super) fn is_last_phase(&self, request: &Request) -> bool {
        let service = usize::from(request.service);
        usize::from(request.phase) + 1 == self.run.plan.services[service].phases.len()
    }

    /// The request has its response, unless it had it before: with the first message that its
    /// last phase sends, or with the end of that phase if it sends none.
    pub(super) fn respond(&mut self, id: RequestId, spent: &Breakdown, now: Time) {
        let request = self.requests.get_mut(id);
        if request.responded {
            return;
        }
        request.responded = true;
        let request = *request;
        let service = usize::from(request.service);
        let (measured, latency) = (request.measured, now - request.arrived);
        let with_slo = measured && request.due < Time::MAX;
        self.population.decrease(now);
        self.totals.latency_ps += u128::from(latency.as_ps());
        self.count_spent(service, measured, spent);
        let arrives = self.arrives(request.service);
        let stats = &mut self.services[service];
        stats.completed += 1;
        if measured {
            stats.latency.record(latency);
        }
        stats.with_slo += u64::from(with_slo);
        stats.slo_missed += u64::from(with_slo && now > request.due);
        stats.completed_in_window += u64::from(arrives && stats.measured.is_some());
    }

    /// The request goes no further. Without a response it has no response time either, so it is
    /// counted beside those that have.
    pub(super) fn terminate(&mut self, id: RequestId, now: Time) {
        let request = self.requests.get_mut(id);
        request.terminated = true;
        if std::mem::replace(&mut request.responded, true) {
            return;
        }
        let request = *request;
        self.population.decrease(now);
        self.totals.latency_ps += u128::from((now - request.arrived).as_ps());
        let with_slo = request.measured && request.due < Time::MAX;
        let stats = &mut self.services[usize::from(request.service)];
        stats.timed_out += 1;
        stats.with_slo += u64::from(with_slo);
        stats.slo_missed += u64::from(with_slo);
    }

    /// All busy times up to `now`.
    pub(super) fn busy(&self, now: Time) -> Busy {
        let mut accelerators = [(Time::ZERO, Time::ZERO); Accel::COUNT];
        for (accel, times) in Accel::ALL.into_iter().zip(&mut accelerators) {
            for station in self.stations_of(accel) {
                times.0 += station.busy.total_at(now);
                times.1 += station.any.total_at(now) * self.weight(station);
            }
        }
        Busy {
            cores: self.cores.iter().map(|core| core.busy.total_at(now)).sum(),
            // Charged at once for each visit; the visits that wait are still to come.
            manager: self
                .manager
                .total_at(now)
                .saturating_sub(self.manager_free.saturating_sub(now)),
            dma: self.dma.busy.total_at(now),
            links: self.uncore.carried(now),
            accelerators,
            dispatchers: Accel::ALL.map(|accel| self.dispatching(accel, now)),
            queues: self.queues(now),
        }
    }

    /// What the time with any element of a station busy counts in that of its instance: a tenant's
    /// share is an accelerator to it, and counts by its elements.
    fn weight<T: Copy + PartialEq>(&self, station: &Station<T>) -> u64 {
        match self.parts {
            1 => 1,
            _ => station.elements(),
        }
    }

    pub(super) fn close_window(&mut self, now: Time) {
        let busy = self.busy(now);
        let in_flight = self.requests.live();
        if let Some(window) = &mut self.window
            && window.closed.is_none()
        {
            window.closed = Some(Closing {
                at: now,
                busy,
                in_flight,
            });
        }
    }

    pub(super) fn report(mut self) -> Outcome {
        let end = self.calendar.now();
        self.totals.population_ps = self.population.integral_at(end);
        self.totals.element_busy = self
            .stations
            .iter()
            .map(|station| station.busy.total_at(end))
            .sum();
        let dispatching = Accel::ALL.map(|accel| self.dispatching(accel, end));
        self.orchestration.dispatchers = dispatching.into_iter().sum();
        self.totals.drained = self.requests.live() == 0
            && self.jobs.live() == 0
            && self.stations.iter().all(|station| station.is_idle())
            && self.central.as_ref().is_none_or(CentralQueue::is_idle)
            && self.cores.iter().all(|core| core.committed() == (0, 0))
            && self.soft_queues.iter().all(SoftQueue::is_empty)
            && self.held_back() == 0;
        let measured: u64 = self.services.iter().map(|s| s.latency.count() as u64).sum();
        let of_type = |i: usize| &self.stations[self.of_types[i].clone()];
        let mut outcome = Outcome {
            services: std::mem::take(&mut self.services),
            accelerators: std::array::from_fn(|i| AccelStats {
                utilization: 0.0,
                any_busy: 0.0,
                dispatcher: 0.0,
                operations: of_type(i).iter().map(|it| it.operations).sum(),
                peak_input: of_type(i).iter().map(|it| it.peak_input).max().unwrap_or(0),
                denied: denied(of_type(i)),
            }),
            core_utilization: 0.0,
            manager_utilization: 0.0,
            dma_utilization: 0.0,
            dispatcher_instructions: (self.dispatches > 0)
                .then(|| self.instructions as f64 / self.dispatches as f64),
            tenants: self.tenants.iter().map(|tenant| tenant.stats).collect(),
            data: self.data_stats(),
            orchestration: self.orchestration,
            saturated: None,
            window: Time::ZERO,
            events: self.events,
            totals: self.totals.clone(),
        };
        if let Some(Window {
            from,
            before,
            closed: Some(closing),
        }) = &self.window
        {
            self.fill_shares(&mut outcome, *from, before, closing);
            let limit = SATURATED_BACKLOG.max((measured as f64 * SATURATED_SHARE) as usize);
            outcome.saturated = (closing.in_flight > limit)
                .then(|| saturation(&before.queues, &closing.busy.queues, &outcome));
        }
        outcome
    }

    /// All but the shares of links.
    fn data_stats(&self) -> DataStats {
        let (memory, translation) = self.uncore.counts();
        DataStats {
            read_bytes: memory.read_bytes,
            missed_bytes: memory.missed_bytes,
            written_bytes: memory.written_bytes,
            dram_bytes: memory.dram_bytes,
            tlb_lookups: translation.lookups,
            tlb_misses: translation.misses,
            table_reads: translation.table_reads,
            page_faults: self.page_faults,
            busiest_link: 0.0,
            busiest_crossing: 0.0,
        }
    }

    fn fill_shares(&self, outcome: &mut Outcome, from: Time, before: &Busy, closing: &Closing) {
        let config = self.run.config;
        outcome.window = closing.at - from;
        let window = outcome.window;
        let share = |before: Time, after: Time, servers: usize| {
            if window > Time::ZERO {
                // Whole picoseconds, so that a share of all is 1 and not a rounding error more.
                (after - before).as_ps() as f64 / (window * servers as u64).as_ps() as f64
            } else {
                0.0
            }
        };
        let after = &closing.busy;
        outcome.core_utilization = if self.polls() {
            1.0
        } else {
            share(before.cores, after.cores, config.core.count)
        };
        outcome.manager_utilization = share(before.manager, after.manager, 1);
        outcome.dma_utilization = share(before.dma, after.dma, config.network.dma_engines);
        let links = Carried::shares(&before.links, &after.links, window);
        outcome.data.busiest_link = links.busiest;
        outcome.data.busiest_crossing = links.busiest_crossing;
        let pairs = before.accelerators.iter().zip(&after.accelerators);
        let hardware = &config.accelerator;
        let stats = Accel::ALL.into_iter().zip(&mut outcome.accelerators);
        for ((accel, stats), (before, after)) in stats.zip(pairs) {
            let instances = hardware.instances_of(accel);
            stats.utilization = share(before.0, after.0, hardware.pes_of(accel) * instances);
            let stations = self.stations_of(accel).iter();
            let weights: u64 = stations.map(|it| self.weight(it)).sum();
            stats.any_busy = share(before.1, after.1, weights as usize);
        }
        let busy = closing.busy.dispatchers;
        for accel in Accel::ALL {
            let (instances, index) = (hardware.instances_of(accel), accel.index());
            outcome.accelerators[index].dispatcher =
                share(before.dispatchers[index], busy[index], instances);
        }
    }
}
