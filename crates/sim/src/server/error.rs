//! Errors of simulations.

use accelflow_shaping::ShapingError;
use accelflow_trace::Fault;
use accelflow_workload::arrivals::ArrivalsError;

use accelflow_parameters::Refusal;

use crate::orchestrators::PolicyError;

/// The error of a step of a simulation: one word, so that steps return it in a register.
pub(crate) type Failure = Box<SimError>;

/// The error of a simulation that cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimError {
    /// A parameter of the simulated server is outside its range.
    #[error(transparent)]
    Config(#[from] Refusal),
    /// The arrival process of a service is invalid.
    #[error(transparent)]
    Arrivals(#[from] ArrivalsError),
    /// The traffic shaper of a tenant is invalid, or a trace of the tenant can never pass it.
    #[error("tenant {tenant}, shaping: {error}")]
    Shaping {
        /// The number of the tenant.
        tenant: u16,
        /// The error of the shaper.
        error: ShapingError,
    },
    /// The loads of the tenant with this number have different traffic shapers.
    #[error(
        "tenant {0}: shaping: must be the same for all loads of the tenant, which share one token bucket"
    )]
    ShapingDiffers(u16),
    /// A load is for a service with this index, which the plan does not have.
    #[error("service = {0}: must be the index of a service in the plan")]
    UnknownService(usize),
    /// The services are on this number of servers, but a function for one server was called.
    #[error("servers = {0}: must be 1 for `simulate`; use `simulate_servers` for several")]
    SeveralServers(usize),
    /// A load has no requests after the warm-up.
    #[error(
        "service {service}: requests = {requests}: must be more than its warm-up of {warmup}; increase the number of requests or the rate of the service"
    )]
    NoRequests {
        /// The name of the service.
        service: String,
        /// Number of requests of the load, including the warm-up.
        requests: u64,
        /// Number of requests of the warm-up.
        warmup: u64,
    },
    /// The path of the service with this name does not begin or does not end with a chain.
    #[error("service {0}: path: must begin and end with a chain of traces")]
    Path(String),
    /// A trace cannot continue with the facts (values that branches test) of its chain.
    #[error("service {service}, trace {trace}: {fault}")]
    Fault {
        /// The name of the service.
        service: String,
        /// The name of the trace.
        trace: String,
        /// The reason why the trace cannot continue.
        fault: Fault,
    },
    /// No events are left, but some requests have not ended. This is a defect of the simulator.
    #[error("{requests} requests can never end, which is a defect of the simulator: {left}")]
    Undrained {
        /// Number of requests that have not ended.
        requests: usize,
        /// A list of the parts of the server that are not idle.
        left: String,
    },
    /// A user's policy has failed.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The profile has no cost for an operation of a trace.
    #[error(
        "service {service}, trace {trace}: the operation of {accel} must have a cost in the profile"
    )]
    NoCost {
        /// The name of the service.
        service: String,
        /// The name of the trace.
        trace: String,
        /// The name of the accelerator.
        accel: String,
    },
}

impl SimError {
    /// Returns the refusal of a parameter's value for [`SimError::Config`]; else `None`.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            SimError::Config(refusal) => Some(refusal),
            _ => None,
        }
    }
}
