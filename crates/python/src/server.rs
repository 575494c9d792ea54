//! The server (`accelflow_serve`) for `accelflow.server`.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use accelflow_accel::Limits;
use accelflow_runtime::record::machine;
use accelflow_serve::{
    Compression, Config, ErrorReport, Execution, HandlerError, Request, Returned, Running,
    ServeError, Server, TlsIdentity, ValueHandler,
};
use pyo3::prelude::*;

use crate::errors::{AccelflowError, DeclaredError, seconds};
use crate::json;
use crate::operations::{self, PyFault, PyPools, PySteering, PyTelemetry};
use crate::promise::{self, PyPromise};
use crate::scope::PyRequest;
use crate::tenants::{self, PyShaping, PyTenant};

/// A Python callable: from a dict of arguments, and perhaps the request, to the function's value.
struct PyHandler {
    callable: Py<PyAny>,
    takes_request: bool,
    /// The type of coroutines, and what runs one and keeps the promise of its value.
    coroutine: Py<PyAny>,
    begin: Py<PyAny>,
}

impl ValueHandler for PyHandler {
    fn call(&self, request: &Request<'_>) -> Result<Returned, HandlerError> {
        Python::attach(|py| {
            let arguments = request.read_seed(json::Builder(py))?;
            let answer = || -> PyResult<Returned> {
                let callable = self.callable.bind(py);
                let value = match self.takes_request {
                    false => callable.call1((arguments,))?,
                    true => callable.call1((arguments, PyRequest::of(request)))?,
                };
                if value.is_instance(self.coroutine.bind(py))? {
                    let (promise, later) = request.later();
                    self.begin.call1(py, (value, PyPromise::new(promise)))?;
                    return Ok(later);
                }
                Ok(promise::returned(&value, |it| request.returns(it)))
            };
            answer().map_err(|error| failure(py, &error))
        })
    }
}

