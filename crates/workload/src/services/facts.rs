//! Tables of the facts of a chain, for fast lookups on every step of a simulation.

use accelflow_trace::{AtmAddress, Image};

use super::error::ServiceError;
use super::odds::{DrawnFacts, FactOdds, OddsTable};
use super::payload_facts::PayloadFacts;
use super::place::Place;
use super::recorded::RecordedTables;
use super::service::Chain;

/// A table of the payload values (facts) that the branches of one chain of traces test. A value is
/// found by the address of the trace and the index of the payload field.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainFacts {
    entry: AtmAddress,
    fields: usize,
    table: Vec<Option<i64>>,
    odds: OddsTable,
    recorded: RecordedTables,
}

impl ChainFacts {
    /// Creates the table of the payload values that `chain` states. In the table, a trace is given
    /// by its address in `image` and a field by its index, so that lookups compare no names.
    /// `place` is the chain's place, for error messages.
    ///
    /// # Errors
    /// [`ServiceError::UnknownTrace`] for a trace that `image` does not have, and
    /// [`ServiceError::UnknownField`] for a field that no branch in `image` tests.
    pub fn resolve(
        chain: &Chain,
        place: &Place,
        image: &Image,
    ) -> Result<ChainFacts, ServiceError> {
        let address = |trace: &str| {
            let unknown = || ServiceError::UnknownTrace {
                place: place.clone(),
                trace: trace.to_owned(),
            };
            image.entry(trace).ok_or_else(unknown)
        };
        let names = image.predicates().fields();
        let mut table = vec![None; image.words().len() * names.len()];
        for (trace, field, value) in chain.facts() {
            let row = address(trace)?.index() * names.len();
            let Some(column) = names.iter().position(|name| name == field) else {
                let (trace, field) = (trace.to_owned(), field.to_owned());
                return Err(ServiceError::UnknownField {
                    place: place.clone(),
                    trace,
                    field,
                });
            };
            table[row + column] = Some(value);
        }
        Ok(ChainFacts {
            entry: address(chain.entry())?,
            fields: names.len(),
            table,
            odds: OddsTable::default(),
            recorded: RecordedTables::default(),
        })
    }

    /// Makes the payload fields that have a probability in `odds` random: their values are drawn
    /// for each request. A field without a value in this table stays without one. `place` is (index
    /// of the phase, index of the chain in the phase). The values of chains at different places are
    /// drawn independently.
    #[must_use]
    pub fn with_odds(mut self, odds: &FactOdds, place: (u16, u16), image: &Image) -> ChainFacts {
        self.odds = OddsTable::resolve(|trace| self.of(trace), odds, place, image);
        self
    }

    /// Makes each simulated request take the payload values of a recorded request, which is drawn
    /// at random. `variants` has a pair for each group of recorded requests with equal values: the
    /// number of requests, and the chain with their payload values. `place` is the chain's place,
    /// for error messages.
    ///
    /// # Errors
    /// The errors of [`ChainFacts::resolve`].
    pub fn with_recorded<'c>(
        mut self,
        variants: impl Iterator<Item = (u64, &'c Chain)>,
        place: &Place,
        image: &Image,
    ) -> Result<ChainFacts, ServiceError> {
        self.recorded = RecordedTables::default();
        for (count, chain) in variants {
            let facts = ChainFacts::resolve(chain, place, image)?;
            self.recorded.add(count, facts.table);
        }
        Ok(self)
    }

    /// Returns the address of the chain's first trace.
    pub fn entry(&self) -> AtmAddress {
        self.entry
    }

    /// Returns the payload values of request `request` in the trace that begins at address `trace`.
    /// Random values depend only on this table and the arguments, so every simulated system sees
    /// the same values. If no value is random and no recorded requests are set, the result equals
    /// [`ChainFacts::of`].
    #[inline]
    pub fn of_request(&self, trace: AtmAddress, seed: u64, request: u64) -> DrawnFacts<'_> {
        let common = match self.recorded.of(seed, request) {
            Some(table) => self.row(table, trace),
            None => self.of(trace),
        };
        self.odds.of(common, trace, self.fields, seed, request)
    }

    /// Returns the payload values in the trace that begins at address `trace`, on the most common
    /// path through the branches. For an address outside the trace memory, the result has no
    /// values.
    #[inline]
    pub fn of(&self, trace: AtmAddress) -> PayloadFacts<'_> {
        self.row(&self.table, trace)
    }

    /// Returns the payload values in the trace that begins at address `trace`, if they are the same
    /// for every request; `None` if some are random or recorded requests are set.
    pub fn fixed(&self, trace: AtmAddress) -> Option<PayloadFacts<'_>> {
        let drawn = !self.recorded.is_empty() || self.odds.draws(trace, self.fields);
        (!drawn).then(|| self.of(trace))
    }

    #[inline]
    fn row<'t>(&self, table: &'t [Option<i64>], trace: AtmAddress) -> PayloadFacts<'t> {
        let row = trace.index() * self.fields;
        PayloadFacts::new(table.get(row..row + self.fields).unwrap_or(&[]))
    }
}
