//! The exception that every failure of an engine becomes.

use pyo3::create_exception;
use pyo3::exceptions::PyException;

create_exception!(
    accelflow,
    AccelflowError,
    PyException,
    "A failure that the user can act on: it names the place, the value and what is allowed."
);
