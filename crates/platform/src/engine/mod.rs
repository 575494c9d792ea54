//! The platform in simulated time.

mod arbiter;
mod sources;
mod stages;
mod state;

use accelflow_shaping::{FlowConfig, Registers, Unit};
use accelflow_units::{Bytes, Time};

use crate::{Flow, Mechanism, Platform, PlatformError, RunResult};
use state::Run;

/// How long to run, and with which dice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Time before the measured time.
    pub warmup: Time,
    /// The measured time.
    pub duration: Time,
    /// The seed: the same gives the same run to the bit.
    pub seed: u64,
    /// From one call of the controller to the next.
    pub control_period: Time,
}

impl Settings {
    /// A measured time of `duration` after a tenth of it, with seed 1, and a controller every 100 us.
    pub fn lasting(duration: Time) -> Settings {
        Settings {
            warmup: duration / 10,
            duration,
            seed: 1,
            control_period: Time::from_us(100),
        }
    }

    /// The same with another seed.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Settings {
        Settings { seed, ..self }
    }

    fn check(&self) -> Result<(), PlatformError> {
        let duration = self.duration.as_us_f64();
        PlatformError::unless(duration > 0.0, "duration", duration, "above 0")?;
        let period = self.control_period.as_us_f64();
        PlatformError::unless(period > 0.0, "control period", period, "above 0")
    }
}

/// What the hardware has counted of a flow since the controller was last called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages that were done.
    pub messages: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Messages that wait to be let pass.
    pub waiting: u64,
}

/// What a controller changes while the platform runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// New registers for the limit of a flow whose tokens stand for this, which are in effect the
    /// reconfiguration time later.
    Write(usize, Unit, Registers),
    /// Another flow, numbered after those that there are, and under ARCUS how it is shaped.
    Add(Flow, Option<FlowConfig>),
    /// A flow brings no more messages. Those that it has brought are served.
    Remove(usize),
    /// Another route for a flow's messages from now on: its accelerators and its DMA engine.
    Route {
        /// The flow.
        flow: usize,
        /// The accelerators, in order.
        accelerators: Vec<usize>,
        /// The DMA engine.
        engine: usize,
    },
}

/// A control plane that is called periodically.
pub trait Controller {
    /// What to change, given what each flow did in the period that ends `now`.
    fn tick(&mut self, now: Time, period: Time, counters: &[Counters]) -> Vec<Action>;
}

/// Runs `flows` on `platform` under `mechanism`.
///
/// # Errors
/// What [`Platform::check`] and the mechanism refuse.
pub fn simulate(
    platform: &Platform,
    flows: &[Flow],
    mechanism: &Mechanism,
    settings: &Settings,
) -> Result<RunResult, PlatformError> {
    settings.check()?;
    Run::new(platform, flows, mechanism, settings)?.finish(None)
}

/// The same with a control plane.
///
/// # Errors
/// The same, and what the shaper refuses of the controller's registers.
pub fn simulate_with(
    platform: &Platform,
    flows: &[Flow],
    mechanism: &Mechanism,
    settings: &Settings,
    controller: &mut dyn Controller,
) -> Result<RunResult, PlatformError> {
    settings.check()?;
    Run::new(platform, flows, mechanism, settings)?.finish(Some(controller))
}
