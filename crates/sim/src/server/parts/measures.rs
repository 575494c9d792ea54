//! The statistics of a simulation, collected while it runs.

use accelflow_kernel::TimeAverage;
use accelflow_units::Time;

use super::requests::Requests;
use super::window::{Window, WindowEnd};
use crate::hardware::Placed;
use crate::server::run::Run;
use crate::server::state::{Job, Request};
use crate::stats::{Breakdown, Fallback, Operated, Orchestration, Sample, ServiceStats, Totals};

/// The statistics of a run.
pub(crate) struct Measures {
    measured: Measured,
    /// Number of requests without a response.
    population: TimeAverage,
    /// Every operation, if a log is requested.
    log: Option<Vec<Operated>>,
    /// By service, [`crate::Load::sample_every`].
    sample_every: Vec<u64>,
}

/// The statistics that an outcome needs.
#[derive(Default)]
pub(crate) struct Measured {
    /// The statistics of each service, indexed like the services of the plan.
    pub services: Vec<ServiceStats>,
    /// Sums over the whole run, for checks of conservation laws.
    pub totals: Totals,
    /// The time for which orchestration occupied hardware, over the whole run.
    pub orchestration: Orchestration,
    /// Number of operations that a page fault stopped, over the whole run.
    pub page_faults: u64,
    /// Number of simulated events, over the whole run.
    pub events: u64,
    /// The measured window; `None` before it has begun.
    pub window: Option<Window>,
}

impl Measured {
    /// Number of response times recorded.
    pub(crate) fn recorded(&self) -> u64 {
        let recorded = |stats: &ServiceStats| stats.latency.count() + stats.called.latency.count();
        self.services.iter().map(recorded).sum::<usize>() as u64
    }
}

impl Measures {
    /// The statistics of `run` before its start.
    pub(crate) fn new(run: &Run<'_>) -> Measures {
        let services = run.plan.services.len();
        let mut sample_every = vec![0; services];
        for load in run.loads {
            if let Some(every) = sample_every.get_mut(load.service) {
                *every = load.sample_every;
            }
        }
        let binned = run.loads.iter().any(|load| load.binned);
        Measures {
            measured: Measured {
                services: vec![ServiceStats::new(binned); services],
                ..Measured::default()
            },
            population: TimeAverage::new(Time::ZERO),
            log: None,
            sample_every,
        }
    }

    /// Keeps every operation from now on.
    pub(crate) fn keep_log(&mut self) {
        self.log = Some(Vec::new());
    }

    /// Takes the operations kept.
    pub(crate) fn take_log(&mut self) -> Vec<Operated> {
        self.log.take().unwrap_or_default()
    }

    /// Takes the statistics at the `end` of the run.
    pub(crate) fn take(&mut self, end: Time) -> Measured {
        let mut measured = std::mem::take(&mut self.measured);
        measured.totals.population_ps = self.population.integral_at(end);
        measured
    }

    /// Counts an event.
    pub(crate) fn count_event(&mut self) {
        self.measured.events += 1;
    }

    /// Number of events.
    pub(crate) fn events(&self) -> u64 {
        self.measured.events
    }

    /// Whether the measured window has begun.
    pub(crate) fn has_window(&self) -> bool {
        self.measured.window.is_some()
    }

    /// Begins the measured window.
    pub(crate) fn open_window(&mut self, window: Window) {
        self.measured.window = Some(window);
    }

    /// Whether the measured window has begun and not ended.
    pub(crate) fn in_window(&self) -> bool {
        let window = self.measured.window.as_ref();
        window.is_some_and(|window| window.end.is_none())
    }

    /// Ends the measured window.
    pub(crate) fn close_window(&mut self, end: WindowEnd) {
        if let Some(window) = &mut self.measured.window {
            window.end = Some(end);
        }
    }

    /// Counts an operation, and adds it to the log if there is one.
    #[inline]
    pub(crate) fn count_operation(
        &mut self,
        requests: &Requests<'_>,
        job: &Job,
        on_core: bool,
        at: Time,
    ) {
        let totals = &mut self.measured.totals;
        let counts = match on_core {
            true => &mut totals.on_cores,
            false => &mut totals.on_accelerators,
        };
        counts[job.accel.index()] += 1;
        if self.log.is_some() {
            self.log_operation(requests.get(job.request), job, on_core, at);
        }
    }

    #[inline(never)]
    fn log_operation(&mut self, request: &Request, job: &Job, on_core: bool, at: Time) {
        let Some(log) = &mut self.log else {
            return;
        };
        log.push(Operated {
            at,
            service: usize::from(request.service),
            request: request.number,
            phase: usize::from(request.phase),
            chain: usize::from(job.cursor.chain),
            trace: job.cursor.trace,
            accel: job.accel,
            sizes: [job.operation.input, job.operation.output],
            on_core,
        });
    }

    /// Counts an operation with a deadline.
    pub(crate) fn count_deadline(&mut self, request: &Request, missed: bool) {
        let stats = self.service_of(request);
        stats.deadlines += 1;
        stats.deadlines_missed += u64::from(missed);
    }

    /// Counts a queue entry that was not placed in order, of the service with the index `service`.
    pub(crate) fn count_placed(&mut self, service: u16, placed: Placed) {
        let stats = &mut self.measured.services[usize::from(service)];
        stats.exchanged += u64::from(placed == Placed::Exchanged);
        stats.expected_late += u64::from(placed == Placed::Late);
    }

    /// Counts an operation that a page fault has stopped.
    pub(crate) fn count_page_fault(&mut self) {
        self.measured.page_faults += 1;
    }

