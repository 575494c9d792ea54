//! The outcome of a run: the statistics at its end.

use std::collections::BTreeSet;

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::engine::Engine;
use super::error::SimError;
use super::parts::{Busy, Inside, Measured, Queues, Window, WindowEnd, saturation};
use super::state::{JobId, RequestId};
use crate::hardware::{Carried, Station};
use crate::stats::{AccelStats, DataStats, SimulationResult, Used};

/// A run is saturated only if more requests than this were at work at the end of the window. Fewer
/// are a burst, not saturation ...
const SATURATED_BACKLOG: usize = 100;
/// ... and so are fewer than this number for each core: every core may be in use.
const SATURATED_PER_CORE: usize = 2;
/// A run is saturated only if these requests and their callers are more than this share of the
/// window's requests.
const SATURATED_SHARE: f64 = 0.05;

impl Engine<'_> {
    /// Begins the measured window, unless it has begun or a load is still in its warm-up.
    pub(crate) fn open_window(&mut self, now: Time) {
        if !self.measures.has_window() && self.arrivals.are_warm() {
            let window = Window {
                from: now,
                before: self.busy(now),
                end: None,
            };
            self.measures.open_window(window);
        }
    }

    /// Ends the measured window, unless it has ended.
    pub(crate) fn close_window(&mut self, now: Time) {
        if self.measures.in_window() {
            let end = WindowEnd {
                at: now,
                busy: self.busy(now),
                inside: self.inside(),
            };
            self.measures.close_window(end);
        }
    }

    /// The requests in the server. One that waits for nothing of the server is no sign of an
    /// overload: by Little's law, there are the more of them the longer their waits are.
    fn inside(&self) -> Inside {
        let mut held = BTreeSet::new();
        let mut at_work = 0;
        for id in self.requests.at_work() {
            at_work += 1;
            let mut next = Some(id);
            while let Some(id) = next.filter(|&id| held.insert(id)) {
                next = self.caller_of(id);
            }
        }
        Inside {
            at_work,
            held: held.len(),
        }
    }

    /// The request on this server that waits for the response of a request.
    fn caller_of(&self, id: RequestId) -> Option<RequestId> {
        let caller = self.requests.get(id).caller;
        let caller = caller.filter(|caller| self.calls.is_here(caller.server))?;
        let job = self.calls.waiting(caller.call)?;
        Some(self.jobs.get(job).request)
    }

    /// Reads the busy times, if the outcome needs them and it is time.
    #[inline]
    pub(crate) fn read_use(&mut self, now: Time) {
        if self.usage.as_ref().is_some_and(|usage| usage.is_due(now)) {
            let busy = self.busy(now);
            if let Some(usage) = &mut self.usage {
                usage.keep(now, busy);
            }
        }
    }

    /// The utilization of the server between each two readings.
    fn used(&self) -> Vec<Used> {
        let readings = self
            .usage
            .as_ref()
            .map_or(&[][..], |usage| usage.readings());
        let used = |pair: &[(Time, Busy)]| {
            let [(from, before), (until, after)] = pair else {
                return None;
            };
            Some(self.used_between((*from, before), (*until, after)))
        };
        readings.windows(2).filter_map(used).collect()
    }

    fn used_between(&self, (from, before): (Time, &Busy), (until, after): (Time, &Busy)) -> Used {
        let (config, window) = (self.run.config, until - from);
        let engines = config.network.dma_engines;
        let mut used = Used {
            from,
            until,
            cores: match self.cores_poll() {
                true => 1.0,
                false => share(before.cores, after.cores, window, config.core.count),
            },
            manager: share(before.manager, after.manager, window, 1),
            dma: share(before.dma, after.dma, window, engines),
            accelerators: [0.0; Accel::MOST],
        };
        for accel in self.run.plan.image.accelerators() {
            let index = accel.index();
            let (before, after) = (before.accelerators[index].0, after.accelerators[index].0);
            used.accelerators[index] = share(before, after, window, self.elements(accel));
        }
        used
    }

    /// The number of elements of a type.
    fn elements(&self, accel: Accel) -> usize {
        let config = &self.run.config.accelerator;
        config.pes_of(accel) * config.instances_of(accel)
    }

    /// All busy times up to `now`.
    fn busy(&self, now: Time) -> Busy {
        Busy {
            cores: self.cores.busy_at(now),
            manager: self.manager.busy_at(now),
            dma: self.dma.busy.total_at(now),
            links: self.uncore.carried(now),
            accelerators: Accel::EVERY.map(|accel| self.ensemble.busy_at(accel, now)),
            dispatchers: self.dispatching(now),
            queues: self.queues(now),
        }
    }

    /// By [`Accel::index`], how long the output dispatchers have been busy.
    fn dispatching(&self, now: Time) -> [Time; Accel::MOST] {
        Accel::EVERY.map(|accel| self.ensemble.dispatching_at(accel, now))
    }

    /// The backlogs of all resources.
    fn queues(&self, now: Time) -> Queues {
        let waiting = |accel| {
            let stations = self.ensemble.of_type(accel);
            let backlog: usize = stations.iter().map(Station::backlog).sum();
            let central = self.manager.waiting(accel);
            (backlog + central, turned_away(stations))
        };
        let at_dispatchers = |accel| {
            let stations = self.ensemble.of_type(accel).iter();
            stations.fold((0, 0), |(waiting, blocked), station| {
                let backlog = station.dispatcher.backlog();
                (waiting + backlog, blocked + station.blocked())
            })
        };
        Queues {
            cores: self.cores.backlog(),
            manager: self.manager.backlog(now),
            dma: self.dma.backlog(),
            tenants: self.tenancy.waiting(),
            accelerators: Accel::EVERY.map(waiting),
            central: self.manager.is_central(),
            dispatchers: Accel::EVERY.map(at_dispatchers),
        }
    }

    /// The outcome at the end of the run.
    pub(crate) fn report(mut self) -> SimulationResult {
        let measured = self.measured();
        let recorded = measured.recorded();
        let mut outcome = SimulationResult {
            data: self.data_stats(&measured),
            services: measured.services,
            accelerators: Accel::EVERY.map(|accel| accel_stats(self.ensemble.of_type(accel))),
            core_utilization: 0.0,
            manager_utilization: 0.0,
            dma_utilization: 0.0,
            dispatcher_instructions: self.dispatchers.mean_instructions(),
            tenants: self.tenancy.stats(),
            orchestration: measured.orchestration,
            saturated: None,
            window: Time::ZERO,
            events: measured.events,
            totals: measured.totals,
            used: self.used(),
        };
        if let Some(Window {
            from,
            before,
            end: Some(end),
        }) = &measured.window
        {
            self.fill_shares(&mut outcome, *from, before, end);
            if self.holds_up(end.inside, recorded) {
                let (before, after) = (&before.queues, &end.busy.queues);
                outcome.saturated = saturation(before, after, &outcome, &self.run.plan.image);
            }
        }
        outcome
    }

    /// Whether the requests at work at the end of the window are too many for a burst, and hold up
    /// a large share of the `recorded` requests.
    fn holds_up(&self, inside: Inside, recorded: u64) -> bool {
        let burst = SATURATED_BACKLOG.max(SATURATED_PER_CORE * self.cores.count());
        let share = (recorded as f64 * SATURATED_SHARE) as usize;
        inside.at_work > burst && inside.held > share
    }

    /// The statistics of the whole run.
    fn measured(&mut self) -> Measured {
        let end = self.calendar.now();
        let mut measured = self.measures.take(end);
        measured.orchestration.dispatchers = self.dispatching(end).into_iter().sum();
        measured.totals.element_busy = self.ensemble.total_busy_at(end);
        measured.totals.drained = self.is_idle();
        measured
    }

    /// Checks that every request has ended, when no events are left.
    pub(crate) fn check_drained(&self) -> Result<(), SimError> {
        if self.is_idle() {
            return Ok(());
        }
        Err(SimError::Undrained {
            requests: self.requests.live(),
            left: self.what_is_left(),
        })
    }

    /// A description of the parts that are not idle.
    fn what_is_left(&self) -> String {
        let mut left = vec![format!("{} traces are in flight", self.jobs.live())];
        let waiting = self.tenancy.waiting();
        if waiting > 0 {
            left.push(format!("{waiting} traces wait for limits of their tenants"));
        }
        let calls = self.calls.jobs().count();
        if calls > 0 {
            left.push(format!("{calls} calls wait for responses"));
        }
        for accel in self.run.plan.image.accelerators() {
            if !self.ensemble.of_type(accel).iter().all(Station::is_idle) {
                left.push(format!("{accel} is not idle"));
            }
        }
        if !self.manager.is_idle() {
            left.push("the manager is not idle".to_owned());
        }
        if !self.cores.are_idle() {
            left.push("cores are not idle".to_owned());
        }
        left.join(", ")
    }

    /// Whether nothing is in flight, queued or running.
    fn is_idle(&self) -> bool {
        self.requests.live() == 0
            && self.jobs.live() == 0
            && self.ensemble.is_idle()
            && self.manager.is_idle()
            && self.cores.are_idle()
            && self.tenancy.waiting() == 0
    }

    /// Statistics of data movement, without the shares of links.
    fn data_stats(&self, measured: &Measured) -> DataStats {
        let (memory, translation) = self.uncore.counts();
        DataStats {
            read_bytes: memory.read_bytes,
            missed_bytes: memory.missed_bytes,
            written_bytes: memory.written_bytes,
            dram_bytes: memory.dram_bytes,
            tlb_lookups: translation.lookups,
            tlb_misses: translation.misses,
            table_reads: translation.table_reads,
            page_faults: measured.page_faults,
            busiest_link: 0.0,
            busiest_crossing: 0.0,
        }
    }

    /// Fills in the shares of the measured window.
    fn fill_shares(
        &self,
        outcome: &mut SimulationResult,
        from: Time,
        before: &Busy,
        end: &WindowEnd,
    ) {
        let (config, after) = (self.run.config, &end.busy);
        let window = end.at - from;
        outcome.window = window;
        outcome.core_utilization = if self.cores_poll() {
            1.0
        } else {
            share(before.cores, after.cores, window, config.core.count)
        };
        outcome.manager_utilization = share(before.manager, after.manager, window, 1);
        let engines = config.network.dma_engines;
        outcome.dma_utilization = share(before.dma, after.dma, window, engines);
        let links = Carried::shares(&before.links, &after.links, window);
        outcome.data.busiest_link = links.busiest;
        outcome.data.busiest_crossing = links.busiest_crossing;
        for accel in self.run.plan.image.accelerators() {
            let index = accel.index();
            let instances = config.accelerator.instances_of(accel);
            let elements = self.elements(accel);
            let (all, any) = before.accelerators[index];
            let (all_after, any_after) = after.accelerators[index];
            let dispatching = (before.dispatchers[index], after.dispatchers[index]);
            let weight = self.ensemble.weight_of(accel) as usize;
            let stats = &mut outcome.accelerators[index];
            stats.utilization = share(all, all_after, window, elements);
            stats.any_busy = share(any, any_after, window, weight);
            stats.dispatcher = share(dispatching.0, dispatching.1, window, instances);
        }
    }
}

/// The statistics of an accelerator type, without the shares of the measured window.
fn accel_stats(stations: &[Station<JobId>]) -> AccelStats {
    let operations: u64 = stations.iter().map(|station| station.operations).sum();
    let turned_away = turned_away(stations);
    let peak_input = stations.iter().map(|station| station.peak_input).max();
    AccelStats {
        utilization: 0.0,
        any_busy: 0.0,
        dispatcher: 0.0,
        operations,
        peak_input: peak_input.unwrap_or(0),
        denied: turned_away as f64 / (turned_away + operations).max(1) as f64,
    }
}

fn turned_away(stations: &[Station<JobId>]) -> u64 {
    stations.iter().map(|station| station.turned_away).sum()
}

/// The share of `window` in which `servers` were busy, between two readings of their busy time.
fn share(before: Time, after: Time, window: Time, servers: usize) -> f64 {
    if window > Time::ZERO && servers > 0 {
        // Whole picoseconds, so that a share of all is 1 and not a rounding error more.
        let whole = u128::from(window.as_ps()) * servers as u128;
        after.saturating_sub(before).as_ps() as f64 / whole as f64
    } else {
        0.0
    }
}
