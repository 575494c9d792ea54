//! The clients (`accelflow_serve::Client`, `HttpClient`) for `accelflow.client`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use accelflow_accel::thrift::Protocol;
use accelflow_accel::{Codec, Record, Settings};
use accelflow_parameters::{Refusal, system_text};
use accelflow_serve::{
    Address, CallError as Failed, CallOptions, Cancel, Client, ClientConfig, Executed, Execution,
    GrpcClient, GrpcRequest, HttpClient, HttpRequest, PoolCounts, ReceivedMetadata, RetryPolicy,
    TlsTrust,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bind::serving::load::Load;
use crate::bind::serving::operations::{PyPools, pools};
use crate::bind::serving::scope::{Entries, PyScope, Value, detached, entries, metadata};
use crate::bind::serving::traces::PyClientTraces;
use crate::bind::simulation::progress::Progress;
use crate::convert;
use crate::errors::{CallError, DeclaredError, failure as refused, seconds};

/// The exception for a failed call.
fn failure(py: Python<'_>, error: &Failed) -> PyErr {
    if let Failed::Declared { field, body } = error {
        return match convert::to_python(py, body.as_bytes()) {
            Ok(members) => DeclaredError::new_err((field.clone(), members.unbind())),
            Err(error) => error,
        };
    }
    let raised = CallError::new_err(system_text(error));
    let executed = match error.executed() {
        Executed::No => "no",
        Executed::Perhaps => "perhaps",
        Executed::Yes => "yes",
    };
    let value = raised.value(py);
    let set = value
        .setattr("reason", error.reason())
        .and_then(|()| value.setattr("executed", executed));
    set.err().unwrap_or(raised)
}

/// The exception for a failed gRPC call of `client`, with gRPC's code, and text, details and
/// metadata of the service's status.
fn grpc_failure(py: Python<'_>, client: &GrpcClient, error: &Failed) -> PyErr {
    let raised = failure(py, error);
    let none = ReceivedMetadata::default();
    let (text, metadata) = match error {
        Failed::Status {
            message, metadata, ..
        } => (Some(message), &**metadata),
        _ => (None, &none),
    };
    let set = || -> PyResult<()> {
        let details = client.details_of_status(&metadata.status_details);
        let details = serde_json::Value::Array(details).to_string();
        let value = raised.value(py);
        value.setattr("code", error.code().name())?;
        value.setattr("details", text)?;
        value.setattr(
            "status_details",
            convert::to_python(py, details.as_bytes())?,
        )?;
        value.setattr("initial_metadata", entries(&metadata.initial))?;
        value.setattr("trailing_metadata", entries(&metadata.trailing))
    };
    set().err().unwrap_or(raised)
}

/// A handle that cancels calls from another thread.
#[pyclass(frozen, name = "Cancel", module = "accelflow._native")]
pub(crate) struct PyCancel {
    inner: Cancel,
}

#[pymethods]
impl PyCancel {
    #[new]
    fn new() -> PyCancel {
        PyCancel {
            inner: Cancel::new(),
        }
    }

    /// Cancels all calls that were given this handle, and later calls with it.
    fn cancel(&self) {
        self.inner.cancel();
    }

    /// Whether `cancel` was called.
    #[getter]
    fn cancelled(&self) -> bool {
        self.inner.is_cancelled()
    }
}

fn options(
    timeout_s: Option<f64>,
    cancel: Option<&PyCancel>,
    idempotent: bool,
) -> PyResult<CallOptions> {
    let timeout = timeout_s
        .map(|timeout| seconds("timeout_s", timeout))
        .transpose()?;
    Ok(CallOptions {
        deadline: timeout.map(|timeout| Instant::now() + timeout),
        cancel: cancel.map(|cancel| cancel.inner.clone()),
        idempotent,
    })
}

/// `accelflow.settings.ClientTls`.
#[derive(FromPyObject)]
struct PyClientTls {
    ca: PathBuf,
    server_name: Option<String>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl PyClientTls {
    /// The certificates by which a client trusts the service at `address`.
    fn trust(&self, address: &Address) -> PyResult<TlsTrust> {
        let name = self.server_name.as_deref().unwrap_or(address.host());
        let trust = match self.certificate.as_ref().zip(self.key.as_ref()) {
            None => TlsTrust::from_pem_file(&self.ca, name),
            Some((certificate, key)) => TlsTrust::with_identity(&self.ca, name, certificate, key),
        };
        trust.map_err(refused)
    }
}

/// The address of a service, and the certificates by which the client trusts it if calls use TLS.
fn peer(address: &str, tls: Option<PyClientTls>) -> PyResult<(Address, Option<TlsTrust>)> {
    let address: Address = address.parse().map_err(refused)?;
    let trust = tls.map(|tls| tls.trust(&address)).transpose()?;
    Ok((address, trust))
}

/// The settings of all clients, in Python's units.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Bounds {
    timeout_s: f64,
    connect_timeout_s: f64,
    idle_timeout_s: f64,
    max_connections: usize,
    calls_per_connection: usize,
    max_waiting: usize,
    compress: bool,
    max_attempts: u32,
    seed: u64,
    workers: Option<PyPools>,
}

impl Bounds {
    fn config(&self) -> PyResult<ClientConfig> {
        Ok(ClientConfig {
            timeout: seconds("timeout_s", self.timeout_s)?,
            connect_timeout: seconds("connect_timeout_s", self.connect_timeout_s)?,
            idle_timeout: seconds("idle_timeout_s", self.idle_timeout_s)?,
            max_connections: self.max_connections,
            calls_per_connection: self.calls_per_connection,
            max_waiting: self.max_waiting,
            compress: self.compress,
            execution: match &self.workers {
                Some(given) => Execution::Ensemble(pools(given)?),
                None => Execution::Inline,
            },
            retry: RetryPolicy {
                max_attempts: self.max_attempts,
                seed: self.seed,
                ..RetryPolicy::default()
            },
        })
    }
}

fn counts(counts: PoolCounts) -> (usize, usize, usize) {
    (counts.open, counts.idle, counts.waiting)
}

/// A client of the functions that a Thrift file (`.thrift`) declares.
///
/// By default, a call executes forms of the traces T9, which sends the request, and T10, which
/// receives the response.
#[pyclass(frozen, name = "Client", module = "accelflow._native")]
pub(crate) struct PyClient {
    inner: Client,
}

#[pymethods]
impl PyClient {
    /// Creates a client of the service at `address` (HOST:PORT).
    ///
    /// Reads the interface and, if `tls` is given, the certificates. `idempotent` lists the
    /// functions that may be called again after a failure; `bounds` limits times, retries and
    /// connections. Raises AccelflowError for a file that cannot be used and for a setting that is
    /// not allowed.
    #[new]
    #[pyo3(signature = (
        interface, address, *, include_dirs, protocol, tls, multiplexed, idempotent, bounds
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        interface: PathBuf,
        address: &str,
        include_dirs: Vec<PathBuf>,
        protocol: &str,
        tls: Option<PyClientTls>,
        multiplexed: bool,
        idempotent: Vec<String>,
        bounds: Bounds,
    ) -> PyResult<PyClient> {
        let (address, trust) = peer(address, tls)?;
        let protocol = match protocol {
            "binary" => Protocol::Binary,
            "compact" => Protocol::Compact,
            other => {
                let known = ["binary", "compact"];
                return Err(refused(Refusal::unknown("protocol", other, known)));
            }
        };
        let config = bounds.config()?;
        let dirs = &include_dirs;
        let made = Client::from_interface(&interface, dirs, address, protocol, trust, config);
        let mut inner = made.map_err(refused)?;
        inner.set_multiplexed(multiplexed);
        for name in idempotent {
            let known = inner.set_idempotent(&name);
            known.map_err(|error| refused(format!("idempotent: {error}")))?;
        }
        Ok(PyClient { inner })
    }

    /// Calls the function `method` (`Service.method`) with its arguments and returns its value.
    ///
    /// Raises DeclaredError for an exception that the interface declares, and CallError for a
    /// failed call.
    #[pyo3(signature = (
        method, arguments, *, timeout_s=None, cancel=None, idempotent=false, scope=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn call<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        arguments: &Bound<'py, PyAny>,
        timeout_s: Option<f64>,
        cancel: Option<&PyCancel>,
        idempotent: bool,
        scope: Option<&PyScope>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = options(timeout_s, cancel, idempotent)?;
        let arguments = self.arguments(py, method, arguments)?;
        let called = detached(py, scope, options, |options| {
            self.inner.call_with(method, &arguments, options)
        })?;
        let of = |field: &str, json: &[u8]| self.member(py, method, field, json);
        match called {
            Ok(value) if value.is_empty() => Ok(py.None().into_bound(py)),
            Ok(value) => of("success", &value),
            Err(Failed::Declared { field, body }) => {
                let members = of(&field, body.as_bytes())?;
                Err(DeclaredError::new_err((field, members.unbind())))
            }
            Err(error) => Err(failure(py, &error)),
        }
    }

    /// Calls `method` (`Service.method`) at given times on `callers` threads, to generate load.
    ///
    /// Calls use `arguments` in turn. A call begins at its time in `due_s`, in seconds from the
    /// start, or as soon as a thread is free. Returns for each call (its delay after the due time,
    /// the time from the due time to its end, whether it succeeded), with times in us. `progress`
    /// is called regularly with the number of finished calls and the total number; an exception
    /// that it raises ends the load. Calls that have not begun `until_s` seconds after the start
    /// are neither made nor returned.
    #[pyo3(signature = (method, arguments, due_s, callers, progress=None, until_s=None))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn drive(
        &self,
        py: Python<'_>,
        method: &str,
        arguments: Vec<Bound<'_, PyAny>>,
        due_s: Vec<f64>,
        callers: usize,
        progress: Option<Py<PyAny>>,
        until_s: Option<f64>,
    ) -> PyResult<Vec<(f64, f64, bool)>> {
        let arguments = arguments.iter();
        let arguments = arguments.map(|arguments| self.arguments(py, method, arguments));
        let load = Load {
            method: method.to_owned(),
            arguments: arguments.collect::<PyResult<_>>()?,
            due_s,
            callers,
            until_s,
        };
        let progress = Progress::new(progress);
        let calls = py.detach(|| load.drive(&self.inner, &|done, all| progress.report(done, all)));
        progress.finish()?;
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        let calls = calls.map_err(refused)?.into_iter();
        Ok(calls
            .map(|call| (us(call.late), us(call.response), call.good))
            .collect())
    }

    /// Uses other traces for further calls: an `accelflow.own_traces.ClientTraces`.
    ///
    /// None restores the built-in traces. Returns how often traces have been replaced so far.
    /// Raises AccelflowError for traces that do not fit the client's calls.
    #[pyo3(signature = (traces))]
    fn set_traces(&self, py: Python<'_>, traces: Option<PyClientTraces>) -> PyResult<u64> {
        let traces = traces.map(PyClientTraces::read).transpose()?;
        py.detach(|| self.inner.set_traces(traces).map_err(refused))
    }

    /// Reads the trace file again and uses its traces for further calls.
    ///
    /// Returns how often traces have been replaced so far. Raises AccelflowError for traces that do
    /// not fit the client's calls, and if the traces are not from a file.
    fn reload_traces(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.inner.reload_traces().map_err(refused))
    }

    /// Returns the numbers of (open connections, idle connections, calls that wait for one).
    fn connections(&self) -> (usize, usize, usize) {
        counts(self.inner.connections())
    }

    /// Returns the client's metrics in Prometheus' text format.
    fn metrics(&self) -> String {
        self.inner.metrics()
    }
}

