//! Completions and the server, for orchestrators in Python.

use accelflow_parameters::Refusal;
use accelflow_sim::Config;
use accelflow_sim::config::PARAMETERS;
use accelflow_sim::orchestrators::{
    Arm, Completion, Links, Next, Orchestrator, Simulated, orchestrator,
};
use accelflow_trace::Accel;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::answers::{DecisionRow, PropertiesRow, decision_row, properties_row};
use crate::errors::failure;
use crate::refused::refused;

/// The end of an operation. An orchestrator decides who handles it.
#[pyclass(frozen, eq, name = "Completion", module = "accelflow._native")]
#[derive(Clone, PartialEq)]
pub(crate) struct PyCompletion {
    pub(super) inner: Completion,
}

#[pymethods]
impl PyCompletion {
    /// The accelerator that has completed: TCP, Encr, ...
    #[getter]
    fn accelerator(&self) -> &'static str {
        self.inner.from.name()
    }

    /// The next step: "forward" to another accelerator, "park" at a TCP until a message arrives, or
    /// "end" of the trace.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.inner.next {
            Next::Forward(_) => "forward",
            Next::Park => "park",
            Next::End => "end",
        }
    }

    /// The next accelerator; None unless `kind` is "forward".
    #[getter]
    fn next(&self) -> Option<&'static str> {
        match self.inner.next {
            Next::Forward(accel) => Some(accel.name()),
            Next::Park | Next::End => None,
        }
    }

    /// Number of branches resolved.
    #[getter]
    fn branches(&self) -> u8 {
        self.inner.branches
    }

    /// Number of words read from the trace memory.
    #[getter]
    fn loads(&self) -> u8 {
        self.inner.loads
    }

    /// Number of transformations of the payload before the next operation.
    #[getter]
    fn transforms(&self) -> u8 {
        self.inner.transforms
    }

    /// Size of the payload in bytes.
    #[getter]
    fn size_bytes(&self) -> u64 {
        self.inner.size.get()
    }

    /// The effect on the join that comes next: "none" without one, "waits" for other arms, or is
    /// the "last" arm, which starts the next operation.
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

/// The simulated server of one simulation: its parameters by key, and its links.
#[pyclass(frozen, name = "SimulatedServer", module = "accelflow._native")]
pub(crate) struct PySimulatedServer {
    config: Config,
    links: Links,
    parameters: Py<PyDict>,
}

impl PySimulatedServer {
    pub(super) fn new(py: Python<'_>, simulated: &Simulated<'_>) -> PyResult<PySimulatedServer> {
        let parameters = PyDict::new(py);
        for row in PARAMETERS.rows() {
            parameters.set_item(row.parameter.key, (row.get)(simulated.config))?;
        }
        Ok(PySimulatedServer {
            config: simulated.config.clone(),
            links: simulated.links.clone(),
            parameters: parameters.unbind(),
        })
    }
}

#[pymethods]
impl PySimulatedServer {
    /// The value of the parameter `key`, in its unit; `accelflow explain` lists all. Costs of
    /// software are those of the server's generation of cores. Raises AccelflowError for an unknown
    /// key.
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

    /// Whether the accelerator `start` has a static link to the accelerator `end`, as Cohort has
    /// them. Raises AccelflowError for an unknown accelerator.
    fn linked(&self, start: &str, end: &str) -> PyResult<bool> {
        Ok(self.links.linked(accel(start)?, accel(end)?))
    }

    /// The properties of the native system `like`, in the order of `Properties`. Raises
    /// AccelflowError for an unknown system.
    fn properties(&self, like: &str) -> PyResult<PropertiesRow> {
        Ok(properties_row(&native(like)?.properties(&self.config)))
    }

    /// The decision of the native system `like` about `completion`, in the order of `Decision`.
    /// Raises AccelflowError for an unknown system.
    fn decision(&self, like: &str, completion: &PyCompletion) -> PyResult<DecisionRow> {
        let decision = native(like)?.decide(&completion.inner, &self.config, &self.links);
        Ok(decision_row(&decision))
    }
}

fn native(like: &str) -> PyResult<&'static dyn Orchestrator> {
    orchestrator(like).map_err(failure)
}

fn accel(name: &str) -> PyResult<Accel> {
    let found = Accel::ALL.into_iter().find(|accel| accel.name() == name);
    found.ok_or_else(|| {
        let known = Accel::ALL.map(Accel::name);
        refused(Refusal::unknown("accelerator", name, known))
    })
}
