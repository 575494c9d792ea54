//! The setup and start of a server.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::{fmt, thread};

use accelflow_accel::thrift::{FunctionId, Schema};
use accelflow_accel::{AccelError, Ensemble, Settings, protobuf};
use accelflow_runtime::{Fault, FaultError, Faults};
use socket2::SockRef;

use super::accept::accept;
use super::admission::Admission;
use super::dispatch::Dispatch;
use super::executors::{Executors, Maker, Watch, bodies};
use super::places::Places;
use super::protocol::Protocol;
use super::running::{Running, Threads};
use super::shared::Shared;
use super::steering::workers::SteeredWorkers;
use super::tenants::control::Controlled;
use super::tenants::gates::Tenants;
use super::thread_scope::ThreadScope;
use super::traces::{Kind, ServerImage, ServerTraces, TraceSlot};
use super::{grpc, pages};
use crate::config::tenants::{check, check_control};
use crate::config::time_limit::check_time_limit;
use crate::config::{Config, Control, Telemetry, TelemetryError, Tenant, TenantError};
use crate::error::ServeError;
use crate::handler::kinds::{AnyHandler, Handler, ValueHandler};
use crate::handler::table::Handlers;
use crate::memory::allocator::{give_back_large_blocks, overwrite_freed_blocks};
use crate::memory::arena::Arena;
use crate::observe::admin::{Admin, Asked};
use crate::observe::metrics::Metrics;
use crate::observe::observers::Observers;
use crate::observe::recorder::Recorder;
use crate::observe::reports::{ErrorReport, Reports};
use crate::observe::telemetry::Spans;
use crate::traces::bodies::CustomBodies;
use crate::transport::ensemble::{NextCore, ensemble};
use crate::transport::tls::identity::{IdentitySlot, TlsIdentity};

/// The smallest backlog, as in the standard library.
const LEAST_BACKLOG: i32 = 128;

type Prepare = dyn Fn(&mut Ensemble) + Send + Sync;

/// A server that has not been started yet, with its interface, handlers and settings.
pub struct Server {
    protocol: Protocol,
    config: Config,
    handlers: Handlers,
    due_within: HashMap<FunctionId, Duration>,
    identity: Option<TlsIdentity>,
    prepare: Option<Box<Prepare>>,
    thread_scope: Arc<ThreadScope>,
    records: bool,
    tenants: Vec<Tenant>,
    control: Option<Control>,
    faults: Faults,
    telemetry: Option<Telemetry>,
    reports: Reports,
    traces: Option<ServerTraces>,
    admin: Option<TcpListener>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Creates a Thrift server for the functions of the interface `schema`, without handlers.
    pub fn new(schema: Arc<Schema>) -> Server {
        Server::speaking(Protocol::Thrift(schema))
    }

    /// Creates a gRPC server for the methods of the interface `schema`, without handlers.
    pub fn grpc(schema: Arc<protobuf::Schema>) -> Server {
        Server::speaking(Protocol::Grpc(schema))
    }

    /// Creates a server for the functions that the interface file `path` declares, without
    /// handlers. The server speaks gRPC if the file's name ends in `.proto`, else Thrift. Included
    /// files are searched in this file's folder, then in the folders of `search`.
    ///
    /// # Errors
    /// [`ServeError::Interface`] or [`ServeError::Proto`] if a file cannot be read or is malformed.
    pub fn from_interface(path: &Path, search: &[PathBuf]) -> Result<Server, ServeError> {
        Ok(Server::speaking(Protocol::read(path, search)?))
    }

    fn speaking(protocol: Protocol) -> Server {
        Server {
            protocol,
            config: Config::default(),
            handlers: Handlers::default(),
            due_within: HashMap::new(),
            identity: None,
            prepare: None,
            thread_scope: Arc::new(|serve| serve()),
            records: false,
            tenants: Vec::new(),
            control: None,
            faults: Faults::default(),
            telemetry: None,
            reports: Reports::default(),
            traces: None,
            admin: None,
        }
    }

    /// Sets the server's configuration, which is checked when the server starts.
    pub fn set_config(&mut self, config: Config) {
        self.config = config;
        self.admin = None;
    }

    /// Sets the server's certificate and key. The server then accepts only TLS 1.3 connections.
    pub fn set_tls(&mut self, identity: TlsIdentity) {
        self.identity = Some(identity);
    }

    /// Sets the handler of the function `name`: `Service.method`, or `method` if only one service
    /// has a function of this name. The handler works on JSON text. Calls of functions without a
    /// handler are answered with UNKNOWN_METHOD, in gRPC with UNIMPLEMENTED.
    ///
    /// # Errors
    /// [`ServeError::Handler`] if the interface has no such function, or several.
    pub fn handle(
        &mut self,
        name: &str,
        handler: impl Handler + 'static,
    ) -> Result<(), ServeError> {
        self.set_handler(name, AnyHandler::Json(Arc::new(handler)))
    }