impl PyClient {
    /// The JSON text of arguments of `method`.
    fn arguments(
        &self,
        py: Python<'_>,
        method: &str,
        arguments: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<u8>> {
        let check = |value: &convert::Value<'_, '_>| self.inner.check_arguments(method, value);
        convert::json_for_thrift(arguments, check)?.map_err(|error| failure(py, &error))
    }

    /// The Python object of the JSON text of a member of the result of `method`.
    fn member<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        field: &str,
        json: &[u8],
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(record) = self.inner.result_type(method) else {
            return convert::to_python(py, json);
        };
        let whole = [b"{\"", field.as_bytes(), b"\":", json, b"}"].concat();
        // Fails for compressed results that do not fit the interface, which are taken as they are.
        let Ok(Some(bytes)) = record.with_floats(&whole) else {
            return convert::to_python(py, json);
        };
        let result = Record::Thrift(record).read_seed(&bytes, convert::Builder(py));
        result.map_err(refused)?.get_item(field)
    }
}

/// A gRPC client (over HTTP/2) of the methods that a `.proto` file declares.
///
/// By default, a call executes forms of the traces T9, which sends the request, and T10, which
/// receives the response.
#[pyclass(frozen, name = "GrpcClient", module = "accelflow._native")]
pub(crate) struct PyGrpcClient {
    inner: GrpcClient,
}