    /// Counts an exception that has stopped an element.
    pub(crate) fn count_exception(&mut self) {
        self.measured.totals.exceptions += 1;
    }

    /// Adds time that an element works.
    pub(crate) fn add_work(&mut self, time: Time) {
        self.measured.totals.element_work += time;
    }

    /// Adds time that an element has waited for an output entry.
    pub(crate) fn add_blocked(&mut self, time: Time) {
        self.measured.totals.element_blocked += time;
    }

    /// Adds time that an exception has stopped an element.
    pub(crate) fn add_stopped(&mut self, time: Time) {
        self.measured.totals.element_stopped += time;
    }

    /// Adds core time of orchestration.
    pub(crate) fn charge_cores(&mut self, time: Time) {
        self.measured.orchestration.cores += time;
    }

    /// Adds time of the manager.
    pub(crate) fn charge_manager(&mut self, time: Time) {
        self.measured.orchestration.manager += time;
    }

    /// Number of requests that have arrived at the service with the index `service`.
    pub(crate) fn arrived_at(&self, service: u16) -> u64 {
        self.measured.services[usize::from(service)].arrived
    }

    /// Counts a request that has arrived.
    pub(crate) fn count_arrival(&mut self, request: &Request, now: Time) {
        let stats = self.service_of(request);
        if request.caller.is_some() {
            stats.called.arrived += 1;
            stats.called.counted += u64::from(request.measured);
            return;
        }
        stats.arrived += 1;
        if request.measured {
            let (first, _) = stats.measured.unwrap_or((now, now));
            stats.measured = Some((first, now));
            stats.counted += 1;
        }
    }

    /// Counts a request into the system.
    pub(crate) fn enter(&mut self, now: Time) {
        self.population.increase(now);
    }

    /// Counts a fallback of a request's trace to a core.
    pub(crate) fn count_fallback(&mut self, request: &Request, reason: Fallback) {
        let fallbacks = &mut self.service_of(request).fallbacks;
        *fallbacks.entry(reason).or_default() += 1;
    }

    /// Counts a response. `spent` is the breakdown of its time; `arrives`: whether counted requests
    /// are still to arrive at the service.
    pub(crate) fn count_response(
        &mut self,
        request: &Request,
        spent: &Breakdown,
        arrives: bool,
        now: Time,
    ) {
        let latency = self.leave(request, now);
        self.measured.totals.spent_ps += u128::from(spent.total().as_ps());
        let with_slo = request.measured && request.due < Time::MAX;
        let sample_every = self.sample_every[usize::from(request.service)];
        let stats = self.service_of(request);
        if request.caller.is_some() {
            let called = &mut stats.called;
            if request.measured {
                called.spent += *spent;
                called.latency.record(latency);
            }
            called.completed += 1;
            called.with_slo += u64::from(with_slo);
            called.slo_missed += u64::from(with_slo && now > request.due);
            return;
        }
        if request.measured {
            stats.spent += *spent;
            stats.latency.record(latency);
            if sample_every > 0 && request.number.is_multiple_of(sample_every) {
                stats.samples.push(Sample {
                    request: request.number,
                    arrived: request.arrived,
                    response: latency,
                    spent: *spent,
                });
            }
        }
        stats.completed += 1;
        stats.with_slo += u64::from(with_slo);
        stats.slo_missed += u64::from(with_slo && now > request.due);
        stats.completed_in_window += u64::from(arrives && stats.measured.is_some());
    }

    /// Counts a request that ends without a response. It has no response time either.
    pub(crate) fn count_timeout(&mut self, request: &Request, now: Time) {
        self.leave(request, now);
        let with_slo = request.measured && request.due < Time::MAX;
        let stats = self.service_of(request);
        let (timed_out, slo, missed) = match request.caller {
            None => (
                &mut stats.timed_out,
                &mut stats.with_slo,
                &mut stats.slo_missed,
            ),
            Some(_) => {
                let called = &mut stats.called;
                (
                    &mut called.timed_out,
                    &mut called.with_slo,
                    &mut called.slo_missed,
                )
            }
        };
        *timed_out += 1;
        *slo += u64::from(with_slo);
        *missed += u64::from(with_slo);
    }

    /// Counts a request that is answered with an error.
    pub(crate) fn count_error(&mut self, request: &Request) {
        let stats = self.service_of(request);
        match request.caller {
            None => stats.errors += 1,
            Some(_) => stats.called.errors += 1,
        }
    }

    /// Counts a request to another service.
    pub(crate) fn count_call(&mut self, request: &Request) {
        self.service_of(request).calls.sent += 1;
    }

    /// Counts a response of another service.
    pub(crate) fn count_answer(&mut self, request: &Request) {
        self.service_of(request).calls.answered += 1;
    }

    /// Counts a request to another service whose response did not come in time.
    pub(crate) fn count_call_timeout(&mut self, request: &Request) {
        self.service_of(request).calls.timed_out += 1;
    }

    /// Counts an attempt of a chain that has failed, and after which the chain starts `again` or
    /// not.
    pub(crate) fn count_failure(&mut self, request: &Request, again: bool) {
        let stats = self.service_of(request);
        match again {
            true => stats.retries += 1,
            false => stats.gave_up += 1,
        }
    }

    /// The statistics of the request's service.
    fn service_of(&mut self, request: &Request) -> &mut ServiceStats {
        &mut self.measured.services[usize::from(request.service)]
    }

    /// Counts a request out of the system. Returns how long it was in it.
    fn leave(&mut self, request: &Request, now: Time) -> Time {
        let latency = now - request.arrived;
        self.population.decrease(now);
        self.measured.totals.latency_ps += u128::from(latency.as_ps());
        latency
    }
}
