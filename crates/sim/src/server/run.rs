//! The inputs of a simulation: server parameters, a plan, an orchestrator and loads.

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
    /// ARCUS's traffic shaper, which limits the rate of the tenant's traces, of their input bytes,
    /// or of both; `None` for no limit.
    pub flow: Option<FlowConfig>,
    /// A limit on accelerator time, as a token bucket; `None` for no limit. One token pays for one
    /// nanosecond of an operation on an idle processing element. A trace starts once it has paid
    /// for its predicted time, learned from earlier traces with inputs of similar size; it pays
    /// tokens as they come. When the trace ends, it pays for time beyond the prediction or returns
    /// unused tokens.
    pub time: Option<Registers>,
}

/// The requests that clients send to one service in a simulation, with their tenant, priority, SLO
/// (longest acceptable response time) and limits.
#[derive(Clone, Debug)]
pub struct Load {
    /// Index of the service in the plan.
    pub service: usize,
    /// The arrival process, which determines when the requests arrive.
    pub arrivals: ArrivalProcess,
    /// Number of requests of the load: the warm-up and the requests that statistics cover. When all
    /// of them have arrived, the arrival process continues, so that the load stays the same until
    /// the requests of all other loads have arrived. Only statistics that are stated to cover the
    /// whole run include these additional requests. If the process is a list of times
    /// ([`ArrivalProcess::Trace`]), it ends after the last time; a shorter list than `requests`
    /// limits the number of requests.
    pub requests: u64,
    /// Number of requests at the beginning that form the warm-up; less than `requests`. Only
    /// statistics that are stated to cover the whole run include these requests.
    pub warmup: u64,
    /// The ID of the tenant that sends the requests. Tenants have separate limits on running
    /// traces, and processing elements wipe their state between tenants (AccelFlow, section IV.D).
    pub tenant: u16,
    /// The priority of the requests in queues that are ordered by priority. Requests with a higher
    /// value go first.
    pub priority: u8,
    /// The SLO, the longest acceptable response time (AccelFlow, section IV.C); `None` for no SLO.
    /// Deadlines of operations are derived from the SLO if the policy of the input queues uses
    /// deadlines, and violations are counted.
    pub slo: Option<Time>,
    /// The limits on the traffic of the tenant, which may delay the start of its traces. All loads
    /// of a tenant must have the same limits.
    pub shaping: Limits,
    /// The sampling interval, as a number of requests; 0 for no samples. A request after the
    /// warm-up is sampled if its sequence number is a multiple of the interval. If several loads in
    /// [`Run::loads`] are for the same service, the interval of the last of these loads applies.
    pub sample_every: u64,
    /// Whether response times are counted in the bins of a histogram, so that memory does not grow
    /// with the number of requests ([`accelflow_kernel::Samples::binned`]). If one load of a server
    /// has `true`, this applies to all services of the server.
    pub binned: bool,
}

impl Load {
    /// Creates a load of `requests` requests to the service with index `service`. The first
    /// `warmup` requests are the warm-up ([`Load::warmup`]). The tenant is 0 and the priority 0,
    /// the lowest. The load has no SLO, no traffic shaper and no samples.
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

    /// Creates the load of a service that only other services call: clients send no requests.
    /// Requests from other services have the tenant, priority, SLO and limits of this load.
    pub fn called(service: usize) -> Load {
        Load::new(service, ArrivalProcess::Trace(Vec::new()), 0, 0)
    }

    /// Returns whether clients send no requests, as in a load from [`Load::called`].
    pub fn is_called(&self) -> bool {
        let none = matches!(&self.arrivals, ArrivalProcess::Trace(times) if times.is_empty());
        none && (self.requests, self.warmup) == (0, 0)
    }

    /// Returns the load with `tenant` as the ID of the tenant that sends the requests.
    pub fn of_tenant(self, tenant: u16) -> Load {
        Load { tenant, ..self }
    }

    /// Returns the load with `priority` as the priority of its requests ([`Load::priority`]).
    pub fn at_priority(self, priority: u8) -> Load {
        Load { priority, ..self }
    }

    /// Returns the load with a traffic shaper (token bucket) for the tenant (ARCUS, section 4.2). A
    /// trace (sequence of operations) of the tenant waits until the shaper has tokens for the
    /// trace, and starts after the shaper's latency. If tokens stand for operations, a trace takes
    /// one token, or one for each segment of a message that the shaper splits. If tokens stand for
    /// bytes, a trace takes one token for each byte of its first operation's input, and at least
    /// one.
    pub fn shaped(mut self, flow: FlowConfig) -> Load {
        self.shaping.flow = Some(flow);
        self
    }

    /// Returns the load with the token bucket `registers` as the limit on the tenant's accelerator
    /// time ([`Limits::time`]).
    pub fn shaped_in_time(mut self, registers: Registers) -> Load {
        self.shaping.time = Some(registers);
        self
    }

    /// Returns the load with samples of the times of single requests
    /// ([`crate::stats::ServiceStats::samples`]). The samples are evenly spaced among the requests
    /// after the warm-up, and at most `most`; none if `most` is 0.
    pub fn sampling(self, most: u64) -> Load {
        let counted = self.requests.saturating_sub(self.warmup);
        let sample_every = counted.div_ceil(most.max(1)).max(1);
        Load {
            sample_every: if most > 0 { sample_every } else { 0 },
            ..self
        }
    }

    /// Returns the load with `slo` as its SLO: the longest acceptable response time.
    pub fn within(self, slo: Time) -> Load {
        Load {
            slo: Some(slo),
            ..self
        }
    }
}

/// The inputs of one simulation: the requests to send, the services, the hardware and the
/// orchestrator.
#[derive(Clone)]
pub struct Run<'r> {
    /// The parameters of the simulated server.
    pub config: &'r Config,
    /// The services that may be simulated, with their paths and costs; `loads` chooses among them.
    pub plan: &'r Plan,
    /// The orchestrator to simulate: the rule for which hardware starts the next operation of a
    /// trace.
    pub orchestrator: &'r dyn Orchestrator,
    /// The requests to send. Only services with a load, and the services that they call, are
    /// simulated, on the servers that the plan assigns.
    pub loads: &'r [Load],
    /// The random seed, from which arrivals, payload sizes, choices of cores and other random
    /// values follow. The requests are the same for every orchestrator.
    pub seed: u64,
}

impl<'r> Run<'r> {
    /// The run with other server parameters and other loads.
    pub(super) fn on(&self, config: &'r Config, loads: &'r [Load]) -> Run<'r> {
        Run {
            config,
            loads,
            ..self.clone()
        }
    }
}

/// The connection to a running simulation, by which another thread sees its progress and can stop
/// it.
#[derive(Debug, Default)]
pub struct Watch {
    /// Whether the simulation must end early. Another thread sets this to `true`.
    pub stop: AtomicBool,
    /// Approximate number of requests that have ended, including the warm-up. The simulation
    /// updates this number after every 2,048 events, usually within a few milliseconds of real
    /// time.
    pub ended: AtomicU64,
    /// The largest number of time intervals for which utilization is recorded
    /// ([`crate::stats::SimulationResult::used`]), rounded down to an even number. Below 2, none is
    /// recorded.
    pub use_intervals: usize,
}
