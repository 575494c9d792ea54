//! Services, their phases and chains.

use super::error::ServiceError;
use super::place::Place;

/// The most chains that one phase may start at once.
pub const MAX_PARALLEL_CHAINS: usize = 64;

/// A service: the phases of one invocation, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    name: String,
    method: String,
    pub(super) path: Vec<Phase>,
}

/// A part of a service's path. A phase begins when all of the one before has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Application logic on the core that the request belongs to.
    Cpu,
    /// Chains of traces that run at the same time.
    Traces(Vec<Chain>),
}

/// A chain: a trace and those that its tails lead to.
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

    /// The number of phases of application logic.
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

    /// Sets `field` of the payload of `trace` to `value`. A later value for the same field replaces
    /// an earlier one.
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

    /// The value of `field` in the payload of `trace`, if this chain states it.
    ///
    /// For use on every step of a simulation, resolve a chain once into [`ChainFacts`].
    pub fn fact(&self, trace: &str, field: &str) -> Option<i64> {
        let of = |fact: &&Fact| fact.trace == trace && fact.field == field;
        self.facts.iter().find(of).map(|fact| fact.value)
    }

    /// The stated facts as (trace, field, value).
    pub fn facts(&self) -> impl Iterator<Item = (&str, &str, i64)> {
        self.facts
            .iter()
            .map(|fact| (fact.trace.as_str(), fact.field.as_str(), fact.value))
    }
}
