//! The simulated queues and their waiting entries, as policies in Python see them.

use std::sync::Arc;

use accelflow_parameters::Refusal;
use accelflow_sim::orchestrators::{QueueName, Waiting};
use accelflow_units::Time;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyString};

use super::names::Names;

/// A deadline in ns from the simulation's start; infinity if there is none.
pub(super) fn ns_or_infinity(due: Time) -> f64 {
    match due {
        Time::MAX => f64::INFINITY,
        due => due.as_ns_f64(),
    }
}

/// The waiting entries of an accelerator's queue, in the order in which they became ready.
#[pyclass(frozen, name = "Waiting", module = "accelflow._native")]
pub(crate) struct PyWaiting {
    pub(super) queue: QueueName,
    pub(super) names: Names,
    pub(super) entries: Vec<Waiting>,
    pub(super) services: Arc<[Py<PyString>]>,
}

impl PyWaiting {
    fn entry(&self, py: Python<'_>, position: usize) -> Option<PyWaitingEntry> {
        let inner = *self.entries.get(position)?;
        let service = self.services.get(usize::from(inner.service))?.clone_ref(py);
        Some(PyWaitingEntry {
            inner,
            service,
            position,
        })
    }
}

#[pymethods]
impl PyWaiting {
    /// The name of the accelerator: TCP, Encr, ..., or that of a custom accelerator.
    #[getter]
    fn accelerator(&self) -> &str {
        self.names.of(self.queue.accel)
    }

    /// The index of the accelerator's instance.
    #[getter]
    fn instance(&self) -> u8 {
        self.queue.instance
    }

    /// Whether the queue is the overflow area, whose entries move to the input queue.
    #[getter]
    fn is_overflow(&self) -> bool {
        self.queue.overflow
    }

    fn __len__(&self) -> usize {
        self.entries.len()
    }

    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<PyWaitingEntry> {
        let length = self.entries.len();
        let place = match usize::try_from(index) {
            Ok(place) => Some(place),
            Err(_) => length.checked_sub(index.unsigned_abs()),
        };
        let found = place.and_then(|place| self.entry(py, place));
        found.ok_or_else(|| {
            let allowed = format!("must be below {length}, the number of entries");
            PyIndexError::new_err(
                Refusal::new("index of a waiting entry", index, allowed).to_string(),
            )
        })
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let entries = (0..self.entries.len()).filter_map(|position| self.entry(py, position));
        PyList::new(py, entries.collect::<Vec<_>>())?.try_iter()
    }

    fn __repr__(&self) -> String {
        let queue = self.queue.text(self.accelerator());
        format!("<{queue}: {} waiting>", self.entries.len())
    }
}

/// An entry that waits in a queue: an operation of a request.
#[pyclass(frozen, name = "WaitingEntry", module = "accelflow._native")]
pub(crate) struct PyWaitingEntry {
    inner: Waiting,
    service: Py<PyString>,
    position: usize,
}

#[pymethods]
impl PyWaitingEntry {
    /// The name of the request's service.
    #[getter]
    fn service(&self, py: Python<'_>) -> Py<PyString> {
        self.service.clone_ref(py)
    }

    /// The time of the request's arrival, in ns from the start of the simulation.
    #[getter]
    fn arrival_ns(&self) -> f64 {
        self.inner.arrived.as_ns_f64()
    }

    /// The operation's deadline, in ns from the simulation's start; infinity without one.
    #[getter]
    fn deadline_ns(&self) -> f64 {
        ns_or_infinity(self.inner.due)
    }

    /// The time in ns that the operation takes on a processing element of an idle server.
    #[getter]
    fn estimated_ns(&self) -> f64 {
        self.inner.expected.as_ns_f64()
    }

    /// The priority of the request's service; the highest number is the most urgent.
    #[getter]
    fn priority(&self) -> u8 {
        self.inner.priority
    }

    /// The number that identifies the request's tenant; 0 by default.
    #[getter]
    fn tenant(&self) -> u16 {
        self.inner.tenant
    }

    /// The index of the entry in the queue; index 0 is the entry that became ready first.
    #[getter]
    fn position(&self) -> usize {
        self.position
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!(
            "WaitingEntry(service={:?}, arrival_ns={}, deadline_ns={}, estimated_ns={}, \
             priority={}, tenant={}, position={})",
            self.service.bind(py).to_string(),
            self.arrival_ns(),
            self.deadline_ns(),
            self.estimated_ns(),
            self.inner.priority,
            self.inner.tenant,
            self.position
        )
    }
}
