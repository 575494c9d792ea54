//! The facts of a chain as a table, for lookups on every step of a simulation.

use accelflow_trace::{AtmAddress, Image};

use super::error::ServiceError;
use super::odds::{DrawnFacts, FactOdds, OddsTable};
use super::payload_facts::PayloadFacts;
use super::place::Place;
use super::recorded::RecordedTables;
use super::service::Chain;

/// The payload values (facts) that the branches of one chain of traces test, as a table by address
/// of the trace and number of the field.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainFacts {
    entry: AtmAddress,
    fields: usize,
    table: Vec<Option<i64>>,
    odds: OddsTable,
    recorded: RecordedTables,
}

impl ChainFacts {
    /// Creates the table of the payload values that `chain` states, with names replaced by
    /// addresses and numbers of `image`. `place` is the chain's place, for error messages.
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

    /// Makes the fields with `odds` random: their values are drawn for each request. `place` is
    /// (phase, chain in the phase), which keeps the draws apart from those of other chains.
    #[must_use]
    pub fn with_odds(mut self, odds: &FactOdds, place: (u16, u16), image: &Image) -> ChainFacts {
        self.odds = OddsTable::resolve(|trace| self.of(trace), odds, place, image);
        self
    }

    /// Takes the payload values of each request from a recorded request, which is drawn from
    /// `variants`: pairs of a number of requests and the chain with their values. `place` is the
    /// chain's place, for error messages.
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

    /// Returns the payload values of request number `request` in the trace that begins at address
    /// `trace`. They depend only on the arguments, so they are the same in every simulated system.
    /// If nothing is random, they are those of [`ChainFacts::of`].
    #[inline]
    pub fn of_request(&self, trace: AtmAddress, seed: u64, request: u64) -> DrawnFacts<'_> {
        let common = match self.recorded.of(seed, request) {
            Some(table) => self.row(table, trace),
            None => self.of(trace),
        };
        self.odds.of(common, trace, self.fields, seed, request)
    }

    /// Returns the payload values on the most common path in the trace that begins at address
    /// `trace`. An address outside the memory has no values.
    #[inline]
    pub fn of(&self, trace: AtmAddress) -> PayloadFacts<'_> {
        self.row(&self.table, trace)
    }

    /// Returns the payload values in the trace that begins at address `trace`, if they are the same
    /// for every request; `None` if some are random.
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