pub(crate) fn failure(py: Python<'_>, error: &PyErr) -> HandlerError {
    if error.is_instance_of::<DeclaredError>(py) {
        let declared = || -> PyResult<HandlerError> {
            let arguments = error.value(py).getattr("args")?;
            let (field, members): (String, Bound<'_, PyAny>) = arguments.extract()?;
            let body = json::from_python(&members)?;
            Ok(HandlerError::Declared { field, body })
        };
        return declared().unwrap_or_else(|why| {
            let arguments = error.value(py).getattr("args");
            let arguments = arguments.map_or_else(|it| it.to_string(), |it| it.to_string());
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

/// Has a callable of Python's told of errors: id, code, function, peer, text, and whether the client
/// is to blame.
fn error_log(callable: Py<PyAny>) -> impl Fn(&ErrorReport<'_>) + Send + Sync {
    move |report| {
        Python::attach(|py| {
            let peer = report.peer.to_string();
            let (id, code, function) = (report.id, report.code, report.function);
            let told = (id, code, function, peer, report.text, report.by_client);
            if let Err(error) = callable.call1(py, told) {
                error.write_unraisable(py, None);
            }
        });
    }
}

/// A server runs its life through these; there is no way back.
enum State {
    New(Box<Server>),
    Running(Running),
    Stopped,
}

/// A server of the functions that a `.thrift` file declares. Requests run T1, the handler, and T2
/// or T3.
#[pyclass(frozen, name = "Server", module = "accelflow._native")]
pub(crate) struct PyServer {
    state: Mutex<State>,
}

impl PyServer {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn compression_named(name: &str) -> PyResult<Compression> {
    match name {
        "never" => Ok(Compression::Never),
        "like_request" => Ok(Compression::LikeRequest),
        "always" => Ok(Compression::Always),
        _ => {
            let why = "must be 'never', 'like_request' or 'always'";
            Err(refused(format!("compression '{name}': {why}")))
        }
    }
}

fn refused(error: impl std::fmt::Display) -> PyErr {
    AccelflowError::new_err(error.to_string())
}

#[pymethods]
impl PyServer {
    /// Reads the interface and, for TLS, certificate chain and key. Raises AccelflowError.
    #[new]
    #[pyo3(signature = (
        interface, *, include_dirs=Vec::new(), certificate=None, key=None, client_ca=None, max_connections,
        max_connections_per_address=None, reserved_descriptors, max_concurrent_streams,
        max_message_bytes, idle_timeout_s, first_byte_timeout_s, message_timeout_s,
        write_timeout_s, compression, max_decompressed_bytes, max_decompression_ratio, max_depth,
        max_elements, max_value_bytes, max_unsent_bytes,
        handler_threads, pools=None, steering=None, record=false, tenants=Vec::new(),
        faults=Vec::new(), telemetry=None, admin=None, verbose_errors=false, error_log=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        interface: PathBuf,
        include_dirs: Vec<PathBuf>,
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
        client_ca: Option<PathBuf>,
        max_connections: usize,
        max_connections_per_address: Option<usize>,
        reserved_descriptors: usize,
        max_concurrent_streams: u32,
        max_message_bytes: usize,
        idle_timeout_s: f64,
        first_byte_timeout_s: f64,
        message_timeout_s: f64,
        write_timeout_s: f64,
        compression: &str,
        max_decompressed_bytes: usize,
        max_decompression_ratio: usize,
        max_depth: usize,
        max_elements: usize,
        max_value_bytes: usize,
        max_unsent_bytes: usize,
        handler_threads: usize,
        pools: Option<PyPools>,
        steering: Option<PySteering>,
        record: bool,
        tenants: Vec<PyTenant>,
        faults: Vec<PyFault>,
        telemetry: Option<PyTelemetry>,
        admin: Option<&str>,
        verbose_errors: bool,
        error_log: Option<Py<PyAny>>,
    ) -> PyResult<PyServer> {
        let mut server = Server::from_interface(&interface, &include_dirs).map_err(refused)?;
        let mut config = Config {
            max_connections,
            max_connections_per_address,
            reserved_descriptors,
            max_concurrent_streams,
            idle_timeout: seconds("idle_timeout_s", idle_timeout_s)?,
            first_byte_timeout: seconds("first_byte_timeout_s", first_byte_timeout_s)?,
            message_timeout: seconds("message_timeout_s", message_timeout_s)?,
            write_timeout: seconds("write_timeout_s", write_timeout_s)?,
            compression: compression_named(compression)?,
            limits: Limits {
                max_message_bytes,
                max_decompressed_bytes,
                max_decompression_ratio,
                max_depth,
                max_elements,
                max_value_bytes,
                ..Limits::default()
            },
            max_unsent_bytes,
            handler_threads,
            verbose_errors,
            ..Config::default()
        };
        config.handshake_timeout = config.message_timeout;
        if let Some(pools) = pools {
            config.execution = Execution::Ensemble(operations::pools(&pools)?);
        }
        config.steering = steering.as_ref().map(operations::steering).transpose()?;
        let place = |text: &str| {
            let allowed = "an IP address and a port, such as 127.0.0.1:9100";
            looked_up("admin", text, text, allowed)
        };
        config.admin = admin.map(place).transpose()?;
        server.set_config(config);
        server.set_recording(record);
        if let Some(callable) = error_log {
            server.set_error_log(self::error_log(callable));
        }
        let tenants = tenants::tenants(&tenants)?;
        server.set_tenants(tenants).map_err(refused)?;
        let faults = operations::faults(&faults)?;
        server.set_faults(&faults).map_err(refused)?;
        if let Some(telemetry) = telemetry {
            let telemetry = operations::telemetry(telemetry);
            server.set_telemetry(telemetry).map_err(refused)?;
        }
        // A thread that comes back to the interpreter is cheaper than one that comes anew.
        server.set_thread_scope(|serve| Python::attach(|py| py.detach(&mut *serve)));
        if let Some(identity) = identity(&certificate, &key, &client_ca)? {
            server.set_tls(identity);
        }
        let state = Mutex::new(State::New(Box::new(server)));
        Ok(PyServer { state })
    }

    /// Sets the handler of `Service.method`: a callable from the dict of arguments, and the request
    /// if it takes that, to the value or a coroutine; `begin` is given each coroutine and the promise of
    /// its value. Raises AccelflowError for no function of the interface, and once the server was
    /// started.
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
            _ => Err(refused("handlers are set before the server is started")),
        }
    }

    /// Listens on an IP address, or that of a name, and returns the port; 0 asks the system for one.
    /// Raises AccelflowError.
    fn start(&self, py: Python<'_>, host: &str, port: u16) -> PyResult<u16> {
        py.detach(|| {
            let address = looked_up("host", host, (host, port), "an IP address")?;
            let mut state = self.lock();
            if !matches!(*state, State::New(_)) {
                return Err(refused(
                    "a server is started once, and not after it was stopped",
                ));
            }
            // An address that is not to be had leaves the server for another.
            let listener = TcpListener::bind(address);
            let listener =
                listener.map_err(|error| refused(ServeError::Listen { address, error }))?;
            let State::New(server) = std::mem::replace(&mut *state, State::Stopped) else {
                return Err(refused("a server is started once"));
            };
            let running = server.start_on(listener).map_err(refused)?;
            let port = running.address().port();
            *state = State::Running(running);
            Ok(port)
        })
    }

    /// The metrics in the text format of Prometheus; empty unless the server is running.
    fn metrics(&self, py: Python<'_>) -> String {
        py.detach(|| match &*self.lock() {
            State::Running(running) => running.metrics(),
            _ => String::new(),
        })
    }

    /// The port that operators are answered at; None if there is none.
    fn admin_port(&self) -> Option<u16> {
        match &*self.lock() {
            State::Running(running) => running.admin_address().map(|it| it.port()),
            _ => None,
        }
    }

    /// Replaces what of a tenant's traffic may pass while the server is running. Raises
    /// AccelflowError.
    fn reshape(&self, py: Python<'_>, tenant: &str, shaping: PyShaping) -> PyResult<()> {
        let shaping = tenants::shaping(tenant, &shaping)?;
        py.detach(|| match &*self.lock() {
            State::Running(running) => running.reshape(tenant, shaping).map_err(refused),
            _ => Err(refused("the server is not running")),
        })
    }

    /// A recording of the latest requests, as JSON: `services` maps `Service.method` to the name
    /// in the recording. Raises AccelflowError if there were none.
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
                recording.map_err(refused)?.to_json().map_err(refused)
            }
            _ => Err(refused("the server is not running")),
        })
    }

    /// Stops listening, waits up to `grace_s` for requests, and returns how many connections it
    /// had to cut off.
    fn stop(&self, py: Python<'_>, grace_s: f64) -> PyResult<usize> {
        let grace = Duration::try_from_secs_f64(grace_s)
            .map_err(|_| refused(format!("grace_s = {grace_s}: must be 0 seconds or more")))?;
        py.detach(|| {
            let state = std::mem::replace(&mut *self.lock(), State::Stopped);
            match state {
                State::Running(running) => Ok(running.stop(grace)),
                _ => Ok(0),
            }
        })
    }
}