#[pymethods]
impl PyGrpcClient {
    /// Creates a client of the service at `address` (HOST:PORT).
    ///
    /// Reads the interface and, if `tls` is given, the certificates. `idempotent` lists the methods
    /// that may be called again after a failure; `bounds` limits times, retries and connections.
    /// Raises AccelflowError for a file that cannot be used and for a setting that is not allowed.
    #[new]
    #[pyo3(signature = (interface, address, *, include_dirs, tls, idempotent, bounds))]
    fn new(
        interface: PathBuf,
        address: &str,
        include_dirs: Vec<PathBuf>,
        tls: Option<PyClientTls>,
        idempotent: Vec<String>,
        bounds: Bounds,
    ) -> PyResult<PyGrpcClient> {
        let (address, trust) = peer(address, tls)?;
        let config = bounds.config()?;
        let made = GrpcClient::from_interface(&interface, &include_dirs, address, trust, config);
        let mut inner = made.map_err(refused)?;
        for name in idempotent {
            let known = inner.set_idempotent(&name);
            known.map_err(|error| refused(format!("idempotent: {error}")))?;
        }
        Ok(PyGrpcClient { inner })
    }

    /// Calls `method` (`Service.Method`) with the JSON value `request`.
    ///
    /// Returns (response, initial metadata, trailing metadata), each metadata as pairs of name and
    /// value. Raises CallError for a failed call.
    #[pyo3(signature = (
        method, request, metadata, *, timeout_s=None, cancel=None, idempotent=false, scope=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn call<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        request: &Bound<'py, PyAny>,
        metadata: Vec<(String, Value)>,
        timeout_s: Option<f64>,
        cancel: Option<&PyCancel>,
        idempotent: bool,
        scope: Option<&PyScope>,
    ) -> PyResult<(Bound<'py, PyAny>, Entries, Entries)> {
        let options = options(timeout_s, cancel, idempotent)?;
        let message = match request.is_none() && !self.inner.takes_json_value(method) {
            true => b"{}".to_vec(),
            false => convert::from_python(request)?,
        };
        let request = GrpcRequest {
            method,
            message: &message,
            metadata: &self::metadata(&metadata)?,
        };
        let called = detached(py, scope, options, |options| {
            self.inner.respond_with(&request, options)
        })?;
        let response = called.map_err(|error| grpc_failure(py, &self.inner, &error))?;
        let value = convert::to_python(py, &response.message)?;
        let metadata = response.metadata;
        Ok((
            value,
            entries(&metadata.initial),
            entries(&metadata.trailing),
        ))
    }

    /// Uses other traces for further calls: an `accelflow.own_traces.ClientTraces`.
    ///
    /// None restores the built-in traces. Returns how often traces have been replaced so far.
    /// Raises AccelflowError for traces that do not fit the client's calls.
    #[pyo3(signature = (traces))]
    fn set_traces(&self, py: Python<'_>, traces: Option<PyClientTraces>) -> PyResult<u64> {
        let traces = traces.map(PyClientTraces::read).transpose()?;
        py.detach(|| self.inner.set_traces(traces).map_err(refused))
    }

    /// Reads the trace file again and uses its traces for further calls.
    ///
    /// Returns how often traces have been replaced so far. Raises AccelflowError for traces that do
    /// not fit the client's calls, and if the traces are not from a file.
    fn reload_traces(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.inner.reload_traces().map_err(refused))
    }

    /// Returns the numbers of (open connections, idle connections, calls that wait for one).
    fn connections(&self) -> (usize, usize, usize) {
        counts(self.inner.connections())
    }

    /// Returns the client's metrics in Prometheus' text format.
    fn metrics(&self) -> String {
        self.inner.metrics()
    }
}

