//! Settings of a run.

use accelflow_units::Time;

use crate::PlatformError;

/// The length of a run and its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Time before the measured time.
    pub warmup: Time,
    /// The measured time.
    pub duration: Time,
    /// The seed. Equal seeds give bit-identical runs.
    pub seed: u64,
    /// The time between two calls of the controller.
    pub control_period: Time,
}

impl Settings {
    /// Creates settings that measure for `duration` after a warm-up of a tenth of it. Seed 1; the
    /// controller runs every 100 us.
    pub fn lasting(duration: Time) -> Settings {
        Settings {
            warmup: duration / 10,
            duration,
            seed: 1,
            control_period: Time::from_us(100),
        }
    }

    /// Sets the seed.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Settings {
        Settings { seed, ..self }
    }

    pub(super) fn check(&self) -> Result<(), PlatformError> {
        let duration = self.duration.as_us_f64();
        PlatformError::unless(duration > 0.0, "duration", duration, "above 0")?;
        let period = self.control_period.as_us_f64();
        PlatformError::unless(period > 0.0, "control period", period, "above 0")
    }
}