    /// Like [`Server::handle`], for a handler that reads and returns values of the application's
    /// own types.
    ///
    /// # Errors
    /// The errors of [`Server::handle`].
    pub fn handle_values(
        &mut self,
        name: &str,
        handler: impl ValueHandler + 'static,
    ) -> Result<(), ServeError> {
        self.set_handler(name, AnyHandler::Values(Arc::new(handler)))
    }

    /// Sets a soft deadline: calls of the function `name` should be answered within `within`, which
    /// must be above 0. Accelerator queues that are ordered by deadline use the soft deadline for
    /// the function's traces, and for the traces that the function's handler starts. A later answer
    /// is still sent.
    ///
    /// # Errors
    /// [`ServeError::Handler`] if the interface has no such function, or several, and
    /// [`ServeError::Setting`] for a time out of range.
    pub fn set_due_within(&mut self, name: &str, within: Duration) -> Result<(), ServeError> {
        check_time_limit("due_within", within)?;
        let function = self.function(name)?;
        self.due_within.insert(function, within);
        Ok(())
    }

    fn function(&self, name: &str) -> Result<FunctionId, ServeError> {
        let function = self.protocol.function(name);
        function.map_err(|error| ServeError::Handler {
            name: name.to_owned(),
            error,
        })
    }

    fn set_handler(&mut self, name: &str, handler: AnyHandler) -> Result<(), ServeError> {
        let function = self.function(name)?;
        self.handlers.set(function, handler);
        Ok(())
    }

    /// Sets a function that is called with every ensemble (set of accelerators) that the server
    /// creates, for example to replace software accelerators by devices.
    pub fn prepare_ensembles(&mut self, prepare: impl Fn(&mut Ensemble) + Send + Sync + 'static) {
        self.prepare = Some(Box::new(prepare));
    }

    /// Sets the faults that the server injects into accelerators, to test the effect of failing
    /// devices. The fallback, by which a core does the work of a failed accelerator, does not fail
    /// because of these faults.
    ///
    /// # Errors
    /// [`FaultError`] for a share of calls outside 0 to 1, and for the call number 0, since calls
    /// are numbered from 1.
    pub fn set_faults(&mut self, faults: &[Fault]) -> Result<(), FaultError> {
        self.faults = Faults::new(faults)?;
        Ok(())
    }

    /// Makes the server send OpenTelemetry spans of sampled requests to a collector.
    ///
    /// # Errors
    /// [`TelemetryError`] for a `sample_ratio` or an `endpoint` that is not allowed.
    pub fn set_telemetry(&mut self, telemetry: Telemetry) -> Result<(), TelemetryError> {
        telemetry.check()?;
        self.telemetry = Some(telemetry);
        Ok(())
    }

