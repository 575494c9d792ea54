//! The paths of requests through the chains of a scenario, with the costs of their operations.

use std::borrow::Cow;

use accelflow_sim::SimError;
use accelflow_workload::profile::{OperationProfile, PhaseProfile, Profile, ServiceProfile};
use accelflow_workload::services::{Chain, ChainWalk, DrawnPath, FactOdds, Operation, Place};

use crate::error::{ScenarioError, engine};
use crate::setup::{Facts, Setup};

/// One path of requests through a chain of traces: the outcomes of all branches.
pub(crate) struct CostedPath<'p> {
    /// The probability that a request takes this path.
    pub(crate) probability: f64,
    /// The operations on this path, with their costs.
    pub(crate) operations: Cow<'p, [OperationProfile]>,
    /// Whether a trace answers the request with an error.
    pub(crate) fails: bool,
}

/// Returns the paths through a chain of the service with index `service`. `place` has the indices
/// of the phase and of the chain in the phase.
pub(crate) fn costed_paths<'p>(
    setup: &'p Setup<'_>,
    service: usize,
    (phase, chain): (usize, usize),
) -> Result<Vec<CostedPath<'p>>, ScenarioError> {
    let profile = &setup.profile.services()[service];
    let place = Place {
        service: profile.service().name().to_owned(),
        phase,
        chain,
    };
    let finder = Finder {
        setup,
        profile,
        place,
    };
    match setup.facts() {
        Facts::Common => finder.common(),
        Facts::Drawn(odds) => match odds.get(&(finder.place.service.clone(), phase, chain)) {
            Some(odds) => finder.drawn(odds),
            None => finder.common(),
        },
        Facts::Recorded => finder.recorded(),
    }
}

struct Finder<'p, 's> {
    setup: &'p Setup<'s>,
    profile: &'p ServiceProfile,
    place: Place,
}

impl<'p> Finder<'p, '_> {
    /// The most common path alone.
    fn common(&self) -> Result<Vec<CostedPath<'p>>, ScenarioError> {
        let operations = match self.profile.phases().get(self.place.phase) {
            Some(PhaseProfile::Traces(chains)) => chains.get(self.place.chain),
            _ => None,
        };
        let (Some(operations), Some(chain)) = (operations, self.chain()) else {
            return Ok(Vec::new());
        };
        let paths = chain.drawn_paths(&self.place, &self.setup.plan.image, &FactOdds::none());
        let of_path = |path: DrawnPath| CostedPath {
            probability: path.probability,
            operations: Cow::Borrowed(operations.as_slice()),
            fails: path.fails,
        };
        Ok(paths.map_err(engine)?.into_iter().map(of_path).collect())
    }

    fn chain(&self) -> Option<&'p Chain> {
        let phase = self.profile.service().path().get(self.place.phase)?;
        phase.chains().get(self.place.chain)
    }

    /// The paths that random payload values lead to.
    fn drawn(&self, odds: &FactOdds) -> Result<Vec<CostedPath<'p>>, ScenarioError> {
        let Some(chain) = self.chain() else {
            return Ok(Vec::new());
        };
        let paths = chain.drawn_paths(&self.place, &self.setup.plan.image, odds);
        let with_costs = |path: DrawnPath| {
            Ok(CostedPath {
                probability: path.probability,
                operations: Cow::Owned(self.with_costs(path.walk)?),
                fails: path.fails,
            })
        };
        paths.map_err(engine)?.into_iter().map(with_costs).collect()
    }

    /// The paths of the recorded requests.
    fn recorded(&self) -> Result<Vec<CostedPath<'p>>, ScenarioError> {
        let requests = self.profile.requests();
        let mut found = Vec::new();
        for (count, chain) in requests.chains(self.place.phase, self.place.chain) {
            let paths = chain.drawn_paths(&self.place, &self.setup.plan.image, &FactOdds::none());
            for path in paths.map_err(engine)? {
                found.push(CostedPath {
                    probability: path.probability * count as f64 / requests.count() as f64,
                    operations: Cow::Owned(self.with_costs(path.walk)?),
                    fails: path.fails,
                });
            }
        }
        Ok(found)
    }

    /// The operations of `walk` with their costs, as the simulator has them: those off the most
    /// common path have no measured sizes.
    fn with_costs(&self, walk: ChainWalk) -> Result<Vec<OperationProfile>, ScenarioError> {
        let operations = walk.operations.into_iter();
        operations
            .map(|operation| self.with_cost(operation))
            .collect()
    }

    fn with_cost(&self, operation: Operation) -> Result<OperationProfile, ScenarioError> {
        let (place, trace, accel) = (&self.place, &operation.trace, operation.accel);
        let profile: &Profile = &self.setup.profile;
        let stated =
            self.profile
                .operation(place.phase, place.chain, trace, accel, operation.receives);
        if let Some(stated) = stated {
            return Ok(OperationProfile {
                operation,
                ..stated.clone()
            });
        }
        match self.profile.cost_off_path(place, trace, accel, profile) {
            Some(cost) => Ok(OperationProfile {
                cost,
                payload: None,
                spread: None,
                operation,
            }),
            None => Err(engine(SimError::NoCost {
                service: place.service.clone(),
                trace: trace.clone(),
                accel: self.setup.plan.image.accel_name(accel).to_owned(),
            })),
        }
    }
}
