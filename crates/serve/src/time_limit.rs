//! The longest time limit that a setting can have.

use std::time::Duration;

/// The longest time limit: what is longer than 30 years is no limit, and more than clocks count to.
pub const MAX_TIME_LIMIT: Duration = Duration::from_secs(1_000_000_000);
