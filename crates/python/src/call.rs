//! Calls of Python functions on native threads. Python does not wait for such a thread when the
//! interpreter ends, so the thread may then still be in a call.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

#[allow(
    unsafe_code,
    reason = "pyo3 declares its functions as ones that never unwind"
)]
unsafe extern "C-unwind" {
    /// pyo3 does not use this one, whose declaration would then be the one of both.
    fn PyObject_CallObject(
        callable: *mut ffi::PyObject,
        arguments: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
}

/// Parks the thread for ever when it is dropped.
struct Park;

impl Drop for Park {
    fn drop(&mut self) {
        loop {
            std::thread::park();
        }
    }
}

/// Calls a function of Python.
///
/// Before version 3.14, Python ends a thread that wants to run code once the interpreter ends, by
/// `pthread_exit`. That unwinds the thread's stack, and would abort the program where Rust catches
/// panics. Such a thread is parked here instead, as later versions do, and ends with the process.
#[allow(unsafe_code, reason = "the call of a foreign function")]
pub(crate) fn call<'py>(
    callable: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let park = Park;
    // SAFETY: both are objects that live during the call, and `arguments` is a tuple. `Bound`
    // proves that the thread is attached to the interpreter.
    let value = unsafe { PyObject_CallObject(callable.as_ptr(), arguments.as_ptr()) };
    std::mem::forget(park);
    // SAFETY: a call returns an object of the caller's, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(callable.py(), value) }
}
