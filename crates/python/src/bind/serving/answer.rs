//! Conversion of the value that a Python handler returns, or of the exception that it raises, to
//! the server's answer.

use accelflow_serve::{HandlerError, Returned};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::convert;
use crate::errors::DeclaredError;

/// Encodes the value that a handler returned with `returns`. `check` finds out whether a value fits
/// Thrift's interface.
pub(crate) fn returned(
    value: &Bound<'_, PyAny>,
    floats: convert::Floats,
    returns: impl FnOnce(&convert::Value<'_, '_>) -> Returned,
    check: impl FnOnce(&str, &convert::Value<'_, '_>) -> Result<(), String>,
) -> Returned {
    if value.is_none() {
        return Returned::nothing();
    }
    let problem = convert::Problem::default();
    let seen = convert::Value::of(value, floats, &problem);
    let returned = returns(&seen);
    let checked = match problem.has_special() {
        true => check("success", &seen),
        false => Ok(()),
    };
    match problem.raise() {
        Ok(()) => checked.map_or_else(Returned::unfit, |()| returned),
        Err(error) => Returned::unfit(error.to_string()),
    }
}

/// The server's error for an exception that a handler has raised.
///
/// `check` finds out whether the members of a declared exception of that name fit Thrift's
/// interface.
pub(crate) fn failure(
    py: Python<'_>,
    error: &PyErr,
    floats: convert::Floats,
    check: impl FnOnce(&str, &convert::Value<'_, '_>) -> Result<(), String>,
) -> HandlerError {
    if error.is_instance_of::<DeclaredError>(py) {
        let declared = || -> PyResult<HandlerError> {
            let arguments = error.value(py).getattr("args")?;
            let (field, members): (String, Bound<'_, PyAny>) = arguments.extract()?;
            let body = match floats {
                convert::Floats::Finite => convert::from_python(&members)?,
                _ => convert::json_for_thrift(&members, |value| check(&field, value))?
                    .map_err(PyValueError::new_err)?,
            };
            Ok(HandlerError::Declared { field, body })
        };
        return declared().unwrap_or_else(|why| {
            let arguments = error.value(py).getattr("args");
            let arguments =
                arguments.map_or_else(|error| error.to_string(), |arguments| arguments.to_string());
            HandlerError::Internal(format!(
                "DeclaredError{arguments}: must be a name and a dict of members: {why}"
            ))
        });
    }
    let why = error.to_string();
    match error.value(py).getattr("_accelflow_error_id") {
        Ok(id) => HandlerError::Logged {
            id: id.to_string(),
            why,
        },
        Err(_) => HandlerError::Internal(why),
    }
}
