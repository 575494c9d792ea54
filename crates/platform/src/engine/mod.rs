//! The platform in simulated time.

mod arbiter;
mod controller;
mod flows;
mod run;
mod settings;
mod slab;
mod sources;
mod stages;
mod state;

use crate::{Flow, Mechanism, Platform, PlatformError, RunResult};
pub use controller::{Action, Controller, Counters};
use run::Run;
pub use settings::Settings;

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