/// A client of one HTTP/1.1 server.
///
/// By default, a request executes the traces T11, which sends it, and T12, which receives the
/// response; without TLS `T11_plain` and `T12_plain`.
#[pyclass(frozen, name = "HttpClient", module = "accelflow._native")]
pub(crate) struct PyHttpClient {
    inner: HttpClient,
}

#[pymethods]
impl PyHttpClient {
    /// Creates a client of the server at `address` (HOST:PORT).
    ///
    /// Reads the certificates if `tls` is given. `codec` is the compression of bodies (zstd, snappy
    /// or gzip); `bounds` limits times, retries and connections. Raises AccelflowError for a file
    /// that cannot be used and for a setting that is not allowed.
    #[new]
    #[pyo3(signature = (address, *, tls, codec, bounds))]
    fn new(
        address: &str,
        tls: Option<PyClientTls>,
        codec: &str,
        bounds: Bounds,
    ) -> PyResult<PyHttpClient> {
        let (address, trust) = peer(address, tls)?;
        let settings = Settings {
            codec: Codec::from_name(codec).map_err(refused)?,
            ..Settings::default()
        };
        let made = HttpClient::new(address, settings, trust, bounds.config()?);
        let inner = made.map_err(refused)?;
        Ok(PyHttpClient { inner })
    }

