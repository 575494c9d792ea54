//! Requests enter the server.

use accelflow_kernel::Stream;
use accelflow_trace::Accel;
use accelflow_units::Time;
use accelflow_workload::arrivals::{ArrivalProcess, Arrivals};

use super::engine::{Engine, HOME_CORE, HOME_TCP, Window};
use super::state::{CoreId, Event, Request};
use super::{Load, Run, SimError};
use crate::stats::Breakdown;

/// The arrivals of one load.
pub(super) struct Source {
    pub service: u16,
    arrivals: Arrivals,
    /// Requests that count, fewer if the arrivals end before. Others keep up the load until
    /// every source has had those that count.
    total: u64,
    scheduled: u64,
    warmup: u64,
    next: u64,
    tenant: u16,
    priority: u8,
    slo: Option<Time>,
}

impl Source {
    pub(super) fn new(run: &Run<'_>, load: &Load) -> Result<Source, SimError> {
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
            arrivals: Arrivals::new(load.arrivals.clone(), stream)?,
            total: requests,
            scheduled: 0,
            warmup: load.warmup,
            next: 0,
            tenant: load.tenant,
            priority: load.priority,
            slo: load.slo,
        })
    }
}

impl Engine<'_> {
    pub(super) fn schedule_arrival(&mut self, load: usize) {
        if self.all_arrived() {
            return;
        }
        let source = &mut self.sources[load];
        match source.arrivals.next() {
            Some(at) => {
                source.scheduled += 1;
                self.schedule(at, Event::Arrive(load as u16));
            }
            None => source.total = source.total.min(source.scheduled),
        }
    }

    fn all_arrived(&self) -> bool {
        self.sources
            .iter()
            .all(|source| source.next >= source.total)
    }

    /// The requests that count and have arrived.
    pub(super) fn counted(&self) -> u64 {
        let sources = self.sources.iter();
        sources.map(|source| source.next.min(source.total)).sum()
    }

    /// Whether requests that count are still to arrive at `service`.
    pub(super) fn arrives(&self, service: u16) -> bool {
        let mut sources = self
            .sources
            .iter()
            .filter(|source| source.service == service);
        sources.any(|source| source.next < source.total)
    }

    pub(super) fn arrive(&mut self, load: usize, now: Time) -> Result<(), SimError> {
        let source = &mut self.sources[load];
        let service = source.service;
        let measured = (source.warmup..source.total).contains(&source.next);
        source.next += 1;
        let (tenant, priority) = (source.tenant, source.priority);
        let due = source.slo.map_or(Time::MAX, |slo| now + slo);
        self.schedule_arrival(load);
        // Numbers are the service's, so that two loads on it have different requests.
        let number = self.services[usize::from(service)].arrived;
        let mut request = Request {
            service,
            number,
            arrived: now,
            phase: 0,
            outstanding: 0,
            core: 0,
            measured,
            responded: false,
            balanced: false,
            terminated: false,
            tenant: self.tenant_index(tenant),
            priority,
            due,
            tcp: 0,
            spent: Breakdown::default(),
            since: now,
            cpu: Time::ZERO,
            overhead: Time::ZERO,
        };
        let cores = self.run.config.core.count as u64;
        request.core = (self.attribute(&request, HOME_CORE) % cores) as CoreId;
        let instances = self.run.config.accelerator.instances_of(Accel::Tcp) as u64;
        if instances > 1 {
            request.tcp = (self.attribute(&request, HOME_TCP) % instances) as u8;
        }
        let stats = &mut self.services[usize::from(service)];
        stats.arrived += 1;
        if request.measured {
            let (first, _) = stats.measured.unwrap_or((now, now));
            stats.measured = Some((first, now));
            self.open_window(now);
        }
        self.population.increase(now);
        let id = self.requests.insert(request);
        self.start_phase(id, now)?;
        if self.all_arrived() {
            self.close_window(now);
        }
        Ok(())
    }

    fn open_window(&mut self, now: Time) {
        let warm = self
            .sources
            .iter()
            .all(|source| source.next > source.warmup);
        if self.window.is_none() && warm {
            self.window = Some(Window {
                from: now,
                before: self.busy(now),
                closed: None,
            });
        }
    }
}
