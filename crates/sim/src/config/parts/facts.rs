//! Answers of remote sides, as probabilities.

use accelflow_workload::services::{FactOdds, Odds, OddsError};

/// Probabilities of answers of remote sides off the most common path, where facts are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct FactsConfig {
    /// Reads that miss the cache, of chains that hit on the most common path.
    pub cache_miss: f64,
    /// Reads that miss the cache, of chains that miss on the most common path.
    pub cache_miss_where_common: f64,
    /// Reads of the database that find nothing.
    pub not_found: f64,
    /// Writes to cache or database that end with an exception.
    pub write_exception: f64,
    /// Remote procedure calls that end with an exception.
    pub rpc_exception: f64,
    /// Messages that are compressed where the most common path has them plain, and the reverse.
    pub other_form: f64,
}

impl FactsConfig {
    /// The odds of the facts that the paper's traces test (T1, T5 to T7, T10 and T12).
    ///
    /// # Errors
    /// [`OddsError`] of a number that is not a probability; a checked configuration has none.
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
