//! Runs simulations.

use std::sync::atomic::Ordering;

use super::engine::Engine;
use super::error::SimError;
use super::run::{Run, Watch};
use crate::stats::{Operated, Outcome};

/// Simulates `run` until every request has ended.
///
/// # Errors
/// [`SimError`] for an invalid server, plan or load.
pub fn simulate(run: &Run<'_>) -> Result<Outcome, SimError> {
    let config = run.config.with_generation_costs();
    Ok(Engine::new(&run.on(&config))?.run()?.0)
}

/// Simulates like [`simulate`] until `watch` asks to stop; `None` if it did.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_watched(run: &Run<'_>, watch: &Watch) -> Result<Option<Outcome>, SimError> {
    let config = run.config.with_generation_costs();
    let engine = Engine::new(&run.on(&config))?.watched_by(watch);
    let (outcome, _) = engine.run()?;
    Ok((!watch.stop.load(Ordering::Relaxed)).then_some(outcome))
}

/// Simulates like [`simulate`] and also reports every operation, in the order of simulated time.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_logged(run: &Run<'_>) -> Result<(Outcome, Vec<Operated>), SimError> {
    let config = run.config.with_generation_costs();
    Engine::new(&run.on(&config))?.with_log().run()
}
