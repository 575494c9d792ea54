//! Setting a server up, running it and stopping it.

use std::fmt;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use accelflow_accel::protobuf;
use accelflow_accel::thrift::Schema;
use accelflow_accel::{Ensemble, Settings};
use accelflow_runtime::{Fault, FaultError, Faults};
use accelflow_workload::profile::Recording;
use socket2::SockRef;

use crate::accept::accept;
use crate::admin::Admin;
use crate::config::{Config, MAX_TIME_LIMIT};
use crate::error::ServeError;
use crate::executors::{Executors, Watch, bodies};
use crate::grpc::Gateway;
use crate::handler::{
    AnyHandler, Handler, HandlerError, Handlers, Request, Returned, ValueHandler,
};
use crate::http2;
use crate::metrics::Metrics;
use crate::otel::{Spans, Telemetry, TelemetryError};
use crate::pages;
use crate::places::{Place, Places};
use crate::recorder::{RecordedPath, Recorder, RecordingError, thread_time};
use crate::reports::Reports;
use crate::steering::Steered;
use crate::tenants::{self, Shaping, Tenant, TenantError, Tenants};
use crate::tls::TlsIdentity;
use crate::traces::{self, NextCore};

type Prepare = dyn Fn(&mut Ensemble) + Send + Sync;
pub(crate) type ThreadScope = dyn Fn(&mut (dyn FnMut() + Send)) + Send + Sync;

/// A server before it listens.
pub struct Server {
    settings: Settings,
    config: Config,
    handlers: Handlers,
    identity: Option<TlsIdentity>,
    prepare: Option<Box<Prepare>>,
    thread_scope: Arc<ThreadScope>,
    proto: Option<Arc<protobuf::Schema>>,
    records: bool,
    tenants: Vec<Tenant>,
    faults: Faults,
    telemetry: Option<Telemetry>,
    pub(crate) reports: Reports,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// A server of the functions of `schema`, none of which has a handler yet.
    pub fn new(schema: Arc<Schema>) -> Server {
        Server {
            settings: Settings {
                schema,
                ..Settings::default()
            },
            config: Config::default(),
            handlers: Handlers::default(),
            identity: None,
            prepare: None,
            thread_scope: Arc::new(|serve| serve()),
            proto: None,
            records: false,
            tenants: Vec::new(),
            faults: Faults::default(),
            telemetry: None,
            reports: Reports::default(),
        }
    }

    /// A server of gRPC with the methods of `schema`, none of which has a handler yet.
    pub fn grpc(schema: Arc<protobuf::Schema>) -> Server {
        Server {
            proto: Some(schema),
            ..Server::new(Settings::default().schema)
        }
    }

    /// A server of the functions that a file declares: with gRPC if its name ends in `.proto`, else
    /// with Thrift. The files that it includes are looked for beside it and then in the folders of
    /// `search`.
    ///
    /// # Errors
    /// [`ServeError::Interface`], [`ServeError::Proto`].
    pub fn from_interface(path: &Path, search: &[PathBuf]) -> Result<Server, ServeError> {
        if path.extension().is_some_and(|it| it == "proto") {
            let schema =
                protobuf::Schema::read(path, search).map_err(|error| ServeError::Proto {
                    path: path.to_owned(),
                    error,
                })?;
            return Ok(Server::grpc(Arc::new(schema)));
        }
        Ok(Server::new(Arc::new(Schema::load(path, search)?)))
    }

    /// Sets bounds and time limits.
    pub fn set_config(&mut self, config: Config) {
        self.config = config;
    }

    /// Serves TLS 1.3 and nothing else.
    pub fn set_tls(&mut self, identity: TlsIdentity) {
        self.identity = Some(identity);
    }

    /// Sets the handler of `Service.method`; the service may be left out where only one has the
    /// method. A function without one is answered with UNKNOWN_METHOD.
    ///
    /// # Errors
    /// [`ServeError::Handler`] for what is no function of the interface.
    pub fn handle(
        &mut self,
        name: &str,
        handler: impl Handler + 'static,
    ) -> Result<(), ServeError> {
        self.set_handler(name, AnyHandler::Json(Arc::new(handler)))
    }

