//! What the simulator passes to orchestrators that are written in Python: completed operations, and
//! the simulated server.

use accelflow_sim::Config;
use accelflow_sim::config::PARAMETERS;
use accelflow_sim::orchestrators::{
    Arm, Completion, Links, Next, Orchestrator, Simulated, orchestrator,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::answers::{DecisionRow, PropertiesRow, decision_row, properties_row};
use super::names::Names;
use crate::errors::failure;
use crate::refused::refused;

/// The end of an accelerator's operation. An orchestrator decides who acts on it.
#[pyclass(frozen, eq, name = "Completion", module = "accelflow._native")]
#[derive(Clone, PartialEq)]
pub(crate) struct PyCompletion {
    pub(super) inner: Completion,
    pub(super) names: Names,
}

#[pymethods]
impl PyCompletion {
    /// The name of the accelerator that has completed: TCP, Encr, ..., or a custom one.
    #[getter]
    fn accelerator(&self) -> &str {
        self.names.of(self.inner.from)
    }

    /// What comes next: ``forward``, ``park`` or ``end``.
    ///
    /// ``forward`` is another accelerator, ``park`` a wait at TCP for a message, ``end`` the end of
    /// the trace.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.inner.next {
            Next::Forward(_) => "forward",
            Next::Park => "park",
            Next::End => "end",
        }
    }

    /// The name of the next accelerator; None unless `kind` is "forward".
    #[getter]
    fn next(&self) -> Option<&str> {
        match self.inner.next {
            Next::Forward(accel) => Some(self.names.of(accel)),
            Next::Park | Next::End => None,
        }
    }

    /// The number of branches that must be resolved to find what comes next.
    #[getter]
    fn branches(&self) -> u8 {
        self.inner.branches
    }

    /// The number of words that must be read from the trace memory.
    #[getter]
    fn loads(&self) -> u8 {
        self.inner.loads
    }

    /// The number of transformations of the payload's format before the next operation.
    #[getter]
    fn transforms(&self) -> u8 {
        self.inner.transforms
    }

    /// The size of the payload in bytes.
    #[getter]
    fn size_bytes(&self) -> u64 {
        self.inner.size.get()
    }

    /// The effect on the join that comes next.
    ///
    /// ``none`` if no join comes next; ``waits`` if other arms have not reached it; ``last`` if
    /// this arm is the last one, which starts the next operation.
    #[getter]
    fn arm(&self) -> &'static str {
        match self.inner.arm {
            Arm::None => "none",
            Arm::Waits => "waits",
            Arm::Last => "last",
        }
    }

    fn __repr__(&self) -> String {
        let next = self
            .next()
            .map_or("None".to_owned(), |next| format!("'{next}'"));
        format!(
            "Completion(accelerator='{}', kind='{}', next={next}, branches={}, loads={}, \
             transforms={}, size_bytes={}, arm='{}')",
            self.accelerator(),
            self.kind(),
            self.inner.branches,
            self.inner.loads,
            self.inner.transforms,
            self.inner.size.get(),
            self.arm()
        )
    }
}

/// The server of one simulation: its parameters, and what built-in systems decide.
#[pyclass(frozen, name = "SimulatedServer", module = "accelflow._native")]
pub(crate) struct PySimulatedServer {
    config: Config,
    links: Links,
    names: Names,
    parameters: Py<PyDict>,
}

impl PySimulatedServer {
    pub(super) fn new(
        py: Python<'_>,
        simulated: &Simulated<'_>,
        names: &Names,
    ) -> PyResult<PySimulatedServer> {
        let parameters = PyDict::new(py);
        for row in PARAMETERS.rows() {
            parameters.set_item(row.parameter.key, (row.get)(simulated.config))?;
        }
        Ok(PySimulatedServer {
            config: simulated.config.clone(),
            links: simulated.links.clone(),
            names: names.clone(),
            parameters: parameters.unbind(),
        })
    }
}

#[pymethods]
impl PySimulatedServer {
    /// Returns the value of the parameter `key`, in its unit; `accelflow explain` lists all keys.
    ///
    /// Costs of software are already scaled to the server's generation of cores. Raises
    /// AccelflowError for an unknown key.
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.parameters.bind(py).get_item(key)? {
            Some(value) => Ok(value),
            None => {
                let value = self.config.get(&key.to_cow()?).map_err(refused)?;
                Ok(value.into_pyobject(py)?.into_any())
            }
        }
    }

    /// Returns whether the accelerator `start` is statically linked to `end`, as in Cohort.
    ///
    /// Custom accelerators have the names that the traces declare. Raises AccelflowError for an
    /// accelerator that the simulated traces cannot call.
    fn linked(&self, start: &str, end: &str) -> PyResult<bool> {
        let (start, end) = (self.names.accel(start)?, self.names.accel(end)?);
        Ok(self.links.linked(start, end))
    }

    /// Returns the properties of the built-in system `like`.
    ///
    /// The values are in the order of `policies.Properties`. Raises AccelflowError for an unknown
    /// system.
    fn properties(&self, like: &str) -> PyResult<PropertiesRow> {
        Ok(properties_row(&native(like)?.properties(&self.config)))
    }

    /// Returns what the built-in system `like` decides about `completion`.
    ///
    /// The values are in the order of `policies.Decision`. Raises AccelflowError for an unknown
    /// system.
    fn decision(&self, like: &str, completion: &PyCompletion) -> PyResult<DecisionRow> {
        let decision = native(like)?.decide(&completion.inner, &self.config, &self.links);
        Ok(decision_row(&decision))
    }
}

fn native(like: &str) -> PyResult<&'static dyn Orchestrator> {
    orchestrator(like).map_err(failure)
}
