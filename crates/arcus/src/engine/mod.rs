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

/// Simulates `flows`, which share `platform` by the mechanism `mechanism`, without a control plane.
///
/// # Errors
/// The errors of [`Platform::check`]. [`PlatformError::OutOfRange`] for settings or a mechanism
/// with a value outside its range. [`PlatformError::FlowCount`] if the mechanism does not have
/// settings for exactly the given flows. [`PlatformError::Shaping`] for settings or messages that
/// the traffic shaper refuses.
pub fn simulate(
    platform: &Platform,
    flows: &[Flow],
    mechanism: &Mechanism,
    settings: &Settings,
) -> Result<RunResult, PlatformError> {
    settings.check()?;
    Run::new(platform, flows, mechanism, settings)?.finish(None)
}

/// Simulates `flows`, which share `platform` by the mechanism `mechanism`, and calls `controller`
/// at the end of each control period ([`Settings::control_period`]).
///
/// # Errors
/// The errors of [`simulate`], also for the flows, registers and routes that the controller sets.
/// If the controller names a flow that does not exist: [`PlatformError::UnknownPart`] for
/// [`Action::Remove`] and [`Action::Route`], and [`PlatformError::Shaping`] for [`Action::Write`]
/// under ARCUS; [`Action::WriteResults`] then has no effect.
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
