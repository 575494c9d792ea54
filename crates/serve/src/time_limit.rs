//! The longest time limit that a setting can have.

use std::time::Duration;

/// The longest time limit that a setting can have: 10^9 seconds (over 30 years), which clocks can
/// still add.
pub const MAX_TIME_LIMIT: Duration = Duration::from_secs(1_000_000_000);
