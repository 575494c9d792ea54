//! Services as paths of CPU phases and trace chains (AccelFlow, Table IV).
//!
//! A [`Chain`] names the trace that begins it and what the payloads on its way will say; where it
//! leads is the business of the trace language, so [`Service::walk`] asks a [`Walker`] and nothing
//! is counted by hand.
//!
//! [`Walker`]: accelflow_trace::Walker

mod chains;
mod facts;
mod hotel_reservation;
mod media_services;
mod odds;
mod outcomes;
mod recorded;
mod serverless;
mod social_network;
mod train_ticket;
mod walk;

pub use facts::{ChainFacts, PayloadFacts};
pub use hotel_reservation::hotel_reservation;
pub use media_services::media_services;
pub use odds::{DrawnFacts, FactOdds, Odds, OddsError};
pub use outcomes::{ChainOutcome, Sequence, branching_share, sequences};
pub use recorded::RecordedRequests;
pub use serverless::{
    AZURE_SEXTILES, DURATION_SCALE, serverless, serverless_app_time, serverless_rate_share,
};
pub use social_network::{SOCIAL_NETWORK_NAMES, social_network};
pub use train_ticket::train_ticket;
pub use walk::{ChainWalk, Counts, Operation, PhaseWalk, invocations};

use std::fmt;

use accelflow_trace::Fault;

/// The most chains that one phase may start at once.
pub const MAX_PARALLEL_CHAINS: usize = 64;

/// A service: what one invocation does, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    name: String,
    method: String,
    path: Vec<Phase>,
}

/// A part of a service's path. A phase begins when all of the one before has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Application logic on the core that the request belongs to.
    Cpu,
    /// Chains of traces that run at the same time.
    Traces(Vec<Chain>),
}

/// A trace and those that its tails lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    entry: String,
    facts: Vec<Fact>,
}

/// What the payload of a trace says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fact {
    trace: String,
    field: String,
    value: i64,
}

/// Where in a service a chain stands. Phases and chains are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The service's name.
    pub service: String,
    /// The phase of the path, CPU phases included.
    pub phase: usize,
    /// The chain within the phase.
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

/// Why a service is impossible, or does not fit a trace memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The path does not begin with the trace that a message arrives at.
    #[error("service {0}: the path must begin with exactly one chain, which receives the request")]
    Beginning(String),
    /// A phase with no chains or too many.
    #[error("service {service}, phase {phase}: {chains} chains; must be from 1 to 64")]
    Chains {
        /// The service's name.
        service: String,
        /// The phase, counted from 0.
        phase: usize,
        /// How many chains it has.
        chains: usize,
    },
    /// A chain names a trace that is not in the memory.
    #[error("{place}: there is no trace '{trace}'")]
    UnknownTrace {
        /// The chain.
        place: Place,
        /// The name.
        trace: String,
    },
    /// A fact that no branch in the memory tests.
    #[error("{place}: no branch tests the field '{field}' that is given for trace {trace}")]
    UnknownField {
        /// The chain.
        place: Place,
        /// The trace the fact is for.
        trace: String,
        /// The field's name.
        field: String,
    },
    /// A chain begins the wrong way.
    #[error("{place}: trace {trace} {}", if *.first {
        "must begin with TCP, for a message starts it"
    } else {
        "must not begin with TCP, for the core starts it"
    })]
    Trigger {
        /// The chain.
        place: Place,
        /// Its first trace.
        trace: String,
        /// Whether it is the first of the service.
        first: bool,
    },
    /// The traces cannot go on.
    #[error("{place}, trace {trace}: {fault}")]
    Fault {
        /// The chain.
        place: Place,
        /// The trace that could not go on.
        trace: String,
        /// Why.
        fault: Fault,
    },
}

impl Service {
    /// A service called `name` whose remote procedure is `method`.
    ///
    /// # Errors
    /// [`ServiceError::Beginning`] unless the first phase is a single chain (the one that receives
    /// the request), [`ServiceError::Chains`] for a phase of no or too many chains.
    pub fn new(name: &str, method: &str, path: Vec<Phase>) -> Result<Service, ServiceError> {
        if !matches!(path.first(), Some(Phase::Traces(chains)) if chains.len() == 1) {
            return Err(ServiceError::Beginning(name.to_owned()));
        }
        for (phase, part) in path.iter().enumerate() {
            if let Phase::Traces(chains) = part
                && !(1..=MAX_PARALLEL_CHAINS).contains(&chains.len())
            {
                let (service, chains) = (name.to_owned(), chains.len());
                return Err(ServiceError::Chains {
                    service,
                    phase,
                    chains,
                });
            }
        }
        Ok(Service {
            name: name.to_owned(),
            method: method.to_owned(),
            path,
        })
    }

    /// The paper's short name, such as `CPost`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The remote procedure in the suite's interface, such as `ComposePost`.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The phases in order. A message starts the first; the core starts the others.
    pub fn path(&self) -> &[Phase] {
        &self.path
    }

    /// How many phases run application logic.
    pub fn cpu_phases(&self) -> usize {
        self.path
            .iter()
            .filter(|phase| **phase == Phase::Cpu)
            .count()
    }

    /// The most chains that run at the same time.
    pub fn max_parallel_chains(&self) -> usize {
        self.path
            .iter()
            .map(|phase| phase.chains().len())
            .max()
            .unwrap_or(0)
    }

    /// The chains with their places, in order.
    pub fn chains(&self) -> impl Iterator<Item = (Place, &Chain)> + '_ {
        self.path.iter().enumerate().flat_map(move |(phase, part)| {
            part.chains().iter().enumerate().map(move |(chain, it)| {
                (
                    Place {
                        service: self.name.clone(),
                        phase,
                        chain,
                    },
                    it,
                )
            })
        })
    }
}

impl Phase {
    /// One chain.
    pub fn one(chain: Chain) -> Phase {
        Phase::Traces(vec![chain])
    }

    /// `count` equal chains in parallel.
    pub fn parallel(count: usize, chain: &Chain) -> Phase {
        Phase::Traces(vec![chain.clone(); count])
    }

    /// The chains of this phase: none for a CPU phase.
    pub fn chains(&self) -> &[Chain] {
        match self {
            Phase::Cpu => &[],
            Phase::Traces(chains) => chains,
        }
    }
}

impl Chain {
    /// A chain that begins with the trace called `entry`, such as `T9+Cmp`.
    pub fn new(entry: &str) -> Chain {
        Chain {
            entry: entry.to_owned(),
            facts: Vec::new(),
        }
    }

    /// The same chain where the payload of `trace` says `value` in `field`. A later value for the
    /// same field replaces an earlier one.
    pub fn with(mut self, trace: &str, field: &str, value: i64) -> Chain {
        self.facts
            .retain(|fact| fact.trace != trace || fact.field != field);
        self.facts.push(Fact {
            trace: trace.to_owned(),
            field: field.to_owned(),
            value,
        });
        self
    }

    /// The name of the first trace.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// What the payload of `trace` says in `field`, if this chain says so.
    ///
    /// For use on every step of a simulation, resolve a chain once into [`ChainFacts`].
    pub fn fact(&self, trace: &str, field: &str) -> Option<i64> {
        let of = |fact: &&Fact| fact.trace == trace && fact.field == field;
        self.facts.iter().find(of).map(|fact| fact.value)
    }

    /// All facts as (trace, field, value).
    pub fn facts(&self) -> impl Iterator<Item = (&str, &str, i64)> {
        self.facts
            .iter()
            .map(|fact| (fact.trace.as_str(), fact.field.as_str(), fact.value))
    }
}
