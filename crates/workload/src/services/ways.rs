//! The ways of requests through a chain of traces whose payload values are random.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use accelflow_trace::{Fault, Image};

use super::error::ServiceError;
use super::facts::ChainFacts;
use super::odds::FactOdds;
use super::place::Place;
use super::service::Chain;
use super::walk::{ChainWalk, follow};

/// The largest number of ways through one chain. If branches lead to more, these are the most likely
/// ones.
const MOST_WAYS: usize = 1 << 12;

/// One way of a request through a chain of traces: the outcomes of all branches.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainWay {
    /// The probability that a request takes this way, above 0. The probabilities of a chain's ways
    /// add up to 1.
    pub probability: f64,
    /// The traces that the chain runs on this way, and their accelerator calls.
    pub walk: ChainWalk,
    /// Whether a trace answers the request with an error. The request then has no later phases.
    pub fails: bool,
}

impl Chain {
    /// Returns the ways of requests through this chain: one for each combination of branch outcomes
    /// that random payload values can lead to, with its probability. Payload values that are set in
    /// this chain and have odds in `odds` are random, all others are as set. `place` is the chain's
    /// place, for error messages.
    ///
    /// At most 4,096 ways are returned. If there are more, these are the most likely ones, with
    /// probabilities that add up to 1.
    ///
    /// # Errors
    /// [`ServiceError`] for names that `image` does not have, and for traces that cannot continue
    /// with the payload values of a way.
    pub fn ways(
        &self,
        place: &Place,
        image: &Image,
        odds: &FactOdds,
    ) -> Result<Vec<ChainWay>, ServiceError> {
        // Refuses every unknown name before the walk, including those that no way reaches.
        ChainFacts::resolve(self, place, image)?;
        let mut open = BinaryHeap::from([Open {
            probability: 1.0,
            chain: self.without_drawn(odds),
        }]);
        let mut found = Vec::new();
        while let Some(Open { probability, chain }) = open.pop() {
            match follow(&chain, place, image) {
                Ok((walk, fails)) => found.push(ChainWay {
                    probability,
                    walk,
                    fails,
                }),
                Err(error) => {
                    let (trace, field, one) = self.drawn(error, odds)?;
                    let outcomes = [(0, 1.0 - one), (1, one)].into_iter();
                    let possible = outcomes.filter(|(_, share)| *share > 0.0);
                    open.extend(possible.map(|(value, share)| Open {
                        probability: probability * share,
                        chain: chain.clone().with(&trace, &field, value),
                    }));
                }
            }
            if found.len() == MOST_WAYS {
                break;
            }
        }
        let whole: f64 = found.iter().map(|way| way.probability).sum();
        for way in &mut found {
            way.probability /= whole;
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

    /// The trace and the random field that a walk has met, with the probability of 1. Any other
    /// reason why the walk could not go on is the error.
    fn drawn(
        &self,
        error: ServiceError,
        odds: &FactOdds,
    ) -> Result<(String, String, f64), ServiceError> {
        if let ServiceError::Fault {
            trace,
            fault: Fault::MissingField(field),
            ..
        } = &error
            && let Some(value) = self.fact(trace, field)
            && let Some(odds) = odds.of(trace, field)
        {
            return Ok((trace.clone(), field.clone(), odds.at(value)));
        }
        Err(error)
    }
}

/// A chain some of whose random values are decided. The most likely is the greatest.
struct Open {
    probability: f64,
    chain: Chain,
}

impl Ord for Open {
    fn cmp(&self, other: &Open) -> Ordering {
        self.probability.total_cmp(&other.probability)
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Open) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Open) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}
