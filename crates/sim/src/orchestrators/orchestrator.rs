//! The interface of orchestrators.

use super::completion::Completion;
use super::decision::Decision;
use super::links::Links;
use super::properties::Properties;
use super::session::{PolicyError, Session, Simulated};
use crate::config::Config;

/// An orchestrator: the system under comparison that decides which hardware or software starts a
/// trace's next operation, and what this costs.
///
/// Implementations are stateless. All state is in the simulated hardware, or in the [`Session`] of
/// a simulation.
pub trait Orchestrator: Send + Sync {
    /// Returns the identifier in commands, files and results, such as `accelflow`.
    fn id(&self) -> &str;

    /// Returns the name in the paper, such as `CPU-Centric`.
    fn paper_name(&self) -> &str;

    /// Returns the properties on a server with `config` that do not change during a run. A run
    /// reads them once.
    fn properties(&self, config: &Config) -> Properties;

    /// Decides which of dispatcher, manager and core handle `completion`, and for how long.
    fn decide(&self, completion: &Completion, config: &Config, links: &Links) -> Decision;

    /// Whether decisions about completions without transformations depend on the size of the
    /// payload only by [`Completion::is_large`]. If so, a run calls [`Orchestrator::decide`] once
    /// for each operation of a trace and reuses the decision.
    fn decides_by_class(&self) -> bool {
        false
    }

    /// Begins a simulation. Returns a session whose decisions replace [`Orchestrator::properties`]
    /// and [`Orchestrator::decide`], if the orchestrator keeps state, can fail or orders queues;
    /// else `None`.
    ///
    /// # Errors
    /// [`PolicyError`] if the session cannot begin; it ends the simulation.
    fn session(&self, _: &Simulated<'_>) -> Result<Option<Box<dyn Session>>, PolicyError> {
        Ok(None)
    }

    /// Whether simulations with this orchestrator run one after the other, not in parallel. This is
    /// for orchestrators whose simulations would wait for one another anyway, as classes in Python
    /// do for the interpreter.
    fn takes_turns(&self) -> bool {
        false
    }

    /// Calls `simulate`, which runs a simulation with this orchestrator on this thread. A class in
    /// Python keeps the interpreter's thread state during the call, instead of creating it for each
    /// decision.
    fn host(&self, simulate: &mut (dyn FnMut() + Send)) {
        simulate();
    }
}
