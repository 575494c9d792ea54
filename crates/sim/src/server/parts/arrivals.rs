//! The requests that are still to arrive.

use accelflow_kernel::Stream;
use accelflow_units::Time;
use accelflow_workload::arrivals::{ArrivalProcess, Arrivals as ArrivalTimes};

use crate::server::error::SimError;
use crate::server::run::{Load, Run};

/// The arrivals of all loads.
pub(crate) struct Arrivals {
    sources: Vec<Source>,
}

/// The arrivals of one load.
struct Source {
    service: u16,
    times: ArrivalTimes,
    /// Number of counted requests; fewer than the load's if the arrivals end before. Requests
    /// beyond it keep up the load until every source has had its counted ones.
    total: u64,
    scheduled: u64,
    warmup: u64,
    arrived: u64,
    tenant: u16,
    priority: u8,
    slo: Option<Time>,
}

/// A request that arrives.
pub(crate) struct Arrival {
    /// Index of the service.
    pub service: u16,
    /// It counts and comes after the warm-up.
    pub measured: bool,
    /// Number of the tenant.
    pub tenant: u16,
    pub priority: u8,
    /// When its response is due; [`Time::MAX`] without an SLO.
    pub due: Time,
}

impl Source {
    fn new(run: &Run<'_>, load: &Load) -> Result<Source, SimError> {
        let Some(service) = run.plan.services.get(load.service) else {
            return Err(SimError::UnknownService(load.service));
        };
        let requests = match &load.arrivals {
            ArrivalProcess::Trace(times) => load.requests.min(times.len() as u64),
            _ => load.requests,
        };
        if load.warmup >= requests {
            return Err(SimError::NoRequests {
                service: service.name.clone(),
                requests,
                warmup: load.warmup,
            });
        }
        let stream = Stream::new(run.seed, load.service as u64);
        Ok(Source {
            service: load.service as u16,
            times: ArrivalTimes::new(load.arrivals.clone(), stream)?,
            total: requests,
            scheduled: 0,
            warmup: load.warmup,
            arrived: 0,
            tenant: load.tenant,
            priority: load.priority,
            slo: load.slo,
        })
    }
}

impl Arrivals {
    /// The arrivals of the loads of `run`.
    pub(crate) fn new(run: &Run<'_>) -> Result<Arrivals, SimError> {
        let sources = run.loads.iter().map(|load| Source::new(run, load));
        Ok(Arrivals {
            sources: sources.collect::<Result<_, SimError>>()?,
        })
    }

    /// Number of loads.
    pub(crate) fn loads(&self) -> usize {
        self.sources.len()
    }

    /// When the next request of a load arrives; `None` if there is none.
    pub(crate) fn next(&mut self, load: usize) -> Option<Time> {
        if self.have_ended() {
            return None;
        }
        let source = &mut self.sources[load];
        let at = source.times.next();
        match at {
            Some(_) => source.scheduled += 1,
            None => source.total = source.total.min(source.scheduled),
        }
        at
    }

    /// Counts a request of a load that arrives `now`.
    pub(crate) fn arrive(&mut self, load: usize, now: Time) -> Arrival {
        let source = &mut self.sources[load];
        let measured = (source.warmup..source.total).contains(&source.arrived);
        source.arrived += 1;
        Arrival {
            service: source.service,
            measured,
            tenant: source.tenant,
            priority: source.priority,
            due: source.slo.map_or(Time::MAX, |slo| now + slo),
        }
    }

    /// Whether all counted requests have arrived.
    pub(crate) fn have_ended(&self) -> bool {
        let mut sources = self.sources.iter();
        sources.all(|source| source.arrived >= source.total)
    }

    /// Whether every load is past its warm-up.
    pub(crate) fn are_warm(&self) -> bool {
        let mut sources = self.sources.iter();
        sources.all(|source| source.arrived > source.warmup)
    }

    /// Number of counted requests that have arrived.
    pub(crate) fn counted(&self) -> u64 {
        let sources = self.sources.iter();
        sources.map(|source| source.arrived.min(source.total)).sum()
    }

    /// Whether counted requests are still to arrive at `service`.
    pub(crate) fn continue_at(&self, service: u16) -> bool {
        let mut sources = self.sources.iter();
        sources.any(|source| source.service == service && source.arrived < source.total)
    }
}
