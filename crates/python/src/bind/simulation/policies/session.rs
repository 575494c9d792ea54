//! The state of one simulation with policies in Python.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use accelflow_parameters::Refusal;
use accelflow_sim::Config;
use accelflow_sim::orchestrators::{
    Completion, Decision, Links, Orchestrator, PolicyError, Properties, QueueName, Session,
    Simulated, Waiting,
};
use accelflow_units::Time;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

use super::answers;
use super::failure::policy_error;
use super::names::Names;
use super::values::{PyCompletion, PySimulatedServer};
use super::waiting::PyWaiting;
use crate::refused::refused;

/// The result of `begin` of a system in Python: `Properties`; `decide` and `choose`, each None if
/// the native system answers; whether deadlines are set.
type Begun = (Py<PyAny>, Option<Py<PyAny>>, Option<Py<PyAny>>, bool);

/// The policies of one simulation.
pub(super) struct PythonSession {
    /// The system in Python, which describes failures.
    system: Py<PyAny>,
    like: &'static dyn Orchestrator,
    config: Config,
    links: Links,
    server: Py<PySimulatedServer>,
    begun: Begun,
    /// The names of services, as Python objects.
    services: Arc<[Py<PyString>]>,
    names: Names,
    stopped: Arc<AtomicBool>,
}

impl PythonSession {
    /// Begins a simulation of the Python system `system`. The native system `like` answers where
    /// `system` does not.
    pub(super) fn begin(
        py: Python<'_>,
        system: &Py<PyAny>,
        like: &'static dyn Orchestrator,
        simulated: &Simulated<'_>,
        stopped: &Arc<AtomicBool>,
    ) -> PyResult<PythonSession> {
        let names = Names::new(simulated.accelerators);
        let server = Py::new(py, PySimulatedServer::new(py, simulated, &names)?)?;
        let begun = system.call_method1(py, "begin", (&server,))?.extract(py)?;
        let text = |name: &str| PyString::new(py, name).unbind();
        Ok(PythonSession {
            system: system.clone_ref(py),
            like,
            config: simulated.config.clone(),
            links: simulated.links.clone(),
            server,
            begun,
            services: simulated.services.iter().map(|name| text(name)).collect(),
            names,
            stopped: Arc::clone(stopped),
        })
    }

    /// Calls `answer`, which asks a policy in Python, unless the simulation is being stopped.
    fn ask<T>(
        &self,
        place: &str,
        answer: impl for<'py> FnOnce(Python<'py>) -> PyResult<T>,
    ) -> Result<T, PolicyError> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(PolicyError::new("the simulation was interrupted"));
        }
        Python::attach(|py| {
            answer(py).map_err(|error| policy_error(py, &self.system, place, error))
        })
    }
}

impl Session for PythonSession {
    fn properties(&mut self) -> Result<Properties, PolicyError> {
        let answer = &self.begun.0;
        self.ask("properties", |py| answers::properties(answer.bind(py)))
    }

    fn decide(&mut self, completion: &Completion) -> Result<Decision, PolicyError> {
        let Some(decide) = &self.begun.1 else {
            return Ok(self.like.decide(completion, &self.config, &self.links));
        };
        let seen = PyCompletion {
            inner: *completion,
            names: self.names.clone(),
        };
        self.ask("decide", |py| {
            let answer = decide.bind(py).call1((seen, &self.server))?;
            answers::decision(&answer)
        })
    }

    fn orders_queues(&self) -> bool {
        self.begun.2.is_some()
    }

    fn needs_deadlines(&self) -> bool {
        self.begun.3
    }

    fn choose(
        &mut self,
        queue: &QueueName,
        waiting: &[Waiting],
        now: Time,
    ) -> Result<usize, PolicyError> {
        let Some(choose) = &self.begun.2 else {
            return Ok(0);
        };
        self.ask("choose", |py| {
            let seen = PyWaiting {
                queue: *queue,
                names: self.names.clone(),
                entries: waiting.to_vec(),
                services: Arc::clone(&self.services),
            };
            let accel = self.names.of(queue.accel);
            let answer = choose.bind(py).call1((accel, seen, now.as_ns_f64()))?;
            place(&answer, &queue.text(accel), waiting.len())
        })
    }
}

/// The index of an entry that `choose` returned. Raises AccelflowError for any other answer.
fn place(answer: &Bound<'_, PyAny>, queue: &str, length: usize) -> PyResult<usize> {
    let number = match answer.is_instance_of::<PyBool>() {
        true => None,
        false => answer.extract::<usize>().ok(),
    };
    number.filter(|place| *place < length).ok_or_else(|| {
        let shown = answer
            .repr()
            .map(|text| text.to_string())
            .unwrap_or_default();
        let last = length - 1;
        let allowed = match last {
            0 => "must be 0, the index of the only waiting entry".to_owned(),
            _ => format!("must be a whole number from 0 to {last}, the index of a waiting entry"),
        };
        refused(Refusal::new(
            "choose()",
            shown,
            format!("{allowed} ({queue})"),
        ))
    })
}
