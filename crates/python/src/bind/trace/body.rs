//! Custom accelerators whose body, the code that does the work, is a function in Python.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accelflow_accel::{AccelError, CustomBody, Ensemble, Fact, Input, Output};
use accelflow_parameters::Refusal;
use accelflow_trace::{Format, Kind};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::call::call as call_python;

thread_local! {
    static RUNNING: Cell<bool> = const { Cell::new(false) };
    /// Whether a caller waits on this thread for exceptions that end more than a run, and the
    /// latest of them.
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static ENDING: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Does `run` on this thread. Returns its result, and the exception of a body that must reach the
/// caller, if there was one: KeyboardInterrupt, SystemExit or another one that is not an Exception.
pub(crate) fn watch<T>(run: impl FnOnce() -> T) -> (T, Option<PyErr>) {
    WATCHED.set(true);
    let done = run();
    WATCHED.set(false);
    (done, ENDING.take())
}

/// The text of an exception that a body has raised, which is kept if it must reach the caller. With
/// `log`, the exception is also passed to it.
fn raised(py: Python<'_>, error: PyErr, log: Option<&Log<'_>>) -> String {
    let text = error.to_string();
    if let Some(log) = log {
        log(py, &error);
    }
    if WATCHED.get() && !error.is_instance_of::<PyException>(py) {
        ENDING.set(Some(error));
    }
    text
}

/// Whether a body in Python runs on this thread.
pub(crate) fn is_running() -> bool {
    RUNNING.get()
}

/// The registered bodies, for all executors and ensembles of the process.
static KNOWN: Mutex<Known> = Mutex::new(Known {
    bodies: Vec::new(),
    changes: 0,
});

struct Known {
    bodies: Vec<(Arc<Kind>, Arc<Py<PyAny>>)>,
    changes: u64,
}

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers `function` as the body of the custom accelerator that `kind` declares, replacing an
/// earlier one.
pub(crate) fn add(kind: Arc<Kind>, function: Py<PyAny>) {
    let mut known = known();
    let place = known
        .bodies
        .iter()
        .position(|(other, _)| other.name() == kind.name());
    let replaced = place.map(|place| known.bodies.remove(place));
    known.bodies.push((kind, Arc::new(function)));
    known.changes += 1;
    drop(known);
    // Dropping the earlier body may run Python code, which may call this function again.
    drop(replaced);
}

/// How often bodies have been added so far.
pub(crate) fn changes() -> u64 {
    known().changes
}

/// The bodies that were added. With `logs`, their exceptions go to the log of servers, since the
/// operators would otherwise not see where they were raised.
pub(crate) fn all(logs: bool) -> Vec<Box<dyn CustomBody>> {
    let known = known();
    let bodies = known.bodies.iter();
    let body = |(kind, function): &(Arc<Kind>, Arc<Py<PyAny>>)| -> Box<dyn CustomBody> {
        let body = PyBody::new(kind.clone(), function.clone());
        Box::new(PyBody { logs, ..body })
    };
    bodies.map(body).collect()
}

/// Adds the registered bodies to `ensemble`. Returns the number of registrations so far.
pub(crate) fn give_all(ensemble: &mut Ensemble) -> u64 {
    let known = known();
    for (kind, function) in &known.bodies {
        ensemble.add(Box::new(PyBody::new(kind.clone(), function.clone())));
    }
    known.changes
}

/// A function in Python as the body of a custom accelerator.
pub(crate) struct PyBody {
    kind: Arc<Kind>,
    function: Arc<Py<PyAny>>,
    /// Whether exceptions go to the log of servers.
    logs: bool,
}

impl PyBody {
    pub(crate) fn new(kind: Arc<Kind>, function: Arc<Py<PyAny>>) -> PyBody {
        PyBody {
            kind,
            function,
            logs: false,
        }
    }

    /// Logs an exception of the body with its traceback.
    fn log(&self, py: Python<'_>, error: &PyErr) {
        let log = || {
            let module = py.import("accelflow.coroutines")?;
            // With its traceback, which the exception lacks so far.
            let error = error.clone_ref(py).into_value(py);
            let given = (self.kind.name(), error).into_pyobject(py)?;
            call_python(&module.getattr("log_body_failure")?, &given)
        };
        if let Err(error) = log() {
            error.write_unraisable(py, None);
        }
    }
}

/// Takes an exception of a body.
type Log<'a> = dyn Fn(Python<'_>, &PyErr) + 'a;

impl CustomBody for PyBody {
    fn kind(&self) -> &Kind {
        &self.kind
    }

    fn run(&mut self, input: &Input<'_>) -> Result<Output, AccelError> {
        RUNNING.set(true);
        let log: &Log<'_> = &|py, error| self.log(py, error);
        let log = self.logs.then_some(log);
        let done = Python::attach(|py| call(py, &self.function, input, log));
        RUNNING.set(false);
        done.map_err(|error| AccelError::custom(self.kind.name(), error))
    }
}

/// Calls `function`. The error is the text of the exception that it raises, which `log` gets, too,
/// or of the defect of its result.
fn call(
    py: Python<'_>,
    function: &Py<PyAny>,
    input: &Input<'_>,
    log: Option<&Log<'_>>,
) -> Result<Output, String> {
    let facts = PyDict::new(py);
    let called = (|| {
        for (name, value) in input.facts.iter() {
            facts.set_item(name, value)?;
        }
        for (name, text) in input.facts.texts() {
            facts.set_item(name, text)?;
        }
        let given = (PyBytes::new(py, input.bytes), facts.clone()).into_pyobject(py)?;
        call_python(function.bind(py), &given)
    })();
    let result = called.map_err(|error| raised(py, error, log))?;
    let (payload, yielded) = match result.extract::<(Bound<'_, PyAny>, Bound<'_, PyDict>)>() {
        Ok((payload, yielded)) => (payload, Some(yielded)),
        Err(_) => (result, None),
    };
    let payload = match payload.is_none() {
        true => None,
        false => {
            let bytes = payload.extract::<Vec<u8>>();
            let bytes = bytes.map_err(|_| {
                let found = payload.get_type().to_string();
                let allowed = "must be a payload (bytes, or None if unchanged), or a pair of a \
                               payload and a dict of facts";
                Refusal::new("result of the accelerator's body", found, allowed).to_string()
            })?;
            Some((bytes, Format::Str))
        }
    };
    let facts = yielded.iter().flat_map(|yielded| yielded.iter());
    let facts = facts.map(|(name, value)| {
        let name: String = name
            .extract()
            .map_err(|_| Refusal::new("name of a fact", &name, "must be a str").to_string())?;
        let number = value.extract::<i64>().map(Fact::Number);
        let fact = number.or_else(|_| value.extract::<String>().map(Fact::Text));
        let fact = fact.map_err(|_| {
            let allowed = "must be an int of at most 64 bits or a str";
            Refusal::new(format!("fact {name}"), &value, allowed).to_string()
        })?;
        Ok((name, fact))
    });
    Ok(Output {
        payload,
        facts: facts.collect::<Result<_, String>>()?,
    })
}
