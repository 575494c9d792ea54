//! Conversion of the engines' errors to Python exceptions.

use std::any::Any;
use std::fmt::Display;
use std::time::Duration;

use accelflow_parameters::{Refusal, system_text};
use accelflow_serve::MAX_TIME_LIMIT;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    accelflow,
    AccelflowError,
    PyException,
    "A failure that the user can act on. If a value is not allowed, `place` is the name of the setting \
     or field that has it. It is None for other failures, and for values in workload files, ARCUS plans \
     and traces, whose place only the message states."
);

create_exception!(
    accelflow,
    TraceError,
    AccelflowError,
    "A trace that cannot be built, registered, linked, read from a file or executed to its end."
);

create_exception!(
    accelflow,
    DeclaredError,
    AccelflowError,
    "An exception that the service's interface declares for a function. Its arguments are the name of \
     the exception's field in the function's `throws` clause, and the dict of its members."
);

create_exception!(
    accelflow,
    CallError,
    AccelflowError,
    "A failed call to another service. `reason` is a stable name of the reason, and `executed` states \
     whether the service may have executed the call: 'no', 'perhaps' or 'yes'. For gRPC, `code` is \
     the name of the status code, `details` the text of the status that the service sent, if any, \
     `status_details` its details, and `initial_metadata` and `trailing_metadata` pairs of name and value."
);

/// Converts an engine's error to an AccelflowError, with the name of the setting for a [`Refusal`].
pub(crate) fn failure(error: impl Display + 'static) -> PyErr {
    match (&error as &dyn Any).downcast_ref::<Refusal>() {
        Some(refusal) => refused_at(&error, refusal),
        None => failed(&error),
    }
}

/// Converts an error to an AccelflowError.
pub(crate) fn failed(error: &impl Display) -> PyErr {
    AccelflowError::new_err(system_text(error))
}

/// Converts an error that is, or contains, `refusal` to an AccelflowError with its place.
pub(crate) fn refused_at(error: &impl Display, refusal: &Refusal) -> PyErr {
    Python::attach(|py| {
        let raised = failed(error);
        let set = raised.value(py).setattr("place", &refusal.place);
        set.err().unwrap_or(raised)
    })
}

/// A time limit. Raises AccelflowError for a value that is out of range.
pub(crate) fn seconds(name: &str, value: f64) -> PyResult<Duration> {
    let found = Duration::try_from_secs_f64(value).ok();
    let found = found.filter(|time| !time.is_zero() && *time <= MAX_TIME_LIMIT);
    found.ok_or_else(|| {
        let most = MAX_TIME_LIMIT.as_secs();
        let allowed = format!("must be above 0 and at most {most} seconds");
        failure(Refusal::number(name, value, allowed))
    })
}

/// Sets the default values of the exceptions' attributes, so that exceptions raised from Python
/// have them too.
pub(crate) fn set_defaults(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<AccelflowError>();
    class.setattr("place", py.None())?;
    let class = py.get_type::<TraceError>();
    class.setattr("reason", "unspecified")?;
    class.setattr("trace", py.None())?;
    class.setattr("step", py.None())?;
    class.setattr("position", py.None())?;
    let class = py.get_type::<CallError>();
    class.setattr("reason", "unspecified")?;
    class.setattr("executed", "perhaps")?;
    class.setattr("code", py.None())?;
    class.setattr("details", py.None())?;
    for name in ["status_details", "initial_metadata", "trailing_metadata"] {
        class.setattr(name, pyo3::types::PyTuple::empty(py))?;
    }
    Ok(())
}
