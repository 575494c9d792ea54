//! The channel of a Thrift or HTTP client: its connections, deadlines, retries and metrics.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use accelflow_accel::{Call, Job, Settings};
use accelflow_runtime::trail::Exchanges;
use zeroize::Zeroizing;

use super::cancel::{Cancel, begin_call, sleep};
use super::config::{Address, CallOptions, ClientConfig};
use super::connection::{Connection, ExchangeError, Outgoing};
use super::dial::{NotDialled, dial};
use super::error::{CallError, Executed};
use super::metrics::ClientMetrics;
use super::names::Names;
use super::pool::{NoPlace, Place, Pool, PoolCounts};
use super::retry::{Earlier, Retries};
use super::traces::{Kind, Speaks, TraceSlot};
use super::trust::TlsTrust;
use super::wire::{Framing, Wire, WireError};
use crate::error::ServeError;
use crate::scope::{current_deadline, current_terms};
use crate::transport::engine::Engine;
use crate::transport::ensemble::{NextCore, ensemble};

/// The connections to one service, with their settings and metrics.
pub(super) struct Channel {
    pub(super) address: Address,
    names: Names,
    /// The address, as it appears in errors.
    name: String,
    pub(super) settings: Settings,
    config: ClientConfig,
    trust: Option<TlsTrust>,
    pub(super) traces: TraceSlot,
    engine: Engine,
    pool: Arc<Pool<Connection>>,
    retries: Retries,
    metrics: Arc<ClientMetrics>,
    reaper: Option<JoinHandle<()>>,
    /// The process that has the thread.
    process: u32,
}

/// A request, before its connection is chosen.
pub(super) struct Request<'a> {
    pub(super) answered: bool,
    pub(super) framing: Framing,
    pub(super) call: Call,
    pub(super) expected: Call,
    pub(super) expected_at_end: Option<Call>,
    pub(super) body: &'a [u8],
    pub(super) idempotent: bool,
}