    /// Sends an HTTP request and returns the status code and the body of the response.
    ///
    /// Raises CallError for a failed call.
    #[pyo3(signature = (
        method, target, body, headers, *, timeout_s=None, cancel=None, idempotent=false, scope=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn request<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        target: &str,
        body: &[u8],
        headers: Vec<(String, String)>,
        timeout_s: Option<f64>,
        cancel: Option<&PyCancel>,
        idempotent: bool,
        scope: Option<&PyScope>,
    ) -> PyResult<(u16, Bound<'py, PyBytes>)> {
        let options = options(timeout_s, cancel, idempotent)?;
        let headers: Vec<(&str, &str)> = headers.iter().map(|(a, b)| (&**a, &**b)).collect();
        let request = HttpRequest {
            method,
            target,
            headers: &headers,
            body,
        };
        let answered = detached(py, scope, options, |options| {
            self.inner.request_with(&request, options)
        })?;
        let response = answered.map_err(|error| failure(py, &error))?;
        Ok((response.status, PyBytes::new(py, &response.body)))
    }

    /// Returns the JSON text of a value, as bytes.
    ///
    /// Raises TypeError and ValueError for a value that JSON cannot represent.
    #[staticmethod]
    fn json<'py>(py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &convert::from_python(value)?))
    }

    /// Uses other traces for further calls: an `accelflow.own_traces.ClientTraces`.
    ///
    /// None restores the built-in traces. Returns how often traces have been replaced so far.
    /// Raises AccelflowError for traces that do not fit the client's calls.
    #[pyo3(signature = (traces))]
    fn set_traces(&self, py: Python<'_>, traces: Option<PyClientTraces>) -> PyResult<u64> {
        let traces = traces.map(PyClientTraces::read).transpose()?;
        py.detach(|| self.inner.set_traces(traces).map_err(refused))
    }

    /// Reads the trace file again and uses its traces for further calls.
    ///
    /// Returns how often traces have been replaced so far. Raises AccelflowError for traces that do
    /// not fit the client's calls, and if the traces are not from a file.
    fn reload_traces(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.inner.reload_traces().map_err(refused))
    }

    /// Returns the numbers of (open connections, idle connections, calls that wait for one).
    fn connections(&self) -> (usize, usize, usize) {
        counts(self.inner.connections())
    }

    /// Returns the client's metrics in Prometheus' text format.
    fn metrics(&self) -> String {
        self.inner.metrics()
    }
}