    /// As [`Server::handle`], with a handler that reads and returns values of its own types.
    ///
    /// # Errors
    /// Those of [`Server::handle`].
    pub fn handle_values(
        &mut self,
        name: &str,
        handler: impl ValueHandler + 'static,
    ) -> Result<(), ServeError> {
        self.set_handler(name, AnyHandler::Values(Arc::new(handler)))
    }

    fn set_handler(&mut self, name: &str, handler: AnyHandler) -> Result<(), ServeError> {
        let set = match &self.proto {
            Some(schema) => schema
                .find(name)
                .map(|id| self.handlers.set_at(id.0, handler)),
            None => self.handlers.set(&self.settings.schema, name, handler),
        };
        set.map_err(|error| ServeError::Handler {
            name: name.to_owned(),
            error,
        })
    }

    /// Changes every ensemble that the server makes: puts devices, or accelerators that fail, in
    /// the place of software.
    pub fn prepare_ensembles(&mut self, prepare: impl Fn(&mut Ensemble) + Send + Sync + 'static) {
        self.prepare = Some(Box::new(prepare));
    }

    /// Has accelerators fail, as devices may, to see what becomes of requests then. What the core
    /// does in their place does not fail.
    ///
    /// # Errors
    /// [`FaultError`].
    pub fn set_faults(&mut self, faults: &[Fault]) -> Result<(), FaultError> {
        self.faults = Faults::new(faults)?;
        Ok(())
    }

    /// Sends spans of requests to a collector.
    ///
    /// # Errors
    /// [`TelemetryError`].
    pub fn set_telemetry(&mut self, telemetry: Telemetry) -> Result<(), TelemetryError> {
        telemetry.check()?;
        self.telemetry = Some(telemetry);
        Ok(())
    }

    /// Tells requests apart by where they come from, or by who their clients have proven to be, and
    /// shapes each tenant's traffic.
    ///
    /// # Errors
    /// [`TenantError`] for tenants that cannot be told apart.
    pub fn set_tenants(&mut self, list: Vec<Tenant>) -> Result<(), TenantError> {
        tenants::check(&list)?;
        self.tenants = list;
        Ok(())
    }

    /// Keeps what the latest requests cost, step by step, for [`Running::recording`].
    pub fn set_recording(&mut self, records: bool) {
        self.records = records;
    }

    /// Has every connection's thread serve within `scope`, which must call what it is given: for
    /// what handlers need once a thread and not once a request.
    pub fn set_thread_scope(
        &mut self,
        scope: impl Fn(&mut (dyn FnMut() + Send)) + Send + Sync + 'static,
    ) {
        self.thread_scope = Arc::new(scope);
    }

    /// Listens, and serves until [`Running::stop`].
    ///
    /// # Errors
    /// [`ServeError::Listen`] if the address is not to be had; settings that do not exist.
    pub fn start(self, address: SocketAddr) -> Result<Running, ServeError> {
        let listener = TcpListener::bind(address);
        self.start_on(listener.map_err(|error| ServeError::Listen { address, error })?)
    }

    /// As [`Server::start`], with a socket that listens already.
    ///
    /// # Errors
    /// Settings that do not exist; threads that the system does not give.
    pub fn start_on(mut self, listener: TcpListener) -> Result<Running, ServeError> {
        self.config.check()?;
        crate::allocator::give_back_large_blocks();
        self.settings.limits = self.config.limits;
        self.reports.verbose = self.config.verbose_errors;
        // A recording has the sizes of the JSON, which others read.
        if !self.records {
            self.settings.records = self.handlers.of_values();
        }
        let address = listener.local_addr()?;
        let shared = Arc::new(self.shared()?);
        let told = shared.clone();
        let admin = shared.config.admin.map(|address| {
            let answers = move |path: &str, query: &str| pages::answer(&told, path, query);
            Admin::start(address, Arc::new(answers))
        });
        let admin = admin.transpose()?;
        let listener = Arc::new(listener);
        let accepting = (shared.clone(), listener.clone());
        let accept = thread::Builder::new()
            .name("accelflow-accept".to_owned())
            .spawn(move || accept(&accepting.0, &accepting.1))?;
        Ok(Running {
            shared,
            listener,
            address,
            accept: Some(accept),
            admin,
        })
    }

