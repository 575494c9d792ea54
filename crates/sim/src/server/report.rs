//! The outcome of a run, and the laws it must obey.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::engine::{Engine, Window};
use super::state::RequestId;
use crate::hardware::Core;
use crate::stats::{AccelStats, Outcome};

/// Busy times since the start of the run.
#[derive(Clone, Debug)]
pub(super) struct Busy {
    cores: Time,
    manager: Time,
    dma: Time,
    /// All elements together, and any of them.
    accelerators: [(Time, Time); Accel::COUNT],
}

/// What is read off when the last request has arrived.
#[derive(Clone, Debug)]
pub(super) struct Closing {
    at: Time,
    busy: Busy,
    backlog: (String, usize),
    in_flight: usize,
}

/// A backlog below this many requests is a burst, not saturation.
const SATURATED_BACKLOG: usize = 100;
/// Saturated if at least this share of the window's requests was still there at its end.
const SATURATED_SHARE: f64 = 0.05;

impl Engine<'_> {
    /// The response of a request has left, if this was its last phase.
    pub(super) fn respond_if_last(&mut self, id: RequestId, now: Time) {
        let request = self.requests.get(id);
        let service = usize::from(request.service);
        let last = self.run.plan.services[service].phases.len() - 1;
        if usize::from(request.phase) == last {
            self.respond(id, now);
        }
    }

    /// The request has its response, unless it had it before: with the first message that its
    /// last phase sends, or with the end of that phase if it sends none.
    pub(super) fn respond(&mut self, id: RequestId, now: Time) {
        let request = self.requests.get_mut(id);
        if request.responded {
            return;
        }
        request.responded = true;
        let request = *request;
        let service = usize::from(request.service);
        let (measured, latency) = (request.measured, now - request.arrived);
        self.population.decrease(now);
        self.totals.latency_ps += u128::from(latency.as_ps());
        let arrives = self.arrives(request.service);
        let stats = &mut self.services[service];
        stats.completed += 1;
        if measured {
            stats.latency.record(latency);
        }
        stats.completed_in_window += u64::from(arrives && stats.measured.is_some());
    }

    /// All busy times up to `now`.
    pub(super) fn busy(&self, now: Time) -> Busy {
        let mut accelerators = [(Time::ZERO, Time::ZERO); Accel::COUNT];
        for (station, times) in self.stations.iter().zip(&mut accelerators) {
            *times = (station.busy.total_at(now), station.any.total_at(now));
        }
        Busy {
            cores: self.cores.iter().map(|core| core.busy.total_at(now)).sum(),
            // Charged at once for each visit; the visits that wait are still to come.
            manager: self
                .manager
                .total_at(now)
                .saturating_sub(self.manager_free.saturating_sub(now)),
            dma: self.dma.busy.total_at(now),
            accelerators,
        }
    }

    pub(super) fn close_window(&mut self, now: Time) {
        let busy = self.busy(now);
        let backlog = self.longest_queue(now);
        let in_flight = self.requests.live();
        if let Some(window) = &mut self.window
            && window.closed.is_none()
        {
            window.closed = Some(Closing {
                at: now,
                busy,
                backlog,
                in_flight,
            });
        }
    }

    /// The component that the most work waits for, and how much.
    fn longest_queue(&self, now: Time) -> (String, usize) {
        let behind_the_running = |core: &Core<_>| core.load().saturating_sub(1);
        let waiting = self.cores.iter().map(behind_the_running).sum();
        let occupancy = self.run.config.relief.occupancy.as_ps().max(1);
        let manager = self.manager_free.saturating_sub(now).as_ps() / occupancy;
        let accelerators = Accel::ALL
            .into_iter()
            .zip(&self.stations)
            .map(|(accel, station)| (accel.name().to_owned(), station.backlog()));
        let others = [
            ("cores".to_owned(), waiting),
            ("manager".to_owned(), manager as usize),
            ("A-DMA engines".to_owned(), self.dma.backlog()),
        ];
        others
            .into_iter()
            .chain(accelerators)
            .max_by_key(|(_, backlog)| *backlog)
            .unwrap_or_default()
    }

    pub(super) fn report(mut self) -> Outcome {
        let end = self.calendar.now();
        self.totals.population_ps = self.population.integral_at(end);
        self.totals.element_busy = self
            .stations
            .iter()
            .map(|station| station.busy.total_at(end))
            .sum();
        self.totals.drained = self.requests.live() == 0
            && self.jobs.live() == 0
            && self.stations.iter().all(|station| station.is_idle())
            && self.cores.iter().all(|core| core.load() == 0);
        let measured: u64 = self.services.iter().map(|s| s.latency.count() as u64).sum();
        let mut outcome = Outcome {
            services: std::mem::take(&mut self.services),
            accelerators: std::array::from_fn(|i| AccelStats {
                utilization: 0.0,
                any_busy: 0.0,
                operations: self.stations[i].operations,
                peak_input: self.stations[i].peak_input,
            }),
            core_utilization: 0.0,
            manager_utilization: 0.0,
            dma_utilization: 0.0,
            dispatcher_instructions: (self.dispatches > 0)
                .then(|| self.instructions as f64 / self.dispatches as f64),
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
            outcome.saturated = (closing.in_flight > limit).then(|| closing.backlog.0.clone());
        }
        outcome
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
        outcome.core_utilization = share(before.cores, after.cores, config.core.count);
        outcome.manager_utilization = share(before.manager, after.manager, 1);
        outcome.dma_utilization = share(before.dma, after.dma, config.network.dma_engines);
        let pairs = before.accelerators.iter().zip(&after.accelerators);
        for (stats, (before, after)) in outcome.accelerators.iter_mut().zip(pairs) {
            stats.utilization = share(before.0, after.0, config.accelerator.pes);
            stats.any_busy = share(before.1, after.1, 1);
        }
    }
}
