//! Queues, for policies in Python.

use std::sync::Arc;

use accelflow_parameters::Refusal;
use accelflow_sim::orchestrators::{QueueName, Waiting};
use accelflow_units::Time;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyString};

/// Without a deadline it is later than any.
pub(super) fn ns_or_infinity(due: Time) -> f64 {
    match due {
        Time::MAX => f64::INFINITY,
        due => due.as_ns_f64(),
    }
}

/// The entries that wait in a queue of an accelerator, in the order in which they became ready.
#[pyclass(frozen, name = "Waiting", module = "accelflow._native")]
pub(crate) struct PyWaiting {
    pub(super) queue: QueueName,
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
    /// The accelerator: TCP, Encr, ...
    #[getter]
    fn accelerator(&self) -> &'static str {
        self.queue.accel.name()
    }

    /// The index of the accelerator's instance.
    #[getter]
    fn instance(&self) -> u8 {
        self.queue.instance
    }

    /// True for the overflow area, from which entries move to the input queue; false for the input
    /// queue, from which elements load them.
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
            PyIndexError::new_err(Refusal::new("index of waiting", index, allowed).to_string())
        })
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let entries = (0..self.entries.len()).filter_map(|position| self.entry(py, position));
        PyList::new(py, entries.collect::<Vec<_>>())?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("<{}: {} waiting>", self.queue, self.entries.len())
    }
}

/// An entry that waits: an operation of a request.
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

    /// The time when the request arrived at the server, in ns since the simulation began.
    #[getter]
    fn arrival_ns(&self) -> f64 {
        self.inner.arrived.as_ns_f64()
    }

    /// The deadline of the operation, in ns since the simulation began; infinity without one.
    #[getter]
    fn deadline_ns(&self) -> f64 {
        ns_or_infinity(self.inner.due)
    }

    /// The time for which the operation holds an element of an idle server, in ns.
    #[getter]
    fn estimated_ns(&self) -> f64 {
        self.inner.expected.as_ns_f64()
    }

    /// The level of the request's service; the highest is the most urgent.
    #[getter]
    fn priority(&self) -> u8 {
        self.inner.priority
    }

    /// The number of the request's tenant.
    #[getter]
    fn tenant(&self) -> u16 {
        self.inner.tenant
    }

    /// The place in the queue: 0 became ready first.
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
