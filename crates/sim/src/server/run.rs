//! The inputs of a simulation: a server, a plan, an orchestrator and loads.

use std::sync::atomic::{AtomicBool, AtomicU64};

use accelflow_shaping::{FlowConfig, Registers};
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;

use crate::config::Config;
use crate::orchestrators::Orchestrator;
use crate::plan::Plan;

/// The limits on a tenant's traffic. By default there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// ARCUS's traffic shaper, which limits the tenant's traces, their bytes or both; `None` for no
    /// limit.
    pub flow: Option<FlowConfig>,
    /// A limit on accelerator time: a token bucket whose tokens are nanoseconds that the operations of
    /// the tenant's traces take on idle processing elements; `None` for no limit. A trace starts once
    /// the bucket has tokens for its predicted time, that of earlier traces with inputs of its
    /// size. When it ends, it pays the time beyond the prediction or gets unused tokens back. So
    /// one limit holds for traces of any size.
    pub time: Option<Registers>,
}

/// The requests that a simulation sends to one service.
#[derive(Clone, Debug)]
pub struct Load {
    /// Index of the service in the plan.
    pub service: usize,
    /// The arrival process of the requests.
    pub arrivals: ArrivalProcess,
    /// Number of requests, including the warm-up.
    pub requests: u64,
    /// Number of first requests that the statistics leave out.
    pub warmup: u64,
    /// The number of the tenant that sends the requests. The limit on running traces counts by
    /// tenant, and processing elements wipe their state between tenants (AccelFlow, section IV.D).
    pub tenant: u16,
    /// The priority of the requests in queues that are ordered by priority; higher goes first.
    pub priority: u8,
    /// The SLO: the longest acceptable response time (AccelFlow, section IV.C). Deadlines are
    /// derived from it, and violations are counted; `None` for no SLO.
    pub slo: Option<Time>,
    /// The limits that all traces of the tenant pass before they start. All loads of a tenant must
    /// have the same limits.
    pub shaping: Limits,
    /// The sampling interval: requests after the warm-up are sampled if their numbers are multiples
    /// of it; none if it is 0. If a service has several loads, the value of the last one applies.
    pub sample_every: u64,
    /// Whether response times are counted in the bins of a histogram, so that memory does not grow
    /// with their number ([`accelflow_kernel::Samples::binned`]). One such load applies it to all
    /// services of the server.
    pub binned: bool,
}

impl Load {
    /// Creates a load of `requests` requests to the service with index `service`. Statistics leave
    /// out the first `warmup` requests. The tenant is 0, the priority is the lowest, and there is
    /// no SLO and no traffic shaper.
    pub fn new(service: usize, arrivals: ArrivalProcess, requests: u64, warmup: u64) -> Load {
        Load {
            service,
            arrivals,
            requests,
            warmup,
            tenant: 0,
            priority: 0,
            slo: None,
            shaping: Limits::default(),
            sample_every: 0,
            binned: false,
        }
    }

    /// Creates the load of a service that only other services call, without arrivals of its own.
    /// Requests from other services have the tenant, priority, SLO and limits of this load.
    pub fn called(service: usize) -> Load {
        Load::new(service, ArrivalProcess::Trace(Vec::new()), 0, 0)
    }

    /// Whether this is a [`Load::called`], without arrivals of its own.
    pub fn is_called(&self) -> bool {
        let none = matches!(&self.arrivals, ArrivalProcess::Trace(times) if times.is_empty());
        none && (self.requests, self.warmup) == (0, 0)
    }

    /// Sets the number of the tenant that sends the requests.
    pub fn of_tenant(self, tenant: u16) -> Load {
        Load { tenant, ..self }
    }

    /// Sets the priority of the requests; higher goes first.
    pub fn at_priority(self, priority: u8) -> Load {
        Load { priority, ..self }
    }

    /// Adds a traffic shaper for the tenant (ARCUS, section 4.2). Traces of the tenant, started by
    /// a core or by a message, wait in order until the shaper has tokens for their input, and start
    /// one shaping latency later. If a token is an operation, it admits one trace. If it is a byte,
    /// it admits one byte of the first operation's input; a trace takes at least one.
    pub fn shaped(mut self, flow: FlowConfig) -> Load {
        self.shaping.flow = Some(flow);
        self
    }

    /// Limits the tenant's use of accelerator time ([`Limits::time`]).
    pub fn shaped_in_time(mut self, registers: Registers) -> Load {
        self.shaping.time = Some(registers);
        self
    }

    /// Samples the times of single requests ([`crate::stats::ServiceStats::samples`]): evenly
    /// spaced, and at most `most` of those after the warm-up.
    pub fn sampling(self, most: u64) -> Load {
        let counted = self.requests.saturating_sub(self.warmup);
        let sample_every = counted.div_ceil(most.max(1)).max(1);
        Load {
            sample_every: if most > 0 { sample_every } else { 0 },
            ..self
        }
    }

    /// Sets the SLO: the longest acceptable response time.
    pub fn within(self, slo: Time) -> Load {
        Load {
            slo: Some(slo),
            ..self
        }
    }
}

/// One simulation: the requests to send, the services, the hardware and the orchestrator.
#[derive(Clone)]
pub struct Run<'r> {
    /// The parameters of the simulated server.
    pub config: &'r Config,
    /// The services to simulate.
    pub plan: &'r Plan,
    /// The orchestrator (system) to simulate.
    pub orchestrator: &'r dyn Orchestrator,
    /// The requests that are sent. Services with a load, and services that they call, are on the
    /// servers that the plan assigns.
    pub loads: &'r [Load],
    /// The random seed of arrivals, payload sizes and choices of cores. Requests are the same for
    /// every orchestrator.
    pub seed: u64,
}

impl<'r> Run<'r> {
    /// Returns the run with other server parameters and these loads.
    pub(super) fn on(&self, config: &'r Config, loads: &'r [Load]) -> Run<'r> {
        Run {
            config,
            loads,
            ..self.clone()
        }
    }
}

/// Observes and stops a simulation from another thread while it runs.
#[derive(Debug, Default)]
pub struct Watch {
    /// Set this to `true` to end the simulation early.
    pub stop: AtomicBool,
    /// Number of requests that statistics count and that have ended. Updated every few
    /// milliseconds.
    pub ended: AtomicU64,
    /// The largest number of intervals of the utilization over time
    /// ([`crate::stats::SimulationResult::used`]). Below 2, it is not recorded.
    pub use_intervals: usize,
}
