//! The facts of one trace of a chain.

use accelflow_trace::{Facts, Field};

/// The payload values (facts) that the branches of one trace test. The values are stored by the
/// index of the payload field, so that a lookup compares no names.
#[derive(Clone, Copy, Debug)]
pub struct PayloadFacts<'a>(&'a [Option<i64>]);

impl<'a> PayloadFacts<'a> {
    /// The facts with these values, by index of the payload field.
    pub(super) fn new(values: &'a [Option<i64>]) -> PayloadFacts<'a> {
        PayloadFacts(values)
    }
}

impl Facts for PayloadFacts<'_> {
    #[inline]
    fn get(&self, field: Field<'_>) -> Option<i64> {
        self.0.get(field.index).copied().flatten()
    }
}
