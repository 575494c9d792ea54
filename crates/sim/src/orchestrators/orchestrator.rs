//! The interface of orchestrators.

use super::completion::Completion;
use super::decision::Decision;
use super::links::Links;
use super::properties::Properties;
use super::session::{PolicyError, Session, Simulated};
use crate::config::Config;

/// A system under comparison: the rule that decides which hardware or software starts the next
/// operation of a trace (a sequence of accelerator operations), and how long this takes.
///
/// Orchestrators are stateless. All state is in the simulated hardware, or in the [`Session`] of a
/// simulation.
pub trait Orchestrator: Send + Sync {
    /// Returns the identifier of the orchestrator in commands, files and results, such as
    /// `accelflow`.
    fn id(&self) -> &str;

    /// Returns the name of the orchestrator in the paper, such as `CPU-Centric`, or a name of this
    /// project if the paper has none.
    fn paper_name(&self) -> &str;

    /// Returns the properties of the orchestrator on a server with `config`, which do not change
    /// during a run. A run calls this once for each server.
    fn properties(&self, config: &Config) -> Properties;

    /// Returns the decision about `completion`: which of output dispatcher, manager and core handle
    /// it, and for how long each is busy.
    fn decide(&self, completion: &Completion, config: &Config, links: &Links) -> Decision;

    /// Returns whether decisions about completions without format transformations depend on the
    /// payload's size only through [`Completion::is_large`]. If so, a run may call
    /// [`Orchestrator::decide`] in advance, once for each operation of a trace with a small and
    /// with a large payload, and reuse the two decisions.
    fn decides_by_class(&self) -> bool {
        false
    }

    /// Begins the session of a simulation; a simulation of several servers has a session for each
    /// server. The session's methods replace [`Orchestrator::properties`] and
    /// [`Orchestrator::decide`]. Returns `None`, the default, for an orchestrator that keeps no
    /// state, cannot fail and does not order queues.
    ///
    /// # Errors
    /// [`PolicyError`] if the session cannot begin; the simulation then fails.
    fn session(&self, _: &Simulated<'_>) -> Result<Option<Box<dyn Session>>, PolicyError> {
        Ok(None)
    }

    /// Returns whether simulations with this orchestrator run one after the other, not in parallel;
    /// the default is `false`. An orchestrator written in Python takes turns, because its
    /// simulations would wait for the interpreter anyway.
    fn takes_turns(&self) -> bool {
        false
    }

    /// Calls `simulate`, which runs a simulation with this orchestrator on this thread. An
    /// orchestrator written in Python keeps the interpreter's thread state during the call, instead
    /// of creating this state for each decision.
    fn host(&self, simulate: &mut (dyn FnMut() + Send)) {
        simulate();
    }
}
