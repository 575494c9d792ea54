//! The server (`accelflow_serve`) for `accelflow.server`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use accelflow_accel::Limits;
use accelflow_parameters::{Refusal, quoted};
use accelflow_runtime::record::machine;
use accelflow_serve::{
    Compression, Config, ErrorReport, Execution, RecordingError, Running, ServeError, Server,
    TlsIdentity,
};
use pyo3::prelude::*;

use crate::bind::serving::handler::PyHandler;
use crate::bind::serving::operations::{
    self, PyFault, PyPools, PyRpcProcessor, PySteering, PyTelemetry,
};
use crate::bind::serving::tenants::{self, PyControl, PyShaping, PySlo, PyTenant};
use crate::bind::serving::traces::PyServerTraces;
use crate::call::call;
use crate::errors::{failure as refused, seconds};

/// A log of errors that calls a Python callable: id, code, function, peer, text, and whether the
/// request is at fault.
fn error_log(callable: Py<PyAny>) -> impl Fn(&ErrorReport<'_>) + Send + Sync {
    move |report| {
        Python::attach(|py| {
            let peer = report.peer.to_string();
            let (id, code, function) = (report.id, report.code, report.function);
            let arguments = (id, code, function, peer, report.text, report.by_client);
            let arguments = arguments.into_pyobject(py);
            if let Err(error) = arguments.and_then(|given| call(callable.bind(py), &given)) {
                error.write_unraisable(py, None);
            }
        });
    }
}

/// The states of a server, in their order.
enum State {
    New(Box<Server>),
    Running(Running),
    Stopped,
}

/// A server of the functions that a Thrift (`.thrift`) or gRPC (`.proto`) file declares.
///
/// A request executes the trace T1, its handler, and then T2 or T3.
#[pyclass(frozen, name = "Server", module = "accelflow._native")]
pub(crate) struct PyServer {
    state: Mutex<State>,
}

impl PyServer {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PyServer {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if matches!(state, State::Running(_)) {
            let running = std::mem::replace(state, State::Stopped);
            // The threads of a running server end only once they have taken the interpreter's lock,
            // which the dropping thread holds.
            Python::attach(|py| py.detach(|| drop(running)));
        }
    }
}

fn compression_named(name: &str) -> PyResult<Compression> {
    match name {
        "never" => Ok(Compression::Never),
        "like_request" => Ok(Compression::LikeRequest),
        "always" => Ok(Compression::Always),
        _ => {
            let known = ["never", "like_request", "always"];
            Err(refused(Refusal::unknown("compression", name, known)))
        }
    }
}

/// `accelflow.settings.Tls`.
#[derive(FromPyObject)]
struct PyTls {
    certificate: PathBuf,
    key: PathBuf,
    client_ca: Option<PathBuf>,
}

impl PyTls {
    fn identity(&self) -> PyResult<TlsIdentity> {
        let identity = match &self.client_ca {
            None => TlsIdentity::from_pem_files(&self.certificate, &self.key),
            Some(client_ca) => {
                TlsIdentity::for_known_clients(&self.certificate, &self.key, client_ca)
            }
        };
        identity.map_err(refused)
    }
}

/// `accelflow.settings.Limits`, resolved.
#[derive(FromPyObject)]
struct PyLimits {
    max_connections: usize,
    max_connections_per_address: Option<usize>,
    reserved_descriptors: usize,
    max_concurrent_streams: u32,
    max_message_bytes: usize,
    max_decompressed_bytes: usize,
    max_decompression_ratio: usize,
    max_depth: usize,
    max_elements: usize,
    max_value_bytes: usize,
    max_unsent_bytes: usize,
}

/// `accelflow.settings.Timeouts`, resolved.
#[derive(FromPyObject)]
struct PyTimeouts {
    idle_timeout_s: f64,
    evict_after_s: f64,
    first_byte_timeout_s: f64,
    message_timeout_s: f64,
    write_timeout_s: f64,
}

/// `accelflow.settings.Execution`, resolved.
#[derive(FromPyObject)]
struct PyExecution {
    workers: Option<PyPools>,
    steering: Option<PySteering>,
    rpc: PyRpcProcessor,
    handler_threads: usize,
    overwrites_freed_memory: bool,
    faults: Vec<PyFault>,
}

/// `accelflow.settings.Observability`.
#[derive(FromPyObject)]
struct PyObservability {
    record: bool,
    telemetry: Option<PyTelemetry>,
    admin: Option<String>,
    verbose_errors: bool,
    reflection: bool,
}

/// All settings of a server except its interface (`accelflow.server`).
#[derive(FromPyObject)]
struct PySettings {
    include_dirs: Vec<PathBuf>,
    tls: Option<PyTls>,
    limits: PyLimits,
    timeouts: PyTimeouts,
    execution: PyExecution,
    observability: PyObservability,
    compression: String,
    tenants: Vec<PyTenant>,
    control: Option<PyControl>,
    errors_to_caller: bool,
    traces: Option<PyServerTraces>,
}

