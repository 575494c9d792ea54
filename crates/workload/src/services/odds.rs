//! Random facts: payload values drawn for each request instead of those of the most common path.

use accelflow_kernel::attribute_unit;
use accelflow_trace::{AtmAddress, Facts, Field, Image};

use super::payload_facts::PayloadFacts;

/// The probability that a payload field is 1 in a request. It can differ for fields that are 1 and
/// fields that are 0 on the most common path through the branches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odds {
    /// The probability, from 0 to 1, of the value 1 in a request, for a field that is 1 (or any
    /// value but 0) on the most common path.
    pub where_one: f64,
    /// The probability, from 0 to 1, of the value 1 in a request, for a field that is 0 on the most
    /// common path.
    pub where_zero: f64,
}

/// The error of a probability of a payload field that is not from 0 to 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("odds of {trace}.{field} = {value}: must be a probability from 0 to 1")]
pub struct OddsError {
    /// The name of the trace that tests the field.
    pub trace: String,
    /// The name of the payload field.
    pub field: String,
    /// The probability as given.
    pub value: f64,
}

/// The probabilities of payload values that vary from request to request, one for each pair of
/// trace and payload field. A field without a probability has the same value in every request: its
/// value on the most common path through the branches.
///
/// Values are drawn independently for each request, chain, trace and field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactOdds {
    known: Vec<(String, String, Odds)>,
}

impl Odds {
    /// Creates odds in which a payload field is 1 with the probability `probability`, whatever its
    /// value on the most common path.
    pub const fn of(probability: f64) -> Odds {
        Odds {
            where_one: probability,
            where_zero: probability,
        }
    }

    /// Creates odds in which a payload field differs from its value (0 or 1) on the most common
    /// path with the probability `other`, from 0 to 1.
    pub fn common_but(other: f64) -> Odds {
        Odds {
            where_one: 1.0 - other,
            where_zero: other,
        }
    }

    /// The probability of the value 1 for a field that is `common` on the most common path.
    pub(super) fn at(self, common: i64) -> f64 {
        if common == 0 {
            self.where_zero
        } else {
            self.where_one
        }
    }
}

impl FactOdds {
    /// Creates an empty set of probabilities: no payload value is random, and every request takes
    /// the most common path.
    pub fn none() -> FactOdds {
        FactOdds::default()
    }

    /// Sets the probability `odds` that the payload field `field` is 1 when branches of the trace
    /// `trace` test it. Replaces an earlier probability of the same field.
    ///
    /// # Errors
    /// [`OddsError`] for a probability outside 0 to 1.
    pub fn with(mut self, trace: &str, field: &str, odds: Odds) -> Result<FactOdds, OddsError> {
        let valid = |value: &f64| (0.0..=1.0).contains(value);
        if let Some(value) = [odds.where_one, odds.where_zero]
            .into_iter()
            .find(|value| !valid(value))
        {
            return Err(OddsError {
                trace: trace.to_owned(),
                field: field.to_owned(),
                value,
            });
        }
        self.known
            .retain(|known| known.0 != trace || known.1 != field);
        self.known.push((trace.to_owned(), field.to_owned(), odds));
        Ok(self)
    }

    /// Returns the probability that the payload field `field` is 1 when branches of the trace
    /// `trace` test it; `None` if it is not set.
    pub fn of(&self, trace: &str, field: &str) -> Option<Odds> {
        let found = self
            .known
            .iter()
            .find(|known| known.0 == trace && known.1 == field);
        found.map(|known| known.2)
    }
}

/// The odds of a chain as a table, in addition to its facts: see [`super::ChainFacts::with_odds`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OddsTable {
    /// By trace and field like the facts; empty if nothing is drawn.
    odds: Vec<Option<f64>>,
    place: u64,
}

/// The payload values (facts) that the branches of one trace test in one request. Random values are
/// drawn for this request.
#[derive(Clone, Copy, Debug)]
pub struct DrawnFacts<'a> {
    common: PayloadFacts<'a>,
    odds: &'a [Option<f64>],
    /// Seed and number of the request, and the index of the trace's first field.
    key: (u64, u64, u64),
}

/// Separates draws of facts from other attributes of a request.
const KIND: u64 = 0xFAC7 << 48;

impl OddsTable {
    /// The odds of each field that has a value in `common`, the facts of the most common path.
    pub(super) fn resolve<'f>(
        common: impl Fn(AtmAddress) -> PayloadFacts<'f>,
        odds: &FactOdds,
        place: (u16, u16),
        image: &Image,
    ) -> OddsTable {
        let names = image.predicates().fields();
        let mut table = vec![None; image.words().len() * names.len()];
        for (index, slot) in table.iter_mut().enumerate() {
            let (row, column) = (index / names.len(), index % names.len());
            let Some(trace) = AtmAddress::new(row).filter(|at| image.is_entry(*at)) else {
                continue;
            };
            let field = Field {
                index: column,
                name: &names[column],
            };
            let stated = odds.of(image.name(trace), field.name);
            let common = common(trace).get(field);
            *slot = stated.zip(common).map(|(odds, common)| odds.at(common));
        }
        OddsTable {
            odds: table,
            place: u64::from(place.0) << 32 | u64::from(place.1) << 16,
        }
    }

    /// Whether a field of the trace that begins at `trace` is drawn.
    pub(super) fn draws(&self, trace: AtmAddress, fields: usize) -> bool {
        let row = trace.index() * fields;
        let odds = self.odds.get(row..row + fields);
        odds.is_some_and(|odds| odds.iter().any(Option::is_some))
    }

    #[inline]
    pub(super) fn of<'a>(
        &'a self,
        common: PayloadFacts<'a>,
        trace: AtmAddress,
        fields: usize,
        seed: u64,
        request: u64,
    ) -> DrawnFacts<'a> {
        let row = trace.index() * fields;
        DrawnFacts {
            common,
            odds: self.odds.get(row..row + fields).unwrap_or(&[]),
            key: (seed, request, KIND | self.place | row as u64),
        }
    }
}

impl Facts for DrawnFacts<'_> {
    #[inline]
    fn get(&self, field: Field<'_>) -> Option<i64> {
        let Some(odds) = self.odds.get(field.index).copied().flatten() else {
            return self.common.get(field);
        };
        let (seed, request, first) = self.key;
        let drawn = attribute_unit(seed, request, first + field.index as u64);
        Some(i64::from(drawn < odds))
    }
}
