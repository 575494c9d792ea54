//! Probabilities of cache misses, errors and other facts that branches test.

use accelflow_workload::services::{FactOdds, Odds, OddsError};

/// Probabilities (0 to 1) that a request leaves its most common path, because a cache, a database
/// or another service answers differently. The probabilities have an effect only in runs that draw
/// these answers at random.
#[derive(Clone, Debug, PartialEq)]
pub struct FactsConfig {
    /// Probability of a cache miss in a chain that has a cache hit on the most common path.
    pub cache_miss: f64,
    /// Probability of a cache miss in a chain that has a cache miss on the most common path.
    pub cache_miss_where_common: f64,
    /// Probability that a read from the database finds nothing.
    pub not_found: f64,
    /// Probability that a write to a cache or database ends with an exception.
    pub write_exception: f64,
    /// Probability that a remote procedure call ends with an exception.
    pub rpc_exception: f64,
    /// Probability that a message has another form than on the most common path: compressed instead
    /// of uncompressed, or the reverse.
    pub other_form: f64,
}

impl FactsConfig {
    /// Returns the probabilities of the facts (payload values) that branches test in the paper's
    /// traces T1, T5 to T7, T10 and T12.
    ///
    /// # Errors
    /// [`OddsError`] for a value outside 0 to 1, which a checked configuration does not have.
    pub fn odds(&self) -> Result<FactOdds, OddsError> {
        let hit = Odds {
            where_one: 1.0 - self.cache_miss,
            where_zero: 1.0 - self.cache_miss_where_common,
        };
        let form = Odds::common_but(self.other_form);
        let compressed = ["T1", "T5", "T6", "T10", "T12"].map(|trace| (trace, "compressed", form));
        let others = [
            ("T5", "hit", hit),
            ("T6", "found", Odds::of(1.0 - self.not_found)),
            ("T6", "c_compressed", form),
            ("T7", "exception", Odds::of(self.write_exception)),
            ("T10", "exception", Odds::of(self.rpc_exception)),
        ];
        let mut odds = FactOdds::none();
        for (trace, field, of) in compressed.into_iter().chain(others) {
            odds = odds.with(trace, field, of)?;
        }
        Ok(odds)
    }
}
