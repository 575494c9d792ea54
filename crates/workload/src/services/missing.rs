//! Facts that branches test but that a chain does not state.

use std::collections::VecDeque;

use accelflow_trace::{Fault, Image};

use super::outcomes::{MAX_WAYS, execute};
use super::service::Chain;

/// A payload value (a fact) that a branch of a trace tests, but for which the chain of traces
/// states no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFact {
    /// The name of the trace whose branch tests the value.
    pub trace: String,
    /// The name of the payload field.
    pub field: String,
    /// The condition under which a branch tests the missing fact: the values that other missing
    /// facts must have, as (trace, field, value). Empty if there is no such condition.
    pub given: Vec<(String, String, i64)>,
}

impl Chain {
    /// Returns the payload values that branches test but for which this chain states no value, in
    /// the order in which the chain's traces reach the branches. `is_open(trace, field)` is true
    /// for random values, which are never missing.
    ///
    /// Follows all paths through the branches (at most 65,536), with 0 and 1 for each missing or
    /// random value. A path that stops for another reason than a missing value adds nothing to the
    /// list. The list is empty if the chain's first trace is unknown.
    pub fn missing_facts(
        &self,
        image: &Image,
        is_open: &dyn Fn(&str, &str) -> bool,
    ) -> Vec<MissingFact> {
        let Some(entry) = image.entry(self.entry()) else {
            return Vec::new();
        };
        let mut closed = Chain::new(self.entry());
        for (trace, field, value) in self.facts().filter(|fact| !is_open(fact.0, fact.1)) {
            closed = closed.with(trace, field, value);
        }
        let mut found: Vec<MissingFact> = Vec::new();
        let mut ways = VecDeque::from([(closed, Vec::new())]);
        let mut looked_at = 0;
        while let Some((chain, given)) = ways.pop_front().filter(|_| looked_at < MAX_WAYS) {
            looked_at += 1;
            let Err((trace, Fault::MissingField(field))) = execute(&chain, entry, image) else {
                continue;
            };
            let stays_open = is_open(&trace, &field);
            if !stays_open {
                note(&mut found, &trace, &field, &given);
            }
            for value in [0, 1] {
                let mut given = given.clone();
                if !stays_open {
                    given.push((trace.clone(), field.clone(), value));
                }
                ways.push_back((chain.clone().with(&trace, &field, value), given));
            }
        }
        found
    }
}

/// Adds a fact that is tested where the facts `given` have these values. A fact that is tested on
/// several paths depends only on the values that these have in common.
fn note(found: &mut Vec<MissingFact>, trace: &str, field: &str, given: &[(String, String, i64)]) {
    let same = |fact: &&mut MissingFact| fact.trace == trace && fact.field == field;
    match found.iter_mut().find(same) {
        Some(known) => known.given.retain(|fact| given.contains(fact)),
        None => found.push(MissingFact {
            trace: trace.to_owned(),
            field: field.to_owned(),
            given: given.to_vec(),
        }),
    }
}
