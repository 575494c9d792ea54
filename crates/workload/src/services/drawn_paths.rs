//! The paths of requests through a chain of traces whose payload values are random.

use accelflow_kernel::attribute_unit;
use accelflow_trace::{Fault, Image};

use super::error::ServiceError;
use super::facts::ChainFacts;
use super::odds::FactOdds;
use super::place::Place;
use super::service::Chain;
use super::walk::{ChainWalk, follow};

/// Paths that are less likely are not divided at further branches: their outcomes are drawn.
const LEAST_DIVIDED: f64 = 1.0 / 1024.0;

/// The seed of these draws.
const SEED: u64 = 0x0DD5;

/// One path of requests through a chain of traces: the outcomes of all branches.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnPath {
    /// The probability that a request takes this path, above 0. The probabilities of a chain's
    /// paths add up to 1.
    pub probability: f64,
    /// The traces that the chain runs on this path, and their accelerator calls.
    pub walk: ChainWalk,
    /// Whether a trace answers the request with an error. The request then has no later phases.
    pub fails: bool,
}

impl Chain {
    /// Returns the paths of requests through this chain: one for each combination of branch
    /// outcomes that random payload values can lead to, with its probability. Payload values that
    /// are set in this chain and have odds in `odds` are random, all others are as set. `place` is
    /// the chain's place, for error messages.
    ///
    /// Paths that share their first branches, and together have a probability below 1/1024, are
    /// represented by one of them, drawn by the odds. A mean over the returned paths is then an
    /// unbiased estimate of the mean over all. The result is a function of the arguments alone.
    ///
    /// # Errors
    /// [`ServiceError`] for names that `image` does not have, and for traces that cannot continue
    /// with the payload values of a path.
    pub fn drawn_paths(
        &self,
        place: &Place,
        image: &Image,
        odds: &FactOdds,
    ) -> Result<Vec<DrawnPath>, ServiceError> {
        // Refuses every unknown name before the walk, including those that no path reaches.
        ChainFacts::resolve(self, place, image)?;
        let mut open = vec![Open {
            probability: 1.0,
            chain: self.without_drawn(odds),
            branches: 0,
        }];
        let mut found = Vec::new();
        while let Some(part) = open.pop() {
            match follow(&part.chain, place, image) {
                Ok((walk, fails)) => found.push(DrawnPath {
                    probability: part.probability,
                    walk,
                    fails,
                }),
                Err(error) => {
                    let field = self.drawn(error, odds)?;
                    part.go_on(field, found.len() as u64, &mut open);
                }
            }
        }
        Ok(found)
    }

    /// The chain without the values that `odds` makes random.
    fn without_drawn(&self, odds: &FactOdds) -> Chain {
        let fixed = self
            .facts()
            .filter(|(trace, field, _)| odds.of(trace, field).is_none());
        fixed.fold(Chain::new(self.entry()), |chain, (trace, field, value)| {
            chain.with(trace, field, value)
        })
    }

    /// The random field that a walk has met. Any other reason why the walk could not go on is the
    /// error.
    fn drawn(&self, error: ServiceError, odds: &FactOdds) -> Result<DrawnField, ServiceError> {
        if let ServiceError::Fault {
            trace,
            fault: Fault::MissingField(field),
            ..
        } = &error
            && let Some(value) = self.fact(trace, field)
            && let Some(odds) = odds.of(trace, field)
        {
            return Ok(DrawnField {
                trace: trace.clone(),
                field: field.clone(),
                one: odds.at(value),
            });
        }
        Err(error)
    }
}

/// A random payload value.
struct DrawnField {
    trace: String,
    field: String,
    /// The probability that it is 1.
    one: f64,
}

/// Paths that have the same outcomes of their first branches.
struct Open {
    /// The probability that a request takes one of the paths.
    probability: f64,
    /// The chain with the random values that are decided.
    chain: Chain,
    /// The number of these values.
    branches: u64,
}

impl Open {
    /// Divides the paths by the value of `drawn`, or draws the value if the paths are unlikely.
    /// `number` is that of the next complete path.
    fn go_on(self, drawn: DrawnField, number: u64, open: &mut Vec<Open>) {
        let DrawnField { trace, field, one } = drawn;
        let outcomes = match self.probability < LEAST_DIVIDED {
            true => {
                let value = attribute_unit(SEED, number, self.branches) < one;
                [(i64::from(value), 1.0), (i64::from(!value), 0.0)]
            }
            false => [(0, 1.0 - one), (1, one)],
        };
        for (value, share) in outcomes.into_iter().filter(|(_, share)| *share > 0.0) {
            open.push(Open {
                probability: self.probability * share,
                chain: self.chain.clone().with(&trace, &field, value),
                branches: self.branches + 1,
            });
        }
    }
}
