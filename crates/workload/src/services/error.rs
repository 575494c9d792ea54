//! Errors of services.

use accelflow_trace::Fault;

use super::place::Place;

/// The error of an invalid service, or one that does not fit a trace memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The path does not begin with exactly one chain, which receives the request.
    #[error("service {0}: the path must begin with exactly one chain, which receives the request")]
    Beginning(String),
    /// A phase with no chains or too many.
    #[error("service {service}, phase {phase}: chains = {chains}: must be from 1 to 64")]
    Chains {
        /// The service's name.
        service: String,
        /// The phase, counted from 0.
        phase: usize,
        /// The number of its chains.
        chains: usize,
    },
    /// A chain names a trace that is not in the memory.
    #[error("{place}: trace = '{trace}': must be in the trace memory")]
    UnknownTrace {
        /// The chain.
        place: Place,
        /// The name.
        trace: String,
    },
    /// A fact that no branch in the memory tests.
    #[error("{place}: fact = '{trace}.{field}': must be tested by a branch")]
    UnknownField {
        /// The chain.
        place: Place,
        /// The trace the fact is for.
        trace: String,
        /// The field's name.
        field: String,
    },
    /// A chain that begins with the wrong accelerator.
    #[error("{place}: trace = '{trace}': {}", if *.first {
        "must begin with TCP, since a message starts it"
    } else {
        "must not begin with TCP, since the core starts it"
    })]
    Trigger {
        /// The chain.
        place: Place,
        /// Its first trace.
        trace: String,
        /// Whether it is the first of the service.
        first: bool,
    },
    /// A trace that cannot continue.
    #[error("{place}, trace {trace}: {fault}")]
    Fault {
        /// The chain.
        place: Place,
        /// The trace that cannot continue.
        trace: String,
        /// The reason.
        fault: Fault,
    },
}
