//! Services, their phases and chains.

use super::error::ServiceError;
use super::place::Place;

/// The largest number of chains of traces that one phase of a service may run in parallel.
pub const MAX_PARALLEL_CHAINS: usize = 64;

/// A service: its name, the name of its remote procedure, and the phases that one invocation runs
/// one after another (its path).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    name: String,
    method: String,
    pub(super) path: Vec<Phase>,
}

/// A phase of a service's path: application logic on a core, or chains of traces on accelerators. A
/// phase begins when all chains of the phase before it have ended, except for detached chains
/// ([`file::Chain`](crate::file::Chain)), which run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Application logic on the core to which the request belongs.
    Cpu,
    /// Chains of traces that run in parallel.
    Traces(Vec<Chain>),
}

/// A chain of traces: a first trace and all traces that follow it through tails (a tail names the
/// next trace). The chain also has the payload values (facts) that the branches of these traces
/// test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    entry: String,
    facts: Vec<Fact>,
}

/// A fact of a trace's payload.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fact {
    trace: String,
    field: String,
    value: i64,
}

impl Service {
    /// Creates the service `name`, whose remote procedure is called `method` and which runs the
    /// phases `path` one after another.
    ///
    /// # Errors
    /// [`ServiceError::Beginning`] if the first phase, which receives the request, is not a single
    /// chain of traces. [`ServiceError::Chains`] for a phase with no chains or more than
    /// [`MAX_PARALLEL_CHAINS`].
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

    /// Returns the service's name: for SocialNetwork the paper's short name, such as `CPost`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the service's remote procedure, such as `ComposePost`.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the phases of the service in the order in which an invocation runs them. A message
    /// starts the first phase; a core starts the others.
    pub fn path(&self) -> &[Phase] {
        &self.path
    }

    /// Returns the number of phases of application logic in the service's path.
    pub fn cpu_phases(&self) -> usize {
        self.path
            .iter()
            .filter(|phase| **phase == Phase::Cpu)
            .count()
    }

    /// Returns the largest number of chains of traces that one phase of the service runs in
    /// parallel.
    pub fn max_parallel_chains(&self) -> usize {
        self.path
            .iter()
            .map(|phase| phase.chains().len())
            .max()
            .unwrap_or(0)
    }

    /// Returns all chains of traces in the service's path, each with its place, in order.
    pub fn chains(&self) -> impl Iterator<Item = (Place, &Chain)> + '_ {
        self.path.iter().enumerate().flat_map(move |(phase, part)| {
            part.chains()
                .iter()
                .enumerate()
                .map(move |(chain, traces)| {
                    (
                        Place {
                            service: self.name.clone(),
                            phase,
                            chain,
                        },
                        traces,
                    )
                })
        })
    }
}

impl Phase {
    /// Creates a phase that starts one chain of traces.
    pub fn one(chain: Chain) -> Phase {
        Phase::Traces(vec![chain])
    }

    /// Creates a phase that runs `count` copies of `chain` in parallel.
    pub fn parallel(count: usize, chain: &Chain) -> Phase {
        Phase::Traces(vec![chain.clone(); count])
    }

    /// Returns the chains of traces that this phase runs; empty for a phase of application logic.
    pub fn chains(&self) -> &[Chain] {
        match self {
            Phase::Cpu => &[],
            Phase::Traces(chains) => chains,
        }
    }
}

impl Chain {
    /// Creates a chain of traces that begins with the trace `entry`, such as `T9+Cmp`, and has no
    /// payload values yet. [`Chain::with`] sets values.
    pub fn new(entry: &str) -> Chain {
        Chain {
            entry: entry.to_owned(),
            facts: Vec::new(),
        }
    }

    /// Sets the value of the payload field `field` that branches of the trace `trace` test.
    /// Replaces an earlier value of the same field.
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

    /// Returns the name of the chain's first trace.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// Returns the value of the payload field `field` that branches of the trace `trace` test;
    /// `None` if the value is not set.
    ///
    /// This lookup compares names. For lookups in every step of a simulation, convert the chain
    /// once to [`ChainFacts`](crate::services::ChainFacts).
    pub fn fact(&self, trace: &str, field: &str) -> Option<i64> {
        let of = |fact: &&Fact| fact.trace == trace && fact.field == field;
        self.facts.iter().find(of).map(|fact| fact.value)
    }

    /// Returns the payload values that are set in the chain, as (trace, field, value).
    pub fn facts(&self) -> impl Iterator<Item = (&str, &str, i64)> {
        self.facts
            .iter()
            .map(|fact| (fact.trace.as_str(), fact.field.as_str(), fact.value))
    }
}