    /// Sets the error log: a function that is called for each error of a request whose text is for
    /// operators. Unless [`Config::verbose_errors`](crate::Config) is set, the client gets only the
    /// error's code and id. The function runs on the request's thread and should be quick. Without
    /// an error log, such errors are only counted.
    pub fn set_error_log(&mut self, log: impl Fn(&ErrorReport<'_>) + Send + Sync + 'static) {
        self.reports.log = Some(Box::new(log));
    }

    /// Sets the server's tenants. A connection's tenant follows from its client's address or proven
    /// identity. Each tenant has limits on its traffic ([`Tenant::shaping`]).
    ///
    /// # Errors
    /// [`TenantError`] for tenants that cannot be distinguished, too many tenants, and settings out
    /// of range.
    pub fn set_tenants(&mut self, list: Vec<Tenant>) -> Result<(), TenantError> {
        check(&list)?;
        self.tenants = list;
        Ok(())
    }

    /// Adds a control plane like that of ARCUS (a paper on SLOs for shared accelerators). It admits
    /// or refuses the SLOs of tenants, checks whether the SLOs are met, and sets each tenant's
    /// limit on accelerator time. Tenants without an SLO, and connections without a tenant, share
    /// the accelerator time that is left.
    ///
    /// # Errors
    /// [`TenantError::Slo`] for settings out of range.
    pub fn set_control(&mut self, control: Control) -> Result<(), TenantError> {
        control.check()?;
        self.control = Some(control);
        Ok(())
    }

    /// Sets custom traces (programs of accelerator calls), with which the server receives and
    /// answers requests. Call [`Server::set_tls`] and [`Server::set_config`] first, since they
    /// determine which traces fit. [`Running::set_traces`] replaces the traces while the server
    /// runs.
    ///
    /// # Errors
    /// [`ServeError::OwnTraces`] if the traces cannot serve requests. The server then keeps its
    /// current traces.
    pub fn set_traces(&mut self, traces: ServerTraces) -> Result<(), ServeError> {
        self.kind().link(Some(&traces), 0)?;
        self.traces = Some(traces);
        Ok(())
    }

    /// Restores the default traces, with which the server receives and answers requests.
    pub fn remove_traces(&mut self) {
        self.traces = None;
    }

    fn kind(&self) -> Kind {
        let grpc = matches!(self.protocol, Protocol::Grpc(_));
        Kind {
            grpc,
            tls: self.identity.is_some(),
            // Errors of gRPC are statuses, which message traces do not send.
            errors: self.config.errors_to_caller && !grpc,
        }
    }

    /// Sets whether the server records the costs of the latest requests, for each accelerator call,
    /// so that [`Running::recording`] can return them. Off at first.
    pub fn set_recording(&mut self, records: bool) {
        self.records = records;
    }

    /// Sets the function `scope`, which runs on every thread that serves connections or runs
    /// handlers, for setup that handlers need once per thread. `scope` must call its argument,
    /// which does the thread's work.
    pub fn set_thread_scope(
        &mut self,
        scope: impl Fn(&mut (dyn FnMut() + Send)) + Send + Sync + 'static,
    ) {
        self.thread_scope = Arc::new(scope);
    }

    /// Binds the port for operators ([`Config::admin`]), which [`Server::start_on`] does otherwise.
    /// After an error, the server can still be configured and started. Does nothing if the
    /// configuration has no such port or the port is already bound. A later
    /// [`Server::set_config`] closes the port again.
    ///
    /// # Errors
    /// [`ServeError::Listen`] if the address cannot be bound.
    pub fn bind_admin(&mut self) -> Result<(), ServeError> {
        if let (Some(address), None) = (self.config.admin, &self.admin) {
            let listener = TcpListener::bind(address);
            self.admin = Some(listener.map_err(|error| ServeError::Listen { address, error })?);
        }
        Ok(())
    }

    /// Starts the server on `address`, where it serves until [`Running::stop`]. Port 0 lets the
    /// system choose a port.
    ///
    /// # Errors
    /// [`ServeError::Listen`] if the address cannot be bound, and the errors of
    /// [`Server::start_on`].
    pub fn start(self, address: SocketAddr) -> Result<Running, ServeError> {
        let listener = TcpListener::bind(address);
        self.start_on(listener.map_err(|error| ServeError::Listen { address, error })?)
    }

    /// Like [`Server::start`], on a socket that is already listening. The socket's backlog becomes
    /// [`Config::max_connections`], but at least 128. The backlog is the number of new connections
    /// that can wait for the server; the system may limit it further.
    ///
    /// # Errors
    /// [`ServeError`] if a setting is out of range, custom traces or tenants do not fit the other
    /// settings, an SLO is refused, the operators' port cannot be opened, the exporter of spans
    /// cannot be created, or the system cannot start a thread.
    pub fn start_on(mut self, listener: TcpListener) -> Result<Running, ServeError> {
        self.config.check()?;
        self.bind_admin()?;
        let admin = self.admin.take();
        give_back_large_blocks();
        check_control(&self.tenants, self.control.is_some())?;
        if self.config.overwrites_freed_memory || !self.tenants.is_empty() {
            overwrite_freed_blocks();
        }
        self.reports.verbose = self.config.verbose_errors;
        let address = listener.local_addr()?;
        // A second call changes the backlog; the standard library's is 128.
        let backlog = i32::try_from(self.config.max_connections).unwrap_or(i32::MAX);
        SockRef::from(&listener).listen(backlog.max(LEAST_BACKLOG))?;
        let shared = Arc::new(self.shared()?);
        let operated = shared.clone();
        let admin = admin.map(|listener| {
            let answers = move |asked: &Asked<'_>| pages::answer(&operated, asked);
            Admin::start(listener, Arc::new(answers))
        });
        let admin = admin.transpose()?;
        let controlled = &shared.admission.controlled;
        let watch = controlled.as_ref().map(Controlled::watch).transpose()?;
        let listener = Arc::new(listener);
        let accepting = (shared.clone(), listener.clone());
        let accept = thread::Builder::new()
            .name("accelflow-accept".to_owned())
            .spawn(move || accept(&accepting.0, &accepting.1))?;
        let threads = Threads {
            accept: Some(accept),
            admin,
            watch,
        };
        Ok(Running::new(shared, listener, address, threads))
    }

    /// Returns the settings of the accelerators.
    fn settings(&self) -> Settings {
        Settings {
            limits: self.config.limits,
            split_schema: self.config.rpc.split_schema,
            // A recording has the sizes of JSON text, which others read.
            records: match self.records {
                true => Default::default(),
                false => self.handlers.of_values(),
            },
            ..self.protocol.settings()
        }
    }

    /// Assembles the parts of the running server.
    fn shared(mut self) -> Result<Shared, ServeError> {
        let settings = self.settings();
        let traces = TraceSlot::new(self.kind(), self.traces.take())?;
        let metrics = Arc::new(Metrics::new());
        let always = self.control.is_some();
        let tenants = tenants(self.tenants, always, self.identity.as_ref(), &metrics)?;
        let controlled = controlled(self.control, tenants.as_ref())?;
        let steered = (self.config.steering)
            .map(|steering| SteeredWorkers::start(steering, &self.thread_scope))
            .transpose()?
            .map(Arc::new);
        let engine = Engine {
            settings,
            config: self.config,
            steered: steered.clone(),
            prepare: self.prepare,
            faults: self.faults,
        };
        let watch = Watch {
            metrics: metrics.clone(),
            tenants: tenants.clone(),
            records: self.records,
            spans: self.telemetry.is_some(),
        };
        let executors = engine.executors(&traces.now(), watch)?;
        let number = tenants.as_ref().map_or(0, |tenants| tenants.count());
        let endpoint = (self.protocol).endpoint(&self.config, number, &self.thread_scope)?;
        let is_grpc = endpoint.gateway().is_some();
        let identity = self.identity;
        let identity = identity.map(|identity| IdentitySlot::new(identity, is_grpc));
        let descriptors = match is_grpc {
            false => 0,
            true => grpc::gateway::more_descriptors(&self.config),
        };
        let spans = self.telemetry.map(|telemetry| Spans::start(&telemetry));
        Ok(Shared {
            config: self.config,
            endpoint,
            admission: Admission {
                identity,
                tenants,
                controlled,
                places: Places::new(&self.config, descriptors, is_grpc),
                arena: self.config.rpc.arena.map(Arena::new),
                thread_scope: self.thread_scope,
                stopping: AtomicBool::new(false),
            },
            traces,
            executors,
            dispatch: Dispatch::new(self.handlers, steered, self.due_within),
            observers: Observers {
                metrics,
                reports: self.reports,
                spans: spans.transpose()?,
                recorder: self.records.then(|| Arc::new(Recorder::default())),
            },
        })
    }
}

/// Returns the tenants of a server; `None` if there are none, unless `always` is set.
fn tenants(
    list: Vec<Tenant>,
    always: bool,
    identity: Option<&TlsIdentity>,
    metrics: &Metrics,
) -> Result<Option<Arc<Tenants>>, ServeError> {
    if list.is_empty() && !always {
        return Ok(None);
    }
    let identified = identity.is_some_and(|identity| identity.asks_clients);
    Ok(Some(Arc::new(Tenants::new(list, identified, metrics)?)))
}

/// Returns the control plane of the tenants, if one is configured.
fn controlled(
    control: Option<Control>,
    tenants: Option<&Arc<Tenants>>,
) -> Result<Option<Arc<Controlled>>, ServeError> {
    let Some((control, tenants)) = control.zip(tenants) else {
        return Ok(None);
    };
    let controlled = Controlled::new(tenants.clone(), control)?;
    Ok(Some(Arc::new(controlled)))
}

/// The settings of the accelerators.
struct Engine {
    settings: Settings,
    config: Config,
    steered: Option<Arc<SteeredWorkers>>,
    prepare: Option<Box<Prepare>>,
    faults: Faults,
}

impl Engine {
    fn executors(self, traces: &Arc<ServerImage>, watch: Watch) -> Result<Executors, ServeError> {
        let (settings, cores) = (self.settings.clone(), self.config.cores);
        let next_core = NextCore::default();
        let maker = self.maker(&next_core, &traces.bodies, &watch.metrics)?;
        Executors::new(traces, settings, cores, next_core, maker, watch)
    }

    /// Creates the maker of executors' bodies.
    fn maker(
        self,
        next_core: &NextCore,
        own: &CustomBodies,
        metrics: &Arc<Metrics>,
    ) -> Result<Maker, ServeError> {
        let (next_core, execution) = (next_core.clone(), self.config.execution);
        let may_fail = self.prepare.is_some() || !self.faults.is_empty();
        let make = move || self.ensemble(&next_core);
        bodies(execution, own, make, may_fail, metrics)
    }

    fn ensemble(&self, next_core: &NextCore) -> Result<Ensemble, AccelError> {
        let mut ensemble = ensemble(&self.settings, self.config.cores, next_core)?;
        if let Some(steered) = &self.steered {
            ensemble.replace(steered.balancer());
        }
        if let Some(prepare) = &self.prepare {
            prepare(&mut ensemble);
        }
        Ok(self.faults.around(ensemble))
    }
}
