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
    /// A server parameter is outside its range.
    #[error(transparent)]
    Config(#[from] Refusal),
    /// The arrival process is invalid.
    #[error(transparent)]
    Arrivals(#[from] ArrivalsError),
    /// The shaper is invalid, or a trace can never pass it.
    #[error("tenant {tenant}, shaping: {error}")]
    Shaping {
        /// The tenant.
        tenant: u16,
        /// The error of the shaper.
        error: ShapingError,
    },
    /// Loads of one tenant have different shapers.
    #[error("tenant {0}: shaping: must be the same for all of its loads, which share one bucket")]
    ShapingDiffers(u16),
    /// The load is for a service that the plan does not have.
    #[error("service number = {0}: must be in the plan")]
    UnknownService(usize),
    /// The run needs several servers, but a function for one server was called.
    #[error("servers = {0}: must be 1 for `simulate`; use `simulate_servers` for several")]
    SeveralServers(usize),
    /// The load has no requests after the warm-up.
    #[error(
        "service {service}: requests = {requests}: must be more than its warm-up of {warmup}; increase the number of requests or the rate of the service"
    )]
    NoRequests {
        /// The service.
        service: String,
        /// Its requests.
        requests: u64,
        /// Its warm-up.
        warmup: u64,
    },
    /// The path of a service does not begin or does not end with a chain.
    #[error("service {0}: the path must begin and end with a chain of traces")]
    Path(String),
    /// A trace cannot continue with the facts of its chain.
    #[error("service {service}, trace {trace}: {fault}")]
    Fault {
        /// The service.
        service: String,
        /// The trace.
        trace: String,
        /// The fault.
        fault: Fault,
    },
    /// No events are left, but some requests have not ended. This is a defect of the simulator.
    #[error("{requests} requests can never end, which is a defect of the simulator: {left}")]
    Undrained {
        /// Number of requests in flight.
        requests: usize,
        /// The parts that are not idle.
        left: String,
    },
    /// A policy of the user has failed.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// An operation has no cost.
    #[error("service {service}, trace {trace}: {accel}: must have a cost")]
    NoCost {
        /// The service.
        service: String,
        /// The trace.
        trace: String,
        /// The accelerator.
        accel: String,
    },
}

impl SimError {
    /// The refusal of a value; None for another error.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            SimError::Config(refusal) => Some(refusal),
            _ => None,
        }
    }
}
