//! Request handlers of a server that are functions in Python.

use accelflow_serve::{HandlerError, Request, Returned, ValueHandler};
use pyo3::prelude::*;

use crate::bind::serving::answer::{failure, returned};
use crate::bind::serving::promise::PyPromise;
use crate::bind::serving::scope::PyRequest;
use crate::call::call;
use crate::convert;

/// A Python callable that maps a dict of arguments, and the request if it takes that, to the
/// function's value.
pub(crate) struct PyHandler {
    pub(crate) callable: Py<PyAny>,
    pub(crate) takes_request: bool,
    /// The type of coroutines.
    pub(crate) coroutine: Py<PyAny>,
    /// Runs a coroutine and keeps the promise of its value.
    pub(crate) begin: Py<PyAny>,
}

impl ValueHandler for PyHandler {
    fn call(&self, request: &Request<'_>) -> Result<Returned, HandlerError> {
        Python::attach(|py| {
            let floats = match request.is_thrift() {
                true => convert::Floats::All,
                false => convert::Floats::Finite,
            };
            let arguments = request.read_seed(convert::Builder(py))?;
            let answer = || -> PyResult<Returned> {
                let callable = self.callable.bind(py);
                let given = match self.takes_request {
                    false => (arguments,).into_pyobject(py)?,
                    true => (arguments, PyRequest::of(request)).into_pyobject(py)?,
                };
                let value = call(callable, &given)?;
                if value.is_instance(self.coroutine.bind(py))? {
                    let (promise, later) = request.later();
                    let given = (value, PyPromise::new(promise, floats)).into_pyobject(py)?;
                    call(self.begin.bind(py), &given)?;
                    return Ok(later);
                }
                let returns = |value: &convert::Value<'_, '_>| request.returns(value);
                Ok(returned(&value, floats, returns, |field, value| {
                    request.check_result(field, value)
                }))
            };
            answer().map_err(|error| {
                failure(py, &error, floats, |field, value| {
                    request.check_result(field, value)
                })
            })
        })
    }
}
