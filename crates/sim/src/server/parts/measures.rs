//! What a run measures.

use accelflow_kernel::TimeAverage;
use accelflow_units::Time;

use super::window::Window;
use crate::plan::Plan;
use crate::server::state::{Job, Request};
use crate::stats::{Breakdown, Fallback, Operated, Orchestration, ServiceStats, Totals};

/// The statistics of a run.
pub(crate) struct Measures {
    /// By service.
    pub services: Vec<ServiceStats>,
    pub totals: Totals,
    pub orchestration: Orchestration,
    /// Number of operations that a page fault has stopped.
    pub page_faults: u64,
    /// Number of events simulated.
    pub events: u64,
    /// The measured window, once it has begun.
    pub window: Option<Window>,
    /// Number of requests without a response.
    population: TimeAverage,
    /// Every operation, if a log is asked for.
    log: Option<Vec<Operated>>,
}

impl Measures {
    /// The statistics of a run of `plan` before its start.
    pub(crate) fn new(plan: &Plan) -> Measures {
        Measures {
            services: vec![ServiceStats::default(); plan.services.len()],
            totals: Totals::default(),
            orchestration: Orchestration::default(),
            page_faults: 0,
            events: 0,
            window: None,
            population: TimeAverage::new(Time::ZERO),
            log: None,
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

    /// Adds an operation to the log, if there is one.
    pub(crate) fn log(&mut self, request: &Request, job: &Job, on_core: bool, at: Time) {
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

    /// The statistics of the request's service.
    pub(crate) fn service_of(&mut self, request: &Request) -> &mut ServiceStats {
        &mut self.services[usize::from(request.service)]
    }

    /// Counts a request that has arrived.
    pub(crate) fn count_arrival(&mut self, request: &Request, now: Time) {
        let stats = self.service_of(request);
        stats.arrived += 1;
        if request.measured {
            let (first, _) = stats.measured.unwrap_or((now, now));
            stats.measured = Some((first, now));
        }
    }

    /// A request is in the system from now on.
    pub(crate) fn enter(&mut self, now: Time) {
        self.population.increase(now);
    }

    /// Counts a fallback of a request's trace to a core.
    pub(crate) fn count_fallback(&mut self, request: &Request, reason: Fallback) {
        let fallbacks = &mut self.service_of(request).fallbacks;
        *fallbacks.entry(reason).or_default() += 1;
    }

    /// Counts a response, whose request has spent its time as `spent` says. `arrives` says whether
    /// counted requests are still to arrive at the service.
    pub(crate) fn count_response(
        &mut self,
        request: &Request,
        spent: &Breakdown,
        arrives: bool,
        now: Time,
    ) {
        let latency = self.leave(request, now);
        self.totals.spent_ps += u128::from(spent.total().as_ps());
        let with_slo = request.measured && request.due < Time::MAX;
        let stats = self.service_of(request);
        if request.measured {
            stats.spent += *spent;
            stats.latency.record(latency);
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
        stats.timed_out += 1;
        stats.with_slo += u64::from(with_slo);
        stats.slo_missed += u64::from(with_slo);
    }

    /// A request is in the system no longer: how long it was.
    fn leave(&mut self, request: &Request, now: Time) -> Time {
        let latency = now - request.arrived;
        self.population.decrease(now);
        self.totals.latency_ps += u128::from(latency.as_ps());
        latency
    }

    /// The integral of the number of requests in the system, in picoseconds.
    pub(crate) fn population_at(&self, now: Time) -> u128 {
        self.population.integral_at(now)
    }

    /// Number of response times recorded.
    pub(crate) fn recorded(&self) -> u64 {
        let services = self.services.iter();
        services.map(|stats| stats.latency.count() as u64).sum()
    }
}
