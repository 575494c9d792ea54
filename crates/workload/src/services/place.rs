//! Places of chains in services.

use std::fmt;

/// The place of a chain of traces in a service. Phases and chains are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The name of the service that has the chain.
    pub service: String,
    /// The index of the phase in the service's path, CPU phases included.
    pub phase: usize,
    /// The index of the chain within the phase.
    pub chain: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "service {}, phase {}, chain {}",
            self.service, self.phase, self.chain
        )
    }
}
