//! The requests that are still to arrive.

use accelflow_kernel::Stream;
use accelflow_units::Time;
use accelflow_workload::arrivals::{ArrivalProcess, Arrivals as ArrivalTimes};

use crate::server::error::SimError;
use crate::server::run::{Load, Run};
use crate::server::state::Invocation;

/// The arrivals of all loads.
pub(crate) struct Arrivals {
    sources: Vec<Source>,
    /// By service, the class of requests that other services send to it: that of its first load.
    classes: Vec<Option<Class>>,
    /// Whether the loads of all other servers are past their warm-ups.
    others_warm: bool,
    /// Whether all counted requests of the other servers have arrived.
    others_ended: bool,
}

/// The properties that all requests of a load share.
#[derive(Clone, Copy, Debug)]
struct Class {
    tenant: u16,
    priority: u8,
    slo: Option<Time>,
}

impl Class {
    fn of(load: &Load) -> Class {
        Class {
            tenant: load.tenant,
            priority: load.priority,
            slo: load.slo,
        }
    }

    /// A request of `service` that arrives `now`.
    fn arrival(self, service: u16, measured: bool, now: Time) -> Arrival {
        Arrival {
            service,
            measured,
            tenant: self.tenant,
            priority: self.priority,
            due: self.slo.map_or(Time::MAX, |slo| now + slo),
        }
    }
}

/// The arrivals of one load.
struct Source {
    service: u16,
    times: ArrivalTimes,
    /// Number of counted requests; fewer than the load's if the arrivals end before. Further
    /// requests keep up the load until every source has had its counted requests.
    total: u64,
    scheduled: u64,
    warmup: u64,
    arrived: u64,
    class: Class,
}

/// A request that arrives.
pub(crate) struct Arrival {
    /// Index of the service that receives the request.
    pub service: u16,
    /// Whether statistics include the request: true if it, or the client's request that caused it,
    /// arrives after the warm-up and is among the counted requests of its load
    /// ([`Load::requests`]).
    pub measured: bool,
    /// ID of the tenant that sends the request.
    pub tenant: u16,
    /// Priority of the request in queues that are ordered by priority; a higher value goes first.
    pub priority: u8,
    /// The time when the response is due; [`Time::MAX`] without an SLO.
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
            class: Class::of(load),
        })
    }
}

impl Arrivals {
    /// The arrivals of the loads of `run`.
    pub(crate) fn new(run: &Run<'_>) -> Result<Arrivals, SimError> {
        let mut classes = vec![None; run.plan.services.len()];
        for load in run.loads.iter().rev() {
            let class = classes.get_mut(load.service);
            *class.ok_or(SimError::UnknownService(load.service))? = Some(Class::of(load));
        }
        let loads = run.loads.iter().filter(|load| !load.is_called());
        let sources = loads.map(|load| Source::new(run, load));
        Ok(Arrivals {
            sources: sources.collect::<Result<_, SimError>>()?,
            classes,
            others_warm: true,
            others_ended: true,
        })
    }

    /// Number of loads with arrivals.
    pub(crate) fn loads(&self) -> usize {
        self.sources.len()
    }

    /// Returns the arrival time of a load's next request; `None` if there are no more.
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
        source.class.arrival(source.service, measured, now)
    }

    /// A request of another service, which arrives `now`.
    pub(crate) fn called(&self, invocation: &Invocation, now: Time) -> Arrival {
        let Invocation {
            service, measured, ..
        } = *invocation;
        let class = self.classes[usize::from(service)].unwrap_or(Class {
            tenant: 0,
            priority: 0,
            slo: None,
        });
        class.arrival(service, measured, now)
    }

    /// Whether all counted requests have arrived, at this server and at others.
    pub(crate) fn have_ended(&self) -> bool {
        self.others_ended && self.own_ended()
    }

    /// Whether every load is past its warm-up, at this server and at others.
    pub(crate) fn are_warm(&self) -> bool {
        self.others_warm && self.own_warm()
    }

    /// Notes whether the loads of all other servers are past their warm-ups, and have ended.
    pub(crate) fn set_others(&mut self, warm: bool, ended: bool) {
        (self.others_warm, self.others_ended) = (warm, ended);
    }

    /// Whether all counted requests have arrived at this server.
    pub(crate) fn own_ended(&self) -> bool {
        let mut sources = self.sources.iter();
        sources.all(|source| source.arrived >= source.total)
    }

    /// Whether every load of this server is past its warm-up.
    pub(crate) fn own_warm(&self) -> bool {
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
