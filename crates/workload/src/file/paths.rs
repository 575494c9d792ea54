//! Conversion of the services of a workload file to paths of CPU phases and chains of traces.

use super::tree;
use crate::services::{Chain, FactOdds, Odds, OddsError, Phase, Service, ServiceError};

impl tree::Workload {
    /// Returns the services of the workload, in the order of the file. Each service has a path of
    /// phases: application logic on a core, or chains of traces on accelerators.
    ///
    /// # Errors
    /// Does not fail for a workload that [`super::Document::check`] has accepted.
    pub fn paths(&self) -> Result<Vec<Service>, ServiceError> {
        self.services.iter().map(tree::Service::to_path).collect()
    }

    /// Returns the service called `name`; `None` if the workload does not have it.
    pub fn service(&self, name: &str) -> Option<&tree::Service> {
        self.services.iter().find(|service| service.name == name)
    }

    /// Returns, for each payload field that is random in one chain of the service called `name`,
    /// the probability that the field is 1. `place` is (index of the phase, index of the chain in
    /// the phase). For an unknown chain, the result is empty.
    pub fn fact_odds(&self, name: &str, place: (usize, usize)) -> FactOdds {
        let mut chains = self
            .service(name)
            .into_iter()
            .flat_map(tree::Service::chains);
        let chain = chains.find(|(phase, number, _)| (*phase, *number) == place);
        // The check has refused odds outside 0 to 1.
        let odds = chain.and_then(|(_, _, chain)| chain.fact_odds().ok());
        odds.unwrap_or_default()
    }

    /// Whether any chain of the workload has payload values that are random.
    pub fn has_odds(&self) -> bool {
        let mut chains = self.services.iter().flat_map(tree::Service::chains);
        chains.any(|(_, _, chain)| !chain.odds.is_empty())
    }
}

impl tree::Service {
    /// Converts the service from its form in a workload file to the form that the simulator runs: a
    /// path of phases.
    ///
    /// # Errors
    /// Does not fail for a service that [`super::Document::check`] has accepted.
    pub fn to_path(&self) -> Result<Service, ServiceError> {
        let phases = self.path.iter().map(|phase| match phase {
            tree::Phase::Timed(_) | tree::Phase::Cpu(_) => Phase::Cpu,
            chains => {
                let chains = chains.chains().iter();
                let each = chains.flat_map(|chain| std::iter::repeat_n(made(chain), chain.count()));
                Phase::Traces(each.collect())
            }
        });
        Service::new(&self.name, self.method(), phases.collect())
    }

    /// Returns the name of the remote procedure that clients call; by default the service's name.
    pub fn method(&self) -> &str {
        self.method.as_deref().unwrap_or(&self.name)
    }

    /// Returns all chains of traces of the service as (index of the phase, index of the chain in
    /// the phase, chain). A chain that runs n times in parallel (`times` = n) appears n times in a
    /// row, each time with its own index.
    pub fn chains(&self) -> impl Iterator<Item = (usize, usize, &tree::Chain)> {
        self.path.iter().enumerate().flat_map(|(phase, part)| {
            let each = part.chains().iter();
            let each = each.flat_map(|chain| std::iter::repeat_n(chain, chain.count()));
            each.enumerate()
                .map(move |(number, chain)| (phase, number, chain))
        })
    }

    /// All chains that the file states, each with its place there; the service is at `place`.
    pub(super) fn placed_chains(
        &self,
        place: &str,
    ) -> impl Iterator<Item = (String, &tree::Chain)> {
        self.path
            .iter()
            .enumerate()
            .flat_map(move |(index, phase)| {
                let place = format!("{place}.path[{index}]");
                let each = phase.chains().iter().enumerate();
                each.map(move |(number, chain)| (phase.place_of(&place, number), chain))
            })
    }
}

/// The chain with its facts. A field with odds but no fact has its more likely value on the most
/// common path.
fn made(chain: &tree::Chain) -> Chain {
    let mut made = Chain::new(&chain.trace);
    for (trace, fields) in &chain.odds {
        for (field, odds) in fields {
            made = made.with(trace, field, i64::from(odds.0 >= 0.5));
        }
    }
    for (trace, fields) in &chain.facts {
        for (field, value) in fields {
            made = made.with(trace, field, *value);
        }
    }
    made
}

impl tree::Chain {
    /// Returns, for each payload field that is random in this chain, the probability that the field
    /// is 1.
    ///
    /// # Errors
    /// [`OddsError`] for a probability outside 0 to 1.
    pub fn fact_odds(&self) -> Result<FactOdds, OddsError> {
        let mut found = FactOdds::none();
        for (trace, fields) in &self.odds {
            for (field, odds) in fields {
                found = found.with(trace, field, Odds::of(odds.0))?;
            }
        }
        Ok(found)
    }
}
