//! The simulated server: requests, jobs and the events that move them.

mod arrivals;
mod buffers;
mod central;
mod cores;
mod curve;
mod data;
mod deadlines;
mod decide;
mod dispatchers;
mod elements;
mod engine;
mod exceptions;
mod flow;
mod joins;
mod path;
mod read;
mod report;
mod reuse;
mod saturation;
mod shaping;
mod soft_queues;
mod state;
mod tenants;
mod timeouts;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use accelflow_shaping::{FlowConfig, ShapingError};
use accelflow_trace::Fault;
use accelflow_units::Time;
use accelflow_workload::arrivals::{ArrivalProcess, ArrivalsError};

use crate::config::{Config, ConfigError};
use crate::orchestrators::Orchestrator;
use crate::plan::Plan;
use crate::stats::{Operated, Outcome};
use engine::Engine;

/// The load on one service.
#[derive(Clone, Debug)]
pub struct Load {
    /// Index of the service in the plan.
    pub service: usize,
    /// When its requests arrive.
    pub arrivals: ArrivalProcess,
    /// Requests in all.
    pub requests: u64,
    /// How many of the first ones are left out of the statistics.
    pub warmup: u64,
    /// Whose requests they are: what the limit on running traces counts by, and what elements
    /// wipe their state between (AccelFlow, section IV.D).
    pub tenant: u16,
    /// The level that queues in order of priority serve them at; higher goes first.
    pub priority: u8,
    /// Within what time a request is to have its response (AccelFlow, section IV.C): what its
    /// deadlines are set from, and what violations are counted against.
    pub slo: Option<Time>,
    /// The traffic shaper that all traces of the tenant start through; `None` for none. The same
    /// in all loads of a tenant.
    pub shaping: Option<FlowConfig>,
}

impl Load {
    /// `requests` requests to the service number `service`, the first `warmup` of them outside
    /// the statistics: of tenant 0, at the lowest priority, without an SLO, not shaped.
    pub fn new(service: usize, arrivals: ArrivalProcess, requests: u64, warmup: u64) -> Load {
        Load {
            service,
            arrivals,
            requests,
            warmup,
            tenant: 0,
            priority: 0,
            slo: None,
            shaping: None,
        }
    }

    /// The same of the tenant `tenant`.
    pub fn of_tenant(self, tenant: u16) -> Load {
        Load { tenant, ..self }
    }

    /// The same at the level `priority`.
    pub fn at_priority(self, priority: u8) -> Load {
        Load { priority, ..self }
    }

    /// The same behind a traffic shaper (ARCUS, section 4.2): a trace of the tenant that a core
    /// enqueues or a message starts waits, after all that asked before, until the tokens for its
    /// input are there, and starts the shaping latency later. An operation is a trace; bytes are
    /// those that its first operation reads, one at least.
    pub fn shaped(self, flow: FlowConfig) -> Load {
        Load {
            shaping: Some(flow),
            ..self
        }
    }

    /// The same with responses due within `slo`.
    pub fn within(self, slo: Time) -> Load {
        Load {
            slo: Some(slo),
            ..self
        }
    }
}

/// One simulation.
#[derive(Clone)]
pub struct Run<'r> {
    /// The server's parameters.
    pub config: &'r Config,
    /// What is executed.
    pub plan: &'r Plan,
    /// Who decides what comes next.
    pub orchestrator: &'r dyn Orchestrator,
    /// What arrives. All services with a load share the server.
    pub loads: &'r [Load],
    /// The seed of arrivals, payload sizes and choices of cores. Requests are the same for every
    /// orchestrator.
    pub seed: u64,
}

impl<'r> Run<'r> {
    /// The same on another server.
    fn on(&self, config: &'r Config) -> Run<'r> {
        Run {
            config,
            ..self.clone()
        }
    }
}

/// Why a simulation cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimError {
    /// A parameter of the server outside its range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An impossible arrival process.
    #[error(transparent)]
    Arrivals(#[from] ArrivalsError),
    /// A shaper that cannot exist, or a trace that can never pass it.
    #[error("tenant {tenant}, shaping: {error}")]
    Shaping {
        /// The tenant.
        tenant: u16,
        /// What is wrong.
        error: ShapingError,
    },
    /// Loads of one tenant with different shapers.
    #[error("tenant {0}: all of its loads must have the same shaping, as they share one bucket")]
    ShapingDiffers(u16),
    /// Tenants reserve shares of accelerators that have fewer elements or entries than there are
    /// tenants.
    #[error(
        "tenant.isolation = reserved with {tenants} tenants: each needs an element, an input entry \
         and an output entry of every accelerator; {accel} has {fewest} of one of them"
    )]
    ReservedTooFew {
        /// Tenants of the loads.
        tenants: usize,
        /// An accelerator that has too few.
        accel: String,
        /// How many it has of what it has fewest of.
        fewest: usize,
    },
    /// Tenants reserve shares where all accelerators share one queue.
    #[error(
        "tenant.isolation = reserved with {0}: its accelerators share one queue, which is not \
         divided; allowed are one tenant and the other systems"
    )]
    ReservedCentrally(String),
    /// A load for a service that the plan does not have.
    #[error("there is no service number {0} in the plan")]
    UnknownService(usize),
    /// A load without requests, or with none after the warm-up.
    #[error("service {service}: {requests} requests with {warmup} of warm-up; more must remain")]
    NoRequests {
        /// The service.
        service: String,
        /// Its requests.
        requests: u64,
        /// Its warm-up.
        warmup: u64,
    },
    /// A service whose path neither begins nor ends with a chain.
    #[error("service {0}: the path must begin and end with a chain of traces")]
    Path(String),
    /// A trace that cannot go on with the facts of its chain.
    #[error("service {service}, trace {trace}: {fault}")]
    Fault {
        /// The service.
        service: String,
        /// The trace.
        trace: String,
        /// What is wrong.
        fault: Fault,
    },
    /// An operation without a cost.
    #[error("service {service}: no cost is given for {accel} in trace {trace}")]
    NoCost {
        /// The service.
        service: String,
        /// The trace.
        trace: String,
        /// The accelerator.
        accel: String,
    },
}

/// Simulates `run` until every request has ended.
///
/// # Errors
/// [`SimError`] for a server that cannot exist and a plan or load that cannot be executed.
pub fn simulate(run: &Run<'_>) -> Result<Outcome, SimError> {
    let config = run.config.with_generation_costs();
    Ok(Engine::new(&run.on(&config))?.run()?.0)
}

/// What is shared with a simulation while it runs.
#[derive(Debug, Default)]
pub struct Watch {
    /// Set it, and the simulation ends early.
    pub stop: AtomicBool,
    /// How many of the requests that count have ended; it is told every few milliseconds.
    pub ended: AtomicU64,
}

/// Simulates like [`simulate`] until `watch` says to stop; `None` if it did.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_watched(run: &Run<'_>, watch: &Watch) -> Result<Option<Outcome>, SimError> {
    let config = run.config.with_generation_costs();
    let mut engine = Engine::new(&run.on(&config))?;
    engine.watch = Some(watch);
    let (outcome, _) = engine.run()?;
    Ok((!watch.stop.load(Ordering::Relaxed)).then_some(outcome))
}

/// Simulates like [`simulate`] and also reports every operation, in the order of simulated time.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_logged(run: &Run<'_>) -> Result<(Outcome, Vec<Operated>), SimError> {
    let config = run.config.with_generation_costs();
    let mut engine = Engine::new(&run.on(&config))?;
    engine.log = Some(Vec::new());
    engine.run()
}
