//! Python classes as systems that a simulation compares.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use accelflow_sim::Config;
use accelflow_sim::orchestrators::{
    Completion, Decision, Links, Orchestrator, PolicyError, Properties, Session, Simulated,
    orchestrator,
};
use pyo3::prelude::*;

use super::failure::policy_error;
use super::session::PythonSession;
use crate::errors::failure;

/// A native system with policies in Python.
pub(crate) struct PythonSystem {
    name: String,
    like: &'static dyn Orchestrator,
    system: Py<PyAny>,
    stopped: Arc<AtomicBool>,
}

impl PythonSystem {
    /// The system in `object`, which has `name`, `like`, `begin(server)`, `failed(place, error)`
    /// and `interrupt()`. Raises AccelflowError for an unknown system in `like`.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<PythonSystem> {
        let like: String = object.getattr("like")?.extract()?;
        Ok(PythonSystem {
            name: object.getattr("name")?.extract()?,
            like: orchestrator(&like).map_err(failure)?,
            system: object.clone().unbind(),
            stopped: Arc::default(),
        })
    }

    /// Ends the system's simulations soon, also one that runs Python code now.
    pub(crate) fn interrupt(&self) {
        if !self.stopped.swap(true, Ordering::Relaxed) {
            // If this fails, the simulation still ends after the present call into Python.
            Python::attach(|py| self.system.call_method0(py, "interrupt").ok());
        }
    }
}

impl Orchestrator for PythonSystem {
    fn id(&self) -> &str {
        &self.name
    }

    fn paper_name(&self) -> &str {
        &self.name
    }

    fn properties(&self, config: &Config) -> Properties {
        self.like.properties(config)
    }

    fn decide(&self, completion: &Completion, config: &Config, links: &Links) -> Decision {
        self.like.decide(completion, config, links)
    }

    fn session(&self, simulated: &Simulated<'_>) -> Result<Option<Box<dyn Session>>, PolicyError> {
        Python::attach(|py| {
            let begun = PythonSession::begin(py, &self.system, self.like, simulated, &self.stopped);
            match begun {
                Ok(session) => Ok(Some(Box::new(session) as Box<dyn Session>)),
                Err(error) => Err(policy_error(py, &self.system, "begin", error)),
            }
        })
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn host(&self, simulate: &mut (dyn FnMut() + Send)) {
        Python::attach(|py| py.detach(simulate));
    }
}
