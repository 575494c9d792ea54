//! The simulation of a platform: its event loop, and the state of flows and messages.

mod arbiter;
mod controller;
mod flows;
mod injection;
mod run;
mod second_shaper;
mod settings;
mod slab;
mod sources;
mod stages;
mod state;

use crate::{Flow, Mechanism, Platform, PlatformError, RunResult};
pub use controller::{Action, Controller, Counters};
use run::Run;
pub use settings::Settings;

/// Simulates `flows` on `platform`, shared by `mechanism`, without a control plane.
///
/// # Errors
/// The errors of [`Platform::check`], and for a mechanism that does not fit the flows.
pub fn simulate(
    platform: &Platform,
    flows: &[Flow],
    mechanism: &Mechanism,
    settings: &Settings,
) -> Result<RunResult, PlatformError> {
    settings.check()?;
    Run::new(platform, flows, mechanism, settings)?.finish(None)
}

/// Simulates `flows` on `platform`, shared by `mechanism`, and calls `controller` once per control
/// period.
///
/// # Errors
/// The errors of [`simulate`], and for registers of the controller that the shaper refuses.
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