impl PySettings {
    fn config(&self) -> PyResult<Config> {
        let (limits, timeouts) = (&self.limits, &self.timeouts);
        let message_timeout = seconds("message_timeout_s", timeouts.message_timeout_s)?;
        let mut config = Config {
            max_connections: limits.max_connections,
            max_connections_per_address: limits.max_connections_per_address,
            reserved_descriptors: limits.reserved_descriptors,
            max_concurrent_streams: limits.max_concurrent_streams,
            limits: limits.of_messages(),
            max_unsent_bytes: limits.max_unsent_bytes,
            idle_timeout: seconds("idle_timeout_s", timeouts.idle_timeout_s)?,
            evict_after: seconds("evict_after_s", timeouts.evict_after_s)?,
            first_byte_timeout: seconds("first_byte_timeout_s", timeouts.first_byte_timeout_s)?,
            message_timeout,
            handshake_timeout: message_timeout,
            write_timeout: seconds("write_timeout_s", timeouts.write_timeout_s)?,
            compression: compression_named(&self.compression)?,
            handler_threads: self.execution.handler_threads,
            overwrites_freed_memory: self.execution.overwrites_freed_memory,
            verbose_errors: self.observability.verbose_errors,
            reflection: self.observability.reflection,
            errors_to_caller: self.errors_to_caller,
            rpc: operations::rpc_processor(&self.execution.rpc)?,
            ..Config::default()
        };
        if let Some(pools) = &self.execution.workers {
            config.execution = Execution::Ensemble(operations::pools(pools)?);
        }
        let steering = self.execution.steering.as_ref();
        config.steering = steering.map(operations::steering).transpose()?;
        let place = |text: &String| {
            let allowed = "an IP address and a port, such as 127.0.0.1:9100";
            looked_up("admin", text, text.as_str(), allowed)
        };
        config.admin = self.observability.admin.as_ref().map(place).transpose()?;
        Ok(config)
    }
}

impl PyLimits {
    fn of_messages(&self) -> Limits {
        Limits {
            max_message_bytes: self.max_message_bytes,
            max_decompressed_bytes: self.max_decompressed_bytes,
            max_decompression_ratio: self.max_decompression_ratio,
            max_depth: self.max_depth,
            max_elements: self.max_elements,
            max_value_bytes: self.max_value_bytes,
            ..Limits::default()
        }
    }
}

#[pymethods]
impl PyServer {
    /// Creates a server from an interface file and `settings` (of `accelflow.server`).
    ///
    /// `error_log` is called for each error with its id, code, function, client and text, and
    /// whether the request is at fault. Raises AccelflowError for a file that cannot be used and
    /// for a setting that is not allowed.
    #[new]
    fn new(interface: PathBuf, settings: PySettings, error_log: Py<PyAny>) -> PyResult<PyServer> {
        let folders = &settings.include_dirs;
        let mut server = Server::from_interface(&interface, folders).map_err(refused)?;
        server.set_config(settings.config()?);
        server.set_recording(settings.observability.record);
        server.set_error_log(self::error_log(error_log));
        let tenants = tenants::tenants(&settings.tenants)?;
        server.set_tenants(tenants).map_err(refused)?;
        if let Some(control) = &settings.control {
            let control = tenants::control(control)?;
            server.set_control(control).map_err(refused)?;
        }
        let faults = operations::faults(&settings.execution.faults)?;
        server.set_faults(&faults).map_err(refused)?;
        if let Some(telemetry) = settings.observability.telemetry {
            let telemetry = operations::telemetry(telemetry);
            server.set_telemetry(telemetry).map_err(refused)?;
        }
        // Re-attaching a thread to the interpreter is cheaper than attaching it for the first time.
        server.set_thread_scope(|serve| Python::attach(|py| py.detach(&mut *serve)));
        if let Some(tls) = &settings.tls {
            server.set_tls(tls.identity()?);
        }
        if let Some(traces) = settings.traces {
            server.set_traces(traces.read()?).map_err(refused)?;
        }
        let state = Mutex::new(State::New(Box::new(server)));
        Ok(PyServer { state })
    }

    /// Sets the handler of the function `name` (`Service.method`).
    ///
    /// The handler is called with the dict of arguments and, if `takes_request`, with the request.
    /// The handler returns the value or a coroutine; `begin` is called with each coroutine and the
    /// promise of its value. Raises AccelflowError for a function that the interface lacks, and
    /// once the server was started.
    fn handle(
        &self,
        py: Python<'_>,
        name: &str,
        handler: Py<PyAny>,
        takes_request: bool,
        begin: Py<PyAny>,
    ) -> PyResult<()> {
        let coroutine = py.import("types")?.getattr("CoroutineType")?;
        let handler = PyHandler {
            callable: handler,
            takes_request,
            coroutine: coroutine.unbind(),
            begin,
        };
        match &mut *self.lock() {
            State::New(server) => server.handle_values(name, handler).map_err(refused),
            _ => Err(refused("handlers must be set before the server is started")),
        }
    }