fn identity(
    certificate: &Option<PathBuf>,
    key: &Option<PathBuf>,
    client_ca: &Option<PathBuf>,
) -> PyResult<Option<TlsIdentity>> {
    let read = match (certificate, key, client_ca) {
        (None, None, None) => return Ok(None),
        (Some(certificate), Some(key), None) => TlsIdentity::from_pem_files(certificate, key),
        (Some(certificate), Some(key), Some(client_ca)) => {
            TlsIdentity::for_known_clients(certificate, key, client_ca)
        }
        _ => return Err(refused("TLS needs both a certificate and a key")),
    };
    read.map(Some).map_err(refused)
}

/// The address to listen on that `text` says or is the name of: of several, the first of IPv4, since
/// clients that are told 127.0.0.1 do not try ::1.
fn looked_up(
    what: &str,
    text: &str,
    place: impl ToSocketAddrs,
    allowed: &str,
) -> PyResult<SocketAddr> {
    let why = |error: &dyn std::fmt::Display| {
        refused(format!(
            "{what} '{text}': must be {allowed}, or a name in the place of the address: {error}"
        ))
    };
    let found = place.to_socket_addrs().map_err(|error| why(&error))?;
    let addresses: Vec<SocketAddr> = found.collect();
    let first = addresses.iter().find(|it| it.is_ipv4());
    let first = first.or(addresses.first()).copied();
    first.ok_or_else(|| why(&"the name has no address"))
}