impl Channel {
    pub(super) fn new(
        speaks: Speaks,
        address: Address,
        settings: Settings,
        trust: Option<TlsTrust>,
        config: ClientConfig,
    ) -> Result<Channel, ServeError> {
        config.check()?;
        let name = address.to_string();
        let (most, waiting) = (config.max_connections, config.max_waiting);
        let pool = Arc::new(Pool::new(most, waiting, config.idle_timeout));
        let (of, next_core) = (settings.clone(), NextCore::default());
        let make = move || ensemble(&of, 1, &next_core);
        let engine = Engine::new(config.execution, make)?;
        let metrics = Arc::new(ClientMetrics::new(&name, engine.pools()));
        let traces = TraceSlot::new(Kind {
            speaks,
            tls: trust.is_some(),
        })?;
        // Invalid settings fail here, before the first call.
        let first = traces.now();
        engine.executor(&first.image, &first.bodies, first.generation)?;
        let reaper = {
            let (pool, metrics) = (pool.clone(), metrics.clone());
            let reap = move || {
                pool.reap(|connection: Connection| {
                    metrics.ended("idle");
                    connection.close();
                });
            };
            let thread = std::thread::Builder::new().name("accelflow-idle".to_owned());
            Some(thread.stack_size(128 * 1024).spawn(reap)?)
        };
        Ok(Channel {
            name,
            traces,
            engine,
            retries: Retries::new(&config.retry),
            address,
            names: Names::default(),
            settings,
            config,
            trust,
            pool,
            metrics,
            reaper,
            process: std::process::id(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn counts(&self) -> PoolCounts {
        self.pool.counts()
    }

    pub(super) fn metrics(&self) -> String {
        self.metrics.text(self.counts())
    }

    /// Counts the result of a call that began at `start`.
    pub(super) fn note<T>(&self, start: Instant, result: &Result<T, CallError>) {
        let label = result.as_ref().err().map_or("ok", CallError::reason);
        self.metrics.call(label, start.elapsed());
    }

    /// Sends a request. If it has a response, applies `read` to the response and returns the
    /// result. Retries the request if that is safe.
    pub(super) fn exchange<T>(
        &self,
        request: &Request<'_>,
        options: &CallOptions,
        read: impl Fn(Job) -> Result<T, CallError>,
    ) -> Result<Option<T>, CallError> {
        let own = Instant::now() + self.config.timeout;
        let given = [options.deadline, current_deadline()];
        let deadline = given.into_iter().flatten().fold(own, Instant::min);
        let cancel = options.cancel.as_ref();
        self.retries.call();
        let busy = |_| self.busy(options.cancel.as_ref());
        let _running = begin_call(deadline, cancel).map_err(busy)?;
        let mut earlier = Earlier::default();
        for attempt in 1.. {
            let error = match self.attempt(request, deadline, cancel, &read) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            if !error.allows_retry(request.idempotent) {
                return Err(earlier.and(error));
            }
            let Some(pause) = self.retries.next(attempt) else {
                return Err(earlier.and(error));
            };
            if Instant::now() + pause >= deadline {
                return Err(earlier.and(error));
            }
            self.metrics.retry(error.reason());
            earlier.add(error);
            if sleep(pause, cancel) {
                return Err(earlier.and(self.cancelled(false)));
            }
        }
        Err(self.late("connecting", false))
    }

    fn attempt<T>(
        &self,
        request: &Request<'_>,
        deadline: Instant,
        cancel: Option<&Cancel>,
        read: impl Fn(Job) -> Result<T, CallError>,
    ) -> Result<Option<T>, CallError> {
        let (lease, mut connection) = self.connection(deadline, cancel)?;
        let traces = self.traces.now();
        let outgoing = Outgoing {
            traces: &traces,
            // A request without a body, as HTTP has them, has nothing to compress.
            compress: self.config.compress && !request.body.is_empty(),
            answered: request.answered,
            framing: request.framing,
            call: &request.call,
            expected: &request.expected,
            expected_at_end: request.expected_at_end.as_ref(),
            body: request.body,
            terms: current_terms(),
        };
        let done = {
            let _watch = cancel.map(|cancel| cancel.watch(connection.wire.stream.clone()));
            connection.exchange(&outgoing, deadline)
        };
        let sent = connection.wire.written > 0;
        match done {
            Ok(job) => {
                let close = job.as_ref().is_some_and(|job| closes(&job.call));
                let value = job.map(read).transpose();
                // A connection that has answered a different call is not reused.
                let in_step = value.as_ref().err().is_none_or(is_an_answer);
                match connection.is_reusable() && in_step && !close {
                    true => lease.give_back(connection),
                    false => self.metrics.ended("closed"),
                }
                value
            }
            Err(_) if cancel.is_some_and(Cancel::is_cancelled) => {
                self.metrics.ended("cancelled");
                Err(self.cancelled(sent))
            }
            Err(ExchangeError::Request(failure)) => {
                // A body that panicked is not reused.
                match sent || failure.error.reason == "panic" {
                    true => self.metrics.ended("failed"),
                    false => lease.give_back(connection),
                }
                Err(CallError::Request(failure))
            }
            Err(ExchangeError::Response(failure)) => {
                self.metrics.ended("failed");
                let address = self.name.clone();
                Err(CallError::Response { address, failure })
            }
            Err(ExchangeError::Wire(error)) => {
                self.metrics.ended("failed");
                Err(self.failure(error, sent))
            }
        }
    }

    /// Takes an idle connection that is still usable, or opens a new one.
    fn connection(
        &self,
        deadline: Instant,
        cancel: Option<&Cancel>,
    ) -> Result<(Lease<'_>, Connection), CallError> {
        let (address, connections) = (self.name.clone(), self.config.max_connections);
        let place = self.pool.take(deadline, cancel).map_err(|why| match why {
            NoPlace::Full { waiting } => CallError::PoolFull {
                address,
                connections,
                waiting,
            },
            NoPlace::Late => CallError::PoolTimeout {
                address,
                connections,
            },
            NoPlace::Cancelled => self.cancelled(false),
        })?;
        let lease = Lease {
            pool: &self.pool,
            held: true,
        };
        if let Place::Used(mut connection) = place {
            if connection.is_alive() {
                return Ok((lease, connection));
            }
            self.metrics.ended("dead");
        }
        let connection = self.open(deadline, cancel)?;
        Ok((lease, connection))
    }

    fn open(&self, deadline: Instant, cancel: Option<&Cancel>) -> Result<Connection, CallError> {
        let soon = Instant::now() + self.config.connect_timeout;
        let until = soon.min(deadline);
        let dialled = dial(
            &self.address,
            &self.names,
            self.trust.as_ref(),
            until,
            cancel,
        );
        let dialled = dialled.map_err(|failed| match failed {
            _ if cancel.is_some_and(Cancel::is_cancelled) => self.cancelled(false),
            NotDialled::Io(error)
                if error.kind() == io::ErrorKind::TimedOut && until == deadline =>
            {
                self.late("connecting", false)
            }
            failed => failed.of(&self.name),
        })?;
        let traces = self.traces.now();
        Ok(Connection {
            executor: self
                .engine
                .executor(&traces.image, &traces.bodies, traces.generation)?,
            traces,
            tenant: 0,
            conversation: dialled.conversation,
            opened: Zeroizing::default(),
            broken: false,
            metrics: self.metrics.clone(),
            wire: Wire {
                stream: dialled.stream,
                inbound: dialled.inbound,
                limits: self.settings.limits,
                secure: dialled.control.is_some(),
                framing: Framing::Thrift,
                deadline: until,
                written: 0,
                received: false,
                ended: false,
                goodbye: false,
                error: None,
                exchanges: Exchanges::default(),
            },
            control: dialled.control,
        })
    }

    fn failure(&self, error: WireError, sent: bool) -> CallError {
        let address = self.name.clone();
        match error {
            WireError::NotSent(error) => CallError::NotSent { address, error },
            WireError::Lost(why) => CallError::Lost { address, why },
            WireError::Late(during) => self.late(during, sent),
            WireError::Malformed(error) => CallError::Malformed { address, error },
            WireError::Tls(why) => CallError::Tls { address, why },
        }
    }

    /// The error of a call whose tenant is at its limit of concurrent calls.
    fn busy(&self, cancel: Option<&Cancel>) -> CallError {
        match cancel.is_some_and(Cancel::is_cancelled) {
            true => self.cancelled(false),
            false => CallError::TenantBusy {
                address: self.name.clone(),
            },
        }
    }

    fn late(&self, during: &'static str, sent: bool) -> CallError {
        CallError::Timeout {
            address: self.name.clone(),
            during,
            sent,
        }
    }

    fn cancelled(&self, sent: bool) -> CallError {
        CallError::Cancelled {
            address: self.name.clone(),
            sent,
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            // A forked child does not have the thread.
            std::mem::forget(self.reaper.take());
            return;
        }
        self.pool.close();
        if let Some(reaper) = self.reaper.take() {
            // The thread panics only if a destructor does.
            let _ = reaper.join();
        }
    }
}

fn is_an_answer(error: &CallError) -> bool {
    let refused = matches!(
        error,
        CallError::Unprocessed { .. } | CallError::Application { .. }
    );
    refused || error.executed() == Executed::Yes
}

/// Whether the connection closes after a response.
fn closes(call: &Call) -> bool {
    matches!(call, Call::Http(response) if response.close)
}

/// A place in the pool. Dropping it frees the place, unless the connection was returned.
struct Lease<'c> {
    pool: &'c Pool<Connection>,
    held: bool,
}

impl Lease<'_> {
    fn give_back(mut self, connection: Connection) {
        self.held = false;
        self.pool.give_back(connection);
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if self.held {
            self.pool.give_up();
        }
    }
}
