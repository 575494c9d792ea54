//! The interface of orchestrators.

use super::completion::Completion;
use super::decision::Decision;
use super::links::Links;
use super::properties::Properties;
use super::session::{PolicyError, Session, Simulated};
use crate::config::Config;

/// An orchestrator of the ensemble: a system under comparison.
///
/// Implementations are stateless. All state is in the simulated hardware, or in the [`Session`] of
/// a simulation.
pub trait Orchestrator: Send + Sync {
    /// The identifier in commands, files and results.
    fn id(&self) -> &str;

    /// The name in the paper.
    fn paper_name(&self) -> &str;

    /// The fixed properties on a server with `config`. A run reads them once.
    fn properties(&self, config: &Config) -> Properties;

    /// Decides who handles `completion`, and for how long.
    fn decide(&self, completion: &Completion, config: &Config, links: &Links) -> Decision;

    /// Whether decisions about completions without transformations depend on the size of the payload
    /// only by [`Completion::is_large`]. A run then asks once for each operation of a trace.
    fn decides_by_class(&self) -> bool {
        false
    }

    /// Begins a simulation. Returns a session that decides in it instead of
    /// [`Orchestrator::properties`] and [`Orchestrator::decide`], if the orchestrator keeps state,
    /// can fail or orders queues.
    ///
    /// # Errors
    /// [`PolicyError`] if the session cannot begin; it ends the simulation.
    fn session(&self, _: &Simulated<'_>) -> Result<Option<Box<dyn Session>>, PolicyError> {
        Ok(None)
    }

    /// Whether its simulations run one after the other because they would wait for one another
    /// anyway, as classes in Python wait for the interpreter.
    fn takes_turns(&self) -> bool {
        false
    }

    /// Calls `simulate`, which runs one of its simulations on this thread. A class in Python keeps
    /// the interpreter's thread state for the whole simulation, instead of creating it for each
    /// decision.
    fn host(&self, simulate: &mut (dyn FnMut() + Send)) {
        simulate();
    }
}
