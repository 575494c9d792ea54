//! The interface of a way of orchestrating the ensemble.

use super::completion::Completion;
use super::decision::Decision;
use super::links::Links;
use super::properties::Properties;
use crate::config::Config;

/// A way of orchestrating the ensemble.
///
/// Implementations are stateless: everything that changes lives in the simulated hardware.
pub trait Orchestrator: Send + Sync {
    /// The identifier in commands, files and results.
    fn id(&self) -> &'static str;

    /// The name in the paper.
    fn paper_name(&self) -> &'static str;

    /// Its fixed properties on a server with `config`. A run asks for them once.
    fn properties(&self, config: &Config) -> Properties;

    /// Decides who handles `completion`, and for how long.
    fn decide(&self, completion: &Completion, config: &Config, links: &Links) -> Decision;
}
