//! The largest allowed time limit in the settings.

use std::time::Duration;

use accelflow_parameters::Refusal;

/// The largest allowed time limit in the settings: 10^9 seconds (over 30 years). Adding it to the
/// present time does not overflow a clock.
pub const MAX_TIME_LIMIT: Duration = Duration::from_secs(1_000_000_000);

/// Checks the value of a time limit.
pub(crate) fn check_time_limit(name: &str, value: Duration) -> Result<(), Refusal> {
    if !value.is_zero() && value <= MAX_TIME_LIMIT {
        return Ok(());
    }
    let most = MAX_TIME_LIMIT.as_secs();
    let allowed = format!("must be above 0 and at most {most} seconds");
    Err(Refusal::new(name, format!("{value:?}"), allowed))
}
