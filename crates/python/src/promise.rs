//! Answers of coroutines (`accelflow_serve::Promise`), for `accelflow.server`.

use std::sync::{Mutex, PoisonError};

use accelflow_serve::{Promise, Returned};
use pyo3::prelude::*;

use crate::json;
use crate::server::failure;

/// What the server makes of a handler's value, by `returns`.
pub(crate) fn returned(
    value: &Bound<'_, PyAny>,
    returns: impl FnOnce(&json::Value<'_, '_>) -> Returned,
) -> Returned {
    if value.is_none() {
        return Returned::nothing();
    }
    let problem = json::Problem::default();
    let returned = returns(&json::Value::of(value, &problem));
    // As any other result that does not fit.
    match problem.raise() {
        Ok(()) => returned,
        Err(error) => Returned::unfit(error.to_string()),
    }
}

/// Where the answer of a coroutine goes. It is kept once; what is dropped is answered with an error.
#[pyclass(frozen, name = "Promise", module = "accelflow._native")]
pub(crate) struct PyPromise {
    inner: Mutex<Option<Promise>>,
}

impl PyPromise {
    pub(crate) fn new(promise: Promise) -> PyPromise {
        PyPromise {
            inner: Mutex::new(Some(promise)),
        }
    }

    fn take(&self) -> Option<Promise> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.take()
    }
}

#[pymethods]
impl PyPromise {
    /// Answers the request with a value.
    fn keep(&self, value: &Bound<'_, PyAny>) {
        if let Some(promise) = self.take() {
            let answer = returned(value, |it| promise.returns(it));
            promise.keep(Ok(answer));
        }
    }

    /// Answers the request with what was raised.
    fn fail(&self, raised: &Bound<'_, PyAny>) {
        if let Some(promise) = self.take() {
            let error = PyErr::from_value(raised.clone());
            promise.keep(Err(failure(raised.py(), &error)));
        }
    }

    /// Has `tell` called, once, from any thread, when nobody waits for the answer any more.
    fn when_abandoned(&self, tell: Py<PyAny>) {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(promise) = &*inner {
            promise.when_abandoned(move || {
                // An event loop that is closed, or an interpreter that ends, has nothing left to
                // be cancelled.
                let _ = Python::try_attach(|py| drop(tell.call0(py)));
            });
        }
    }
}
