//! Reports of a simulation's progress to a Python callable.

use std::sync::Mutex;

use pyo3::prelude::*;

/// A Python function that is called with the progress, from any thread. It keeps the first
/// exception that the function raises, or that a signal's handler raises.
pub(crate) struct Progress {
    callback: Option<Py<PyAny>>,
    raised: Mutex<Option<PyErr>>,
}

impl Progress {
    pub(crate) fn new(callback: Option<Py<PyAny>>) -> Progress {
        Progress {
            callback,
            raised: Mutex::new(None),
        }
    }

    /// Calls the function with `done` and `all`. Returns whether the work may continue.
    pub(crate) fn report(&self, done: u64, all: u64) -> bool {
        Python::attach(|py| {
            let called = match &self.callback {
                Some(callback) => callback.call1(py, (done, all)).map(drop),
                None => Ok(()),
            };
            match called.and_then(|()| py.check_signals()) {
                Ok(()) => true,
                Err(error) => {
                    if let Ok(mut raised) = self.raised.lock() {
                        raised.get_or_insert(error);
                    }
                    false
                }
            }
        })
    }

    /// Raises the exception that was kept.
    pub(crate) fn finish(self) -> PyResult<()> {
        match self.raised.into_inner().ok().flatten() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
