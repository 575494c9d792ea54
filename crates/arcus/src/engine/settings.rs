//! The settings of a simulation run: its length, its seed and its control period.

use accelflow_units::Time;

use crate::PlatformError;

/// The settings of a simulation run: its length, its seed and its control period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The simulated time before the measurement begins.
    pub warmup: Time,
    /// The simulated time that is measured, after the warm-up; above 0.
    pub duration: Time,
    /// The seed of all random numbers of the run. Equal seeds give bit-identical runs.
    pub seed: u64,
    /// The simulated time between two calls of the [`Controller`](crate::Controller); above 0.
    pub control_period: Time,
}

impl Settings {
    /// Creates settings that measure for `duration` after a warm-up of a tenth of `duration`, with
    /// seed 1 and a control period of 100 us.
    pub fn lasting(duration: Time) -> Settings {
        Settings {
            warmup: duration / 10,
            duration,
            seed: 1,
            control_period: Time::from_us(100),
        }
    }

    /// Sets the seed of all random numbers of the run.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Settings {
        Settings { seed, ..self }
    }

    /// The beginning and the end of the measured time.
    pub(super) fn measured(&self) -> (Time, Time) {
        (self.warmup, self.warmup + self.duration)
    }

    /// The last time within the run at which a [`Controller`](crate::Controller) is called, counted
    /// from the end of the warm-up; `None` if there is none after the warm-up.
    pub(crate) fn last_control(&self) -> Option<Time> {
        let end = self.warmup + self.duration;
        let period = self.control_period.as_ps().max(1);
        let last = (end.as_ps().saturating_sub(1) / period) * period;
        (last > self.warmup.as_ps()).then(|| Time::from_ps(last) - self.warmup)
    }

    pub(super) fn check(&self) -> Result<(), PlatformError> {
        let duration = self.duration.as_us_f64();
        PlatformError::unless(duration > 0.0, "duration in us", duration, "above 0")?;
        let period = self.control_period.as_us_f64();
        PlatformError::unless(period > 0.0, "control period in us", period, "above 0")
    }
}