    fn shared(self) -> Result<Shared, ServeError> {
        let metrics = Arc::new(Metrics::new());
        let tenants = match self.tenants {
            none if none.is_empty() => None,
            list => {
                let named = self.identity.as_ref().is_some_and(|it| it.asks_clients);
                Some(Arc::new(Tenants::new(list, named, &metrics)?))
            }
        };
        let next_core = NextCore::default();
        let (cores, next, prepare) = (self.config.cores, next_core.clone(), self.prepare);
        let steered = self
            .config
            .steering
            .map(|it| Steered::start(it, &self.thread_scope));
        let steered = steered.transpose()?.map(Arc::new);
        let steering = steered.clone();
        let (settings, faults) = (self.settings.clone(), self.faults);
        let may_fail = prepare.is_some() || !faults.is_empty();
        let ensemble = move || {
            let mut ensemble = traces::ensemble(&settings, cores, &next)?;
            if let Some(steered) = &steering {
                ensemble.replace(steered.balancer());
            }
            if let Some(prepare) = &prepare {
                prepare(&mut ensemble);
            }
            Ok(faults.around(ensemble))
        };
        let maker = bodies(self.config.execution, ensemble, may_fail, &metrics)?;
        let executors = Executors::new(
            traces::image()?,
            self.settings.clone(),
            cores,
            next_core,
            maker,
            Watch {
                metrics: metrics.clone(),
                tenants: tenants.clone(),
                records: self.records,
                spans: self.telemetry.is_some(),
            },
        )?;
        let scope = &self.thread_scope;
        let gateway = self
            .proto
            .map(|schema| Gateway::new(schema, &self.config, scope.clone()));
        let identity = match gateway {
            Some(_) => self.identity.map(|identity| identity.for_http2()),
            None => self.identity,
        };
        let more = gateway.as_ref().map_or(0, |_| http2::DESCRIPTORS);
        let places = Places::new(&self.config, more);
        Ok(Shared {
            gateway,
            settings: self.settings,
            config: self.config,
            handlers: self.handlers,
            identity,
            thread_scope: self.thread_scope,
            recorder: self.records.then(Recorder::default),
            executors,
            tenants,
            steered,
            spans: self.telemetry.map(|it| it.start()).transpose()?,
            metrics,
            reports: self.reports,
            stopping: AtomicBool::new(false),
            places,
        })
    }
}

/// What all connections of a server share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) config: Config,
    pub(crate) handlers: Handlers,
    pub(crate) identity: Option<TlsIdentity>,
    pub(crate) thread_scope: Arc<ThreadScope>,
    /// What gRPC needs, if that is what is served.
    pub(crate) gateway: Option<Gateway>,
    /// Where requests are kept, if they are.
    pub(crate) recorder: Option<Recorder>,
    pub(crate) executors: Executors,
    pub(crate) tenants: Option<Arc<Tenants>>,
    pub(crate) spans: Option<Spans>,
    pub(crate) steered: Option<Arc<Steered>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) reports: Reports,
    pub(crate) stopping: AtomicBool,
    pub(crate) places: Arc<Places>,
}

impl Shared {
    /// Has a handler called: here, or by the worker that LdB chose.
    pub(crate) fn call(
        &self,
        handler: &AnyHandler,
        request: &Request<'_>,
    ) -> Result<Returned, HandlerError> {
        match &self.steered {
            Some(steered) => steered.call(handler, request),
            None => handler.call(request),
        }
    }