    /// Sets the time in seconds in which calls of `name` (`Service.method`) should be answered.
    ///
    /// Raises AccelflowError for a function that the interface lacks, a time out of range, and once
    /// the server was started.
    fn due_within(&self, name: &str, within_s: f64) -> PyResult<()> {
        let within = seconds("due_within_s", within_s)?;
        match &mut *self.lock() {
            State::New(server) => server.set_due_within(name, within).map_err(refused),
            _ => Err(refused(
                "time limits must be set before the server is started",
            )),
        }
    }

    /// Serves requests with other traces from now on: an `accelflow.own_traces.ServerTraces`.
    ///
    /// None restores the built-in traces. Returns how often traces have been replaced since the
    /// start. Raises AccelflowError for traces that do not fit; the server then keeps its current
    /// traces.
    #[pyo3(signature = (traces))]
    fn set_traces(&self, py: Python<'_>, traces: Option<PyServerTraces>) -> PyResult<u64> {
        let traces = traces.map(PyServerTraces::read).transpose()?;
        py.detach(|| match (&mut *self.lock(), traces) {
            (State::Running(running), Some(traces)) => running.set_traces(traces).map_err(refused),
            (State::Running(running), None) => running.remove_traces().map_err(refused),
            (State::New(server), Some(traces)) => {
                server.set_traces(traces).map(|()| 0).map_err(refused)
            }
            (State::New(server), None) => {
                server.remove_traces();
                Ok(0)
            }
            (State::Stopped, _) => Err(refused("the server is not running")),
        })
    }

