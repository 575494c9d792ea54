//! The facts of a chain as a table that a simulator can ask on every step.

use accelflow_trace::{AtmAddress, Facts, Field, Image};

use super::{Chain, Place, ServiceError};

/// The facts of one chain, by address of the trace and number of the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainFacts {
    entry: AtmAddress,
    fields: usize,
    table: Vec<Option<i64>>,
}

/// What the payload of one trace says; answers conditions without comparing names.
#[derive(Clone, Copy, Debug)]
pub struct PayloadFacts<'a>(&'a [Option<i64>]);

impl ChainFacts {
    /// Looks the names of `chain` up in `image`. `place` is for the message of an error.
    ///
    /// # Errors
    /// [`ServiceError::UnknownTrace`] and [`ServiceError::UnknownField`].
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
        })
    }

    /// Where the chain begins.
    pub fn entry(&self) -> AtmAddress {
        self.entry
    }

    /// What the payload says in the trace that begins at `trace` (the address of its first word,
    /// also while a later word of it executes). Nothing for an address outside the memory.
    #[inline]
    pub fn of(&self, trace: AtmAddress) -> PayloadFacts<'_> {
        let row = trace.index() * self.fields;
        PayloadFacts(self.table.get(row..row + self.fields).unwrap_or(&[]))
    }
}

impl Facts for PayloadFacts<'_> {
    #[inline]
    fn get(&self, field: Field<'_>) -> Option<i64> {
        self.0.get(field.index).copied().flatten()
    }
}