    /// Does `work`, and tells the processor time that it took if requests are recorded.
    pub(crate) fn timed<T>(&self, work: impl FnOnce() -> T) -> (T, Duration) {
        if self.recorder.is_none() {
            return (work(), Duration::ZERO);
        }
        let start = thread_time();
        let done = work();
        (done, thread_time().saturating_sub(start))
    }

    /// A connection has ended.
    pub(crate) fn ended(&self, place: &Place, reason: &str) {
        self.metrics.connection_ended(reason);
        let left = self.places.give(place);
        self.metrics.open.set(left as i64);
    }
}

/// A server that listens. Dropping it stops it without grace.
pub struct Running {
    shared: Arc<Shared>,
    listener: Arc<TcpListener>,
    address: SocketAddr,
    accept: Option<JoinHandle<()>>,
    admin: Option<Admin>,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Running {
    /// Where it listens; the port that the system chose if 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it answers operators, if it does.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(Admin::address)
    }

    /// The counters and histograms in the text format of Prometheus.
    pub fn metrics(&self) -> String {
        self.shared.metrics_text()
    }

    /// Replaces what of a tenant's traffic may pass, from now on. Requests that wait go by the new
    /// registers; a bucket that was not there before is full, and one that was keeps its tokens.
    ///
    /// # Errors
    /// [`TenantError::Unknown`].
    pub fn reshape(&self, tenant: &str, shaping: Shaping) -> Result<(), TenantError> {
        match &self.shared.tenants {
            Some(tenants) => tenants.reshape(tenant, shaping),
            None => Err(TenantError::Unknown {
                name: tenant.to_owned(),
                known: "none".to_owned(),
            }),
        }
    }

    /// A recording of the latest requests to some functions, each on its most common path:
    /// `services` are names as in `Service.method`, and the names that they have in the recording.
    /// A connection without TLS takes traces that no service of the simulator has.
    ///
    /// The cost of TCP is that of its step and the processor time of the system calls; that of a
    /// handler is the wall time of the call.
    ///
    /// # Errors
    /// [`RecordingError`].
    pub fn recording(
        &self,
        services: &[(&str, &str)],
        machine: &str,
        date: &str,
    ) -> Result<Recording, RecordingError> {
        let recorder = self.shared.recorder.as_ref().ok_or(RecordingError::Off)?;
        recorder.recording(services, machine, date)
    }

    /// All paths that requests to `function` have taken, the most common one first; none without
    /// recording, and none of a function that nobody has called.
    pub fn recorded_paths(&self, function: &str) -> Vec<RecordedPath> {
        let recorder = self.shared.recorder.as_ref();
        recorder.map_or_else(Vec::new, |recorder| recorder.paths(function))
    }

    /// Stops listening, lets requests that have begun to arrive be answered for up to `grace`,
    /// and closes what is left. Returns how many connections had to be cut off.
    pub fn stop(mut self, grace: Duration) -> usize {
        self.halt(grace)
    }

    fn halt(&mut self, grace: Duration) -> usize {
        let Some(accept) = self.accept.take() else {
            return 0;
        };
        self.shared.stopping.store(true, Ordering::Release);
        // Wakes the thread that waits for connections, and those that wait for messages.
        let _ = SockRef::from(&*self.listener).shutdown(Shutdown::Both);
        let _ = accept.join();
        let deadline = Instant::now() + grace.min(MAX_TIME_LIMIT);
        let gateway = self.shared.gateway.as_ref();
        if let Some(gateway) = gateway {
            gateway.stop();
        }
        self.shared.places.each(|place| {
            // What is under way on a connection of HTTP/2 still needs it both ways.
            if !gateway.is_some_and(|gateway| gateway.is_told(place.address)) {
                let _ = place.stream.shutdown(Shutdown::Read);
            }
        });
        let cut_off = self.shared.places.clear(deadline, || {
            if let Some(tenants) = &self.shared.tenants {
                tenants.close();
            }
        });
        if let Some(gateway) = gateway {
            gateway.workers.close();
        }
        if let Some(spans) = &self.shared.spans {
            spans.flush();
        }
        self.admin = None;
        cut_off
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.halt(Duration::ZERO);
    }
}
