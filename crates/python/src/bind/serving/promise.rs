//! Promises (`accelflow_serve::Promise`) of the values that a handler's coroutine will return, for
//! `accelflow.server`.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use accelflow_serve::Promise;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::bind::serving::answer::{failure, returned};
use crate::call::call;
use crate::convert::{Floats, Value};

/// The pending response of a request whose handler is a coroutine.
///
/// Only the first answer counts. If the promise is dropped without one, the request is answered
/// with an error.
#[pyclass(frozen, name = "Promise", module = "accelflow._native")]
pub(crate) struct PyPromise {
    inner: Mutex<Option<Promise>>,
    floats: Floats,
}

impl PyPromise {
    pub(crate) fn new(promise: Promise, floats: Floats) -> PyPromise {
        PyPromise {
            inner: Mutex::new(Some(promise)),
            floats,
        }
    }

    fn take(&self) -> Option<Promise> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.take()
    }
}

#[pymethods]
impl PyPromise {
    /// Answers the request with the value that the coroutine returned. `worked_ns` is the processor
    /// time of the coroutine in nanoseconds; None if it is not measured.
    #[pyo3(signature = (value, worked_ns=None))]
    fn keep(&self, value: &Bound<'_, PyAny>, worked_ns: Option<u64>) {
        if let Some(promise) = self.take() {
            if let Some(worked_ns) = worked_ns {
                promise.worked(Duration::from_nanos(worked_ns));
            }
            let returns = |value: &Value<'_, '_>| promise.returns(value);
            let check = |field: &str, value: &Value<'_, '_>| promise.check_result(field, value);
            let answer = returned(value, self.floats, returns, check);
            promise.keep(Ok(answer));
        }
    }

    /// Answers the request with the exception that the coroutine raised.
    fn fail(&self, raised: &Bound<'_, PyAny>) {
        if let Some(promise) = self.take() {
            let error = PyErr::from_value(raised.clone());
            let check = |field: &str, value: &Value<'_, '_>| promise.check_result(field, value);
            let failed = failure(raised.py(), &error, self.floats, check);
            promise.keep(Err(failed));
        }
    }

    /// Calls `tell` once, from any thread, when the client stops waiting for the answer.
    fn when_abandoned(&self, tell: Py<PyAny>) {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(promise) = &*inner {
            promise.when_abandoned(move || {
                // A closed event loop, or an interpreter that ends, has nothing left to cancel.
                let _ = Python::try_attach(|py| drop(call(tell.bind(py), &PyTuple::empty(py))));
            });
        }
    }
}
