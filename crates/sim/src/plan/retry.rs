//! How often chains of traces fail, and how they are retried.

use accelflow_units::Time;

/// The largest allowed number of attempts to execute a chain that may fail, the first included.
pub const MAX_ATTEMPTS: u16 = 64;

/// How a chain of operations fails and is retried. After a failed attempt and a pause, the chain
/// starts again. If the last allowed attempt fails, the request is answered with an error, unless
/// the response was already sent or the chain is detached (the response does not wait for the
/// chain).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    /// Probability that an attempt fails, 0 to 1. Whether an attempt fails is drawn for each
    /// attempt of each request.
    pub odds: f64,
    /// Largest number of attempts of the chain, the first included: 1 to [`MAX_ATTEMPTS`].
    pub attempts: u16,
    /// Pause from the end of a failed attempt to the beginning of the next.
    pub backoff: Time,
}