    /// Reads the trace file again and serves requests with its traces from now on.
    ///
    /// Returns how often traces have been replaced since the start. Raises AccelflowError for
    /// traces that do not fit, and if the traces are not from a file.
    fn reload_traces(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| match &*self.lock() {
            State::Running(running) => running.reload_traces().map_err(refused),
            _ => Err(refused("the server is not running")),
        })
    }

    /// Uses another certificate and key for later connections: an `accelflow.settings.Tls`.
    ///
    /// Raises AccelflowError for files that cannot be used, for a server that runs without TLS, for
    /// one that is stopped, and if only one of the old and the new settings has `client_ca`.
    fn set_tls(&self, py: Python<'_>, tls: PyTls) -> PyResult<()> {
        py.detach(|| {
            let identity = tls.identity()?;
            match &mut *self.lock() {
                State::New(server) => server.set_tls(identity),
                State::Running(running) => running.set_tls(identity).map_err(refused)?,
                State::Stopped => return Err(refused("the server is not running")),
            }
            Ok(())
        })
    }

    /// Starts the server on `host` (an IP address or a name) and `port`, and returns the port.
    ///
    /// Port 0 lets the system choose one. Raises AccelflowError if the server cannot listen there,
    /// and once it was started or stopped.
    fn start(&self, py: Python<'_>, host: &str, port: u16) -> PyResult<u16> {
        py.detach(|| {
            let address = looked_up("host", host, (host, port), "an IP address")?;
            let mut state = self.lock();
            let State::New(server) = &mut *state else {
                return Err(refused(
                    "a server can be started only once, and not after it was stopped",
                ));
            };
            // If an address cannot be bound, the server can still be started later or on another.
            let listener = TcpListener::bind(address);
            let listener =
                listener.map_err(|error| refused(ServeError::Listen { address, error }))?;
            server.bind_admin().map_err(refused)?;
            let State::New(server) = std::mem::replace(&mut *state, State::Stopped) else {
                return Err(refused("a server can be started only once"));
            };
            let running = server.start_on(listener).map_err(refused)?;
            let port = running.address().port();
            *state = State::Running(running);
            Ok(port)
        })
    }

    /// Returns the metrics in Prometheus' text format; empty unless the server is running.
    fn metrics(&self, py: Python<'_>) -> String {
        py.detach(|| match &*self.lock() {
            State::Running(running) => running.metrics(),
            _ => String::new(),
        })
    }

    /// Returns the port of the operators' interface; None without one or while stopped.
    fn admin_port(&self) -> Option<u16> {
        match &*self.lock() {
            State::Running(running) => running.admin_address().map(|address| address.port()),
            _ => None,
        }
    }

    /// Replaces the limits on a tenant's traffic by `shaping`, an `accelflow.tenants.Shaping`.
    ///
    /// Raises AccelflowError for an unknown tenant or a value that is not allowed, and unless the
    /// server is running.
    fn reshape(&self, py: Python<'_>, tenant: &str, shaping: PyShaping) -> PyResult<()> {
        let shaping = tenants::shaping(tenant, &shaping)?;
        py.detach(|| match &*self.lock() {
            State::Running(running) => running.reshape(tenant, shaping).map_err(refused),
            _ => Err(refused("the server is not running")),
        })
    }

    /// Requests a service-level objective for a tenant from the control plane.
    ///
    /// Raises AccelflowError if the SLO is refused or not allowed, for an unknown tenant, and
    /// unless the server is running with a control plane.
    fn set_slo(&self, py: Python<'_>, tenant: &str, slo: PySlo) -> PyResult<()> {
        let slo = tenants::slo(tenant, &slo)?;
        py.detach(|| match &*self.lock() {
            State::Running(running) => running.set_slo(tenant, slo).map_err(refused),
            _ => Err(refused("the server is not running")),
        })
    }

    /// Removes a tenant's service-level objective, and returns whether it had one.
    ///
    /// Raises AccelflowError for an unknown tenant, and unless the server is running with a control
    /// plane.
    fn remove_slo(&self, py: Python<'_>, tenant: &str) -> PyResult<bool> {
        py.detach(|| match &*self.lock() {
            State::Running(running) => running.remove_slo(tenant).map_err(refused),
            _ => Err(refused("the server is not running")),
        })
    }

    /// Returns the tenants' SLOs, their use and results, and the remaining capacity, as JSON.
    ///
    /// Raises AccelflowError unless the server is running with a control plane.
    fn slo_page(&self, py: Python<'_>) -> PyResult<String> {
        let page = py.detach(|| match &*self.lock() {
            State::Running(running) => Ok(running.slo_page()),
            _ => Err(refused("the server is not running")),
        })?;
        page.ok_or_else(|| refused("the server has no control plane"))
    }

    /// Returns a recording (JSON): operations of the latest requests, their sizes and costs.
    ///
    /// `services` maps `Service.method` to the service's name in the recording; `date` is written
    /// into the recording. Raises AccelflowError for a function without successful requests, a name
    /// of a service that is not printable or is given twice, and unless the server is running and
    /// records.
    fn recording(
        &self,
        py: Python<'_>,
        services: BTreeMap<String, String>,
        date: &str,
    ) -> PyResult<String> {
        let names: Vec<(&str, &str)> = services.iter().map(|(a, b)| (&**a, &**b)).collect();
        py.detach(|| match &*self.lock() {
            State::Running(running) => {
                let recording = running.recording(&names, &machine(), date);
                let recording = recording.map_err(|error| match error {
                    RecordingError::Setting(refusal) => refused(refusal),
                    error => refused(error),
                })?;
                recording.to_json().map_err(refused)
            }
            _ => Err(refused("the server is not running")),
        })
    }

    /// Stops the server after at most `grace_s` seconds, in which requests in progress may end.
    ///
    /// Returns the number of connections that were closed before their requests had ended. On the
    /// main thread, an exception of a signal's handler, such as KeyboardInterrupt, ends the grace
    /// period, and is raised once the server has stopped.
    fn stop(&self, py: Python<'_>, grace_s: f64) -> PyResult<usize> {
        let grace = Duration::try_from_secs_f64(grace_s)
            .map_err(|_| refused(format!("grace_s = {grace_s}: must be 0 seconds or more")))?;
        let (cut_off, raised) = py.detach(|| {
            let state = std::mem::replace(&mut *self.lock(), State::Stopped);
            let State::Running(running) = state else {
                return (0, None);
            };
            let raised = RefCell::new(None);
            let cut_off = running.stop_while(grace, || {
                let signals = Python::attach(|py| py.check_signals());
                signals.map_err(|error| raised.replace(Some(error))).is_ok()
            });
            (cut_off, raised.into_inner())
        });
        raised.map_or(Ok(cut_off), Err)
    }
}

/// The address to listen on: `text` is an address or a name. Among several addresses the first IPv4
/// address is used, since clients of 127.0.0.1 do not try ::1.
fn looked_up(
    what: &str,
    text: &str,
    place: impl ToSocketAddrs,
    allowed: &str,
) -> PyResult<SocketAddr> {
    let why = |error: &dyn std::fmt::Display| {
        let allowed = format!("must be {allowed}, or a host name instead of the address: {error}");
        refused(Refusal::new(what, quoted(text), allowed))
    };
    let found = place.to_socket_addrs().map_err(|error| why(&error))?;
    let addresses: Vec<SocketAddr> = found.collect();
    let first = addresses.iter().find(|address| address.is_ipv4());
    let first = first.or(addresses.first()).copied();
    first.ok_or_else(|| why(&"the name has no address"))
}
