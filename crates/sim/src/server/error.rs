//! The errors of simulations.

use accelflow_shaping::ShapingError;
use accelflow_trace::Fault;
use accelflow_workload::arrivals::ArrivalsError;

use accelflow_parameters::Refusal;

use crate::orchestrators::PolicyError;

/// The error of a step of a simulation. It is one word, so that steps return it in a register.
pub(crate) type Failure = Box<SimError>;

/// The reason why a simulation cannot run or cannot be completed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimError {
    /// The value of a parameter of the simulated server is not allowed, alone or together with
    /// other parameters, the tenants or the orchestrator.
    #[error(transparent)]
    Config(#[from] Refusal),
    /// The arrival process of a service is invalid.
    #[error(transparent)]
    Arrivals(#[from] ArrivalsError),
    /// The traffic shaper of a tenant is invalid, or a trace of the tenant can never pass the
    /// shaper.
    #[error("tenant {tenant}, shaping: {error}")]
    Shaping {
        /// The ID of the tenant.
        tenant: u16,
        /// The error of the traffic shaper.
        error: ShapingError,
    },
    /// The loads of the tenant with this ID have different limits
    /// ([`Load::shaping`](crate::Load::shaping)).
    #[error(
        "tenant {0}: shaping: must be the same for all loads of the tenant, which share one token bucket"
    )]
    ShapingDiffers(u16),
    /// A load is for the service with this index, but the plan has no such service.
    #[error("service = {0}: must be the index of a service in the plan")]
    UnknownService(usize),
    /// The services with a load and the services that they call are on this number of servers, but
    /// the function simulates only one server.
    #[error(
        "servers = {0}: must be 1, since this function simulates one server; use \
         `simulate_servers` for several"
    )]
    SeveralServers(usize),
    /// A load has no requests after the warm-up.
    #[error(
        "service {service}: requests = {requests}: must be more than its {warmup} warm-up \
         requests; increase the number of requests or the rate of the service"
    )]
    NoRequests {
        /// The name of the service.
        service: String,
        /// Number of requests of the load, including the warm-up; at most the length of its list of
        /// arrival times, if it has one.
        requests: u64,
        /// Number of requests of the load that form its warm-up.
        warmup: u64,
    },
    /// A load for calls alone ([`Load::called`](crate::Load::called)) is for the service with this
    /// name, but no service that receives requests calls it.
    #[error(
        "service {0}: load: must have arrivals, since no service that receives requests calls it"
    )]
    NeverCalled(String),
    /// The path of the service with this name does not begin or does not end with a chain of
    /// traces.
    #[error("service {0}: path: must begin and end with a chain of traces")]
    Path(String),
    /// A trace of a chain cannot continue: for example, a branch tests a value that the chain's
    /// facts (the values of its payloads) do not have.
    #[error("service {service}, trace {trace}: {fault}")]
    Fault {
        /// The name of the service.
        service: String,
        /// The name of the trace that cannot continue.
        trace: String,
        /// The reason why the trace cannot continue.
        fault: Fault,
    },
    /// The simulated time reaches 53 days, a quarter of [`Time::MAX`](accelflow_units::Time::MAX).
    /// Possible causes are too many requests, an arrival rate close to 0, and a tenant's rate limit
    /// close to 0.
    #[error(
        "simulated time = more than 53 days: must be less; simulate fewer requests, or increase the rates or the limits of tenants"
    )]
    TooLong,
    /// No events are left, but requests have not ended or parts of the server are not idle. This is
    /// a defect of the simulator.
    #[error(
        "no events are left, but the server is not idle, which is a defect of the simulator: \
         {requests} requests have not ended, {left}"
    )]
    Undrained {
        /// Number of requests that have not ended.
        requests: usize,
        /// A description of the parts of the server that are not idle.
        left: String,
    },
    /// An orchestrator of the user, such as one written in Python, has failed or has made a
    /// decision that is not allowed.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The plan has no cost for an operation of a trace, because the profile has none.
    #[error(
        "service {service}, trace {trace}: the operation of {accel} must have a cost in the profile"
    )]
    NoCost {
        /// The name of the service.
        service: String,
        /// The name of the trace that has the operation.
        trace: String,
        /// The name of the accelerator that should execute the operation.
        accel: String,
    },
}

impl SimError {
    /// Returns the refused parameter and value of [`SimError::Config`]; `None` for other errors.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            SimError::Config(refusal) => Some(refusal),
            _ => None,
        }
    }
}
