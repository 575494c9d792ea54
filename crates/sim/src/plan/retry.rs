//! Attempts after failures.

use accelflow_units::Time;

/// The largest number of attempts.
pub const MAX_ATTEMPTS: u16 = 64;

/// Retries of a chain. After a failed attempt the chain starts again after a pause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    /// Probability that an attempt fails, drawn for each attempt of each request.
    pub odds: f64,
    /// Total number of attempts, from 1 to [`MAX_ATTEMPTS`].
    pub attempts: u16,
    /// Time from the end of a failed attempt to the beginning of the next.
    pub backoff: Time,
}
