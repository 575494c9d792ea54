//! Requests as handlers in Python see them (`accelflow_serve::Request`, `Scope`), for
//! `accelflow.requests`.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use accelflow_serve::{
    CallOptions, Cancel, Metadata, MetadataError, MetadataValue, Request, ResponseMetadata, Scope,
    checking,
};
use pyo3::prelude::*;
use rustix::process::getpid;
use rustix::thread::gettid;

use crate::errors::AccelflowError;

/// A value of metadata: text, or bytes if the name ends in -bin.
#[derive(FromPyObject, IntoPyObject)]
pub(crate) enum Value {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<MetadataValue<'_>> for Value {
    fn from(value: MetadataValue<'_>) -> Value {
        match value {
            MetadataValue::Text(text) => Value::Text(text.to_owned()),
            MetadataValue::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

/// The metadata of a call. Raises AccelflowError for invalid metadata.
pub(crate) fn metadata(entries: &[(String, Value)]) -> PyResult<Metadata> {
    let mut metadata = Metadata::new();
    let added = entries.iter().try_for_each(|(name, value)| match value {
        Value::Text(text) => metadata.add(name, text),
        Value::Bytes(bytes) => metadata.add_bytes(name, bytes),
    });
    refused(added)?;
    Ok(metadata)
}

fn refused(added: Result<(), MetadataError>) -> PyResult<()> {
    added.map_err(|error| AccelflowError::new_err(error.to_string()))
}

impl Value {
    fn read(&self) -> MetadataValue<'_> {
        match self {
            Value::Text(text) => MetadataValue::Text(text),
            Value::Bytes(bytes) => MetadataValue::Bytes(bytes.clone()),
        }
    }
}

/// Metadata as pairs of name and value.
pub(crate) type Entries = Vec<(String, Value)>;

/// Returns the pairs of metadata, in their order.
pub(crate) fn entries(metadata: &Metadata) -> Entries {
    let pairs = metadata.iter();
    pairs
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect()
}

/// The request that a handler serves: its function, client, deadline and metadata.
#[pyclass(frozen, name = "Request", module = "accelflow._native")]
pub(crate) struct PyRequest {
    service: String,
    method: String,
    peer: String,
    peer_identities: Vec<String>,
    deadline: Option<Instant>,
    metadata: Metadata,
    response: ResponseMetadata,
    abandoned: Box<dyn Fn() -> bool + Send + Sync>,
}

impl PyRequest {
    pub(crate) fn of(request: &Request<'_>) -> PyRequest {
        PyRequest {
            service: request.service.to_owned(),
            method: request.method.to_owned(),
            peer: request.peer.to_string(),
            peer_identities: request.peer_identities.to_vec(),
            deadline: request.deadline,
            metadata: request.metadata.clone(),
            response: request.response(),
            abandoned: Box::new(request.abandonment()),
        }
    }
}

#[pymethods]
impl PyRequest {
    /// The name of the service that declares the function.
    #[getter]
    fn service(&self) -> &str {
        &self.service
    }

    /// The name of the called function.
    #[getter]
    fn method(&self) -> &str {
        &self.method
    }

    /// The client's address and port.
    #[getter]
    fn peer(&self) -> &str {
        &self.peer
    }

    /// The DNS names and URIs in the client's verified certificate.
    ///
    /// Empty unless the server has the setting `client_ca`.
    #[getter]
    fn peer_identities(&self) -> Vec<String> {
        self.peer_identities.clone()
    }

    /// Whether the client is known to have stopped waiting; only gRPC reports it.
    #[getter]
    fn abandoned(&self) -> bool {
        (self.abandoned)()
    }

    /// The metadata of a gRPC call, as pairs of name and value; empty for other protocols.
    ///
    /// Names are lower case. Values are bytes where the name ends in ``-bin``.
    #[getter]
    fn metadata(&self) -> Entries {
        entries(&self.metadata)
    }

    /// Adds a value under `name` to the initial metadata of a gRPC response.
    ///
    /// The client receives it before the message or the status. Names are lower case; `value` is
    /// bytes if the name ends in ``-bin``, else text. Raises AccelflowError for metadata that is
    /// not allowed, and for other protocols.
    fn add_initial_metadata(&self, name: &str, value: Value) -> PyResult<()> {
        refused(self.response.add_initial(name, &value.read()))
    }

    /// Adds a value under `name` to the trailing metadata of a gRPC response.
    ///
    /// The client receives it with the status. Names and values are as in `add_initial_metadata`.
    fn add_trailing_metadata(&self, name: &str, value: Value) -> PyResult<()> {
        refused(self.response.add_trailing(name, &value.read()))
    }

    /// Returns the first value of the metadata called `name`; None if the request has none.
    fn get(&self, name: &str) -> Option<Value> {
        self.metadata.get_all(name).next().map(Value::from)
    }

    /// Returns the seconds until the client's deadline; None without one (only gRPC has them).
    fn time_left_s(&self) -> Option<f64> {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.deadline.map(|deadline| left(deadline).as_secs_f64())
    }
}

/// The context of a request, for other threads that work on the request.
///
/// The context holds the deadline, distributed trace, tenant and priority of the request.
#[pyclass(frozen, name = "Scope", module = "accelflow._native")]
pub(crate) struct PyScope {
    inner: Scope,
}

#[pymethods]
impl PyScope {
    /// Whether the client is known to have stopped waiting.
    #[getter]
    fn abandoned(&self) -> bool {
        self.inner.is_abandoned()
    }

    /// Returns the seconds until the request's deadline; None without one.
    fn time_left_s(&self) -> Option<f64> {
        self.inner.time_left().map(|time| time.as_secs_f64())
    }
}

/// Returns the context of the request that this thread serves, such as its deadline.
///
/// None if the thread serves no request, or a request without such a context.
#[pyfunction]
pub(crate) fn current_scope() -> Option<PyScope> {
    Scope::current().map(|inner| PyScope { inner })
}

/// Makes a client call: does `work` with `options`, detached from the interpreter and in `scope`.
///
/// On the process's first thread, which runs Python's signal handlers, the call checks for signals
/// while it waits. What a handler raises, such as KeyboardInterrupt, cancels the call and is
/// raised.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    scope: Option<&PyScope>,
    mut options: CallOptions,
    work: impl FnOnce(&CallOptions) -> T + Send,
) -> PyResult<T> {
    let within = |options: &CallOptions| match scope {
        Some(scope) => scope.inner.enter(|| work(options)),
        None => work(options),
    };
    if gettid() != getpid() {
        return Ok(py.detach(|| within(&options)));
    }
    // A handle of this call alone, since the caller's may be that of other calls, too.
    let cancel = Cancel::new();
    let given = options.cancel.replace(cancel.clone());
    let (done, raised) = py.detach(|| {
        let raised = Rc::new(RefCell::new(None));
        let check = {
            let (raised, cancel) = (raised.clone(), cancel.clone());
            move || {
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    raised.replace(Some(error));
                    cancel.cancel();
                }
            }
        };
        let call = || checking(Rc::new(check), || within(&options));
        let done = match &given {
            Some(given) => given.passing_on(&cancel, call),
            None => call(),
        };
        (done, raised.take())
    });
    raised.map_or(Ok(done), Err)
}
