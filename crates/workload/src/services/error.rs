//! Errors of services.

use accelflow_trace::Fault;

use super::place::Place;

/// The error of a service whose path is invalid, or does not fit the traces in the trace memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The first phase of a path is not exactly one chain of traces, which receives the request.
    /// Holds the service's name.
    #[error(
        "service {0}: the path must begin with exactly one chain of traces, which receives the request"
    )]
    Beginning(String),
    /// A phase starts no chains of traces, or more than
    /// [`MAX_PARALLEL_CHAINS`](super::MAX_PARALLEL_CHAINS) at once.
    #[error("service {service}, phase {phase}: chains = {chains}: must be from 1 to 64")]
    Chains {
        /// The name of the service.
        service: String,
        /// The index of the phase in the path, counted from 0.
        phase: usize,
        /// The number of chains in the phase.
        chains: usize,
    },
    /// A chain names a trace that is not in the trace memory.
    #[error("{place}: trace = '{trace}': must be in the trace memory")]
    UnknownTrace {
        /// The place of the chain in its service.
        place: Place,
        /// The name of the missing trace.
        trace: String,
    },
    /// A chain states a payload value (a fact) that no branch in the trace memory tests.
    #[error("{place}: fact = '{trace}.{field}': must be a payload value that a branch tests")]
    UnknownField {
        /// The place of the chain in its service.
        place: Place,
        /// The name of the trace for which the value is stated.
        trace: String,
        /// The name of the payload field.
        field: String,
    },
    /// A chain begins with the wrong accelerator. The first chain of a service must begin with TCP,
    /// which receives the request. The other chains must not begin with TCP, since a core starts
    /// them.
    #[error("{place}: trace = '{trace}': {}", if *.first {
        "must be a trace that begins with TCP, since the client's request starts it"
    } else {
        "must be a trace that does not begin with TCP, since a core starts it"
    })]
    Trigger {
        /// The place of the chain in its service.
        place: Place,
        /// The name of the chain's first trace.
        trace: String,
        /// Whether the chain is the first of the service.
        first: bool,
    },
    /// A trace cannot continue, for example because the chain does not state a payload value that a
    /// branch tests.
    #[error("{place}, trace {trace}: {fault}")]
    Fault {
        /// The place of the chain in its service.
        place: Place,
        /// The name of the trace that cannot run to its end.
        trace: String,
        /// The reason why the trace cannot continue.
        fault: Fault,
    },
}
