//! Calls to gRPC services. T9 (sends a call) and T10 (receives the response) are each split into a
//! part that processes TLS records and a part that processes messages, since HTTP/2 frames are
//! between these two layers.
//!
//! A [`GrpcClient`] has one thread for its connections. Calls share the connections; each call is a
//! stream. The parts for messages run on the caller's thread. The parts for records, which contain
//! frames of many calls, run on the client's thread.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use accelflow_accel::grpc::GrpcCall;
use accelflow_accel::protobuf::{MethodId, Schema};
use accelflow_accel::{AccelError, Call, Codec, Job, Session, Settings};
use accelflow_runtime::Step;
use accelflow_runtime::thread_time;
use accelflow_runtime::trail::{self, TrailChain};
use bytes::Bytes;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use super::hub::{self, Counts};
use super::message::{GrpcRequest, GrpcResponse};
use super::order::{Answer, Cost, Order, Stage, Ticket};
use super::setup::{Done, NoJob, Setup};
use crate::client::cancel::{Cancel, Woken, begin_call, sleep};
use crate::client::config::{Address, CallOptions, ClientConfig};
use crate::client::error::CallError;
use crate::client::metrics::ClientMetrics;
use crate::client::names::Names;
use crate::client::pool::PoolCounts;
use crate::client::retry::{Earlier, Retries};
use crate::client::traces::{ClientImage, ClientTraces, Kind, Speaks, TraceSlot};
use crate::client::trust::TlsTrust;
use crate::client::wire::RECEIVING;
use crate::error::ServeError;
use crate::memory::wipe::Wiped;
use crate::observe::ledger::whole_steps;
use crate::observe::telemetry::headers_for_services;
use crate::scope::{answer_caller, current_deadline};
use crate::transport::engine::Engine;
use crate::transport::ensemble::{NextCore, ensemble};
use crate::transport::grpc::code::Code;
use crate::transport::grpc::metadata::Metadata;

/// A client of the unary methods of a gRPC service.
///
/// Any number of threads may share a client. Their calls share the client's connections.
pub struct GrpcClient {
    schema: Arc<Schema>,
    setup: Arc<Setup>,
    counts: Arc<Counts>,
    retries: Retries,
    idempotent: HashSet<MethodId>,
    /// The sender of calls to the thread. `None` once the client is dropped, which ends the thread.
    orders: Option<mpsc::UnboundedSender<Order>>,
    thread: Option<JoinHandle<()>>,
    /// The process that has the thread.
    process: u32,
}

impl std::fmt::Debug for GrpcClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GrpcClient")
            .field("address", &self.setup.name)
            .finish_non_exhaustive()
    }
}

impl GrpcClient {
    /// Creates a client of the methods that the `.proto` file `path` declares; see
    /// [`GrpcClient::new`]. Imported files are searched in this file's folder, then in the folders
    /// of `search`.
    ///
    /// # Errors
    /// [`ServeError::Proto`] if a file cannot be read or is malformed, and the errors of
    /// [`GrpcClient::new`].
    pub fn from_interface(
        path: &Path,
        search: &[PathBuf],
        address: impl Into<Address>,
        trust: Option<TlsTrust>,
        config: ClientConfig,
    ) -> Result<GrpcClient, ServeError> {
        let schema = Schema::read(path, search).map_err(|error| ServeError::Proto {
            path: path.to_owned(),
            error,
        })?;
        GrpcClient::new(
            Arc::new(schema),
            address,
            Settings::default(),
            trust,
            config,
        )
    }

    /// Creates a client of the gRPC service at `address`. The client uses TLS 1.3 with ALPN `h2` if
    /// `trust` is given, else HTTP/2 with prior knowledge. Of the accelerators' `settings`, only
    /// the limits on messages apply. Connections are opened when calls need them. With
    /// [`ClientConfig::compress`], requests are compressed with gzip.
    ///
    /// # Errors
    /// [`ServeError`] if a setting is out of range or the system cannot start a thread.
    pub fn new(
        schema: Arc<Schema>,
        address: impl Into<Address>,
        settings: Settings,
        trust: Option<TlsTrust>,
        config: ClientConfig,
    ) -> Result<GrpcClient, ServeError> {
        config.check()?;
        let address = address.into();
        let name = address.to_string();
        let (of, next_core) = (settings.clone(), NextCore::default());
        let make = move || ensemble(&of, 1, &next_core);
        let engine = Engine::new(config.execution, make)?;
        let setup = Arc::new(Setup {
            traces: TraceSlot::new(Kind {
                speaks: Speaks::Grpc,
                tls: trust.is_some(),
            })?,
            metrics: Arc::new(ClientMetrics::new(&name, engine.pools())),
            engine,
            free: Mutex::default(),
            trust: trust.map(|trust| trust.for_http2()),
            address,
            names: Names::default(),
            name,
            settings,
            config,
        });
        // Invalid settings fail here, before the first call.
        setup.executor(&setup.traces.now())?;
        let counts = Arc::new(Counts::default());
        let (orders, taken) = mpsc::unbounded_channel();
        let served = (setup.clone(), counts.clone());
        let thread = std::thread::Builder::new()
            .name("accelflow-grpc".to_owned())
            // If the runtime cannot be created, calls fail.
            .spawn(move || drop(hub::serve(&served.0, &served.1, taken)))?;
        Ok(GrpcClient {
            schema,
            retries: Retries::new(&setup.config.retry),
            setup,
            counts,
            idempotent: HashSet::new(),
            orders: Some(orders),
            thread: Some(thread),
            process: std::process::id(),
        })
    }

    /// Replaces the traces (programs of accelerator calls) with which later calls are made; `None`
    /// restores the default traces. Calls in progress keep the old traces. Returns the number of
    /// replacements so far, including this one.
    ///
    /// # Errors
    /// [`ServeError::OwnTraces`] if the new traces cannot make this client's calls. The client then
    /// keeps the old traces.
    pub fn set_traces(&self, traces: Option<ClientTraces>) -> Result<u64, ServeError> {
        self.setup.traces.replace(traces)
    }

    /// Reads the client's trace file again, and replaces the traces by its present contents, like
    /// [`GrpcClient::set_traces`].
    ///
    /// # Errors
    /// [`ServeError::OwnTraces`] if the client has no trace file, the file cannot be read, or its
    /// traces cannot make this client's calls.
    pub fn reload_traces(&self) -> Result<u64, ServeError> {
        self.setup.traces.reload()
    }

    /// Declares the method `name` idempotent: the service may safely execute a call twice. Calls of
    /// the method are then also retried if the connection is lost after the request was sent, or
    /// the service is unavailable. `name` has one of the forms of [`GrpcRequest::method`].
    ///
    /// # Errors
    /// [`AccelError::UnknownMethod`] if the interface has no such method, or several.
    pub fn set_idempotent(&mut self, name: &str) -> Result<(), AccelError> {
        let id = self.schema.find(name)?;
        self.idempotent.insert(id);
        Ok(())
    }

    /// Calls the method `method`: `package.Service.Method`, or a shorter name if it is unique.
    /// `request` is a JSON object. Returns the response message as a JSON object.
    ///
    /// # Errors
    /// [`CallError`] if the service answers with a status other than OK, or the call fails before a
    /// valid response has arrived.
    pub fn call(&self, method: &str, request: &[u8]) -> Result<Vec<u8>, CallError> {
        self.call_with(method, request, &CallOptions::default())
    }

    /// Like [`GrpcClient::call`], with options such as a deadline or a handle that cancels the
    /// call.
    ///
    /// # Errors
    /// The errors of [`GrpcClient::call`].
    pub fn call_with(
        &self,
        method: &str,
        request: &[u8],
        options: &CallOptions,
    ) -> Result<Vec<u8>, CallError> {
        let request = GrpcRequest {
            method,
            message: request,
            metadata: const { &Metadata::new() },
        };
        self.request_with(&request, options)
    }

    /// Like [`GrpcClient::call_with`], for a request that may have custom metadata. A `traceparent`
    /// in the metadata replaces the `traceparent` of the current thread's OpenTelemetry span.
    ///
    /// # Errors
    /// The errors of [`GrpcClient::call`].
    pub fn request_with(
        &self,
        request: &GrpcRequest<'_>,
        options: &CallOptions,
    ) -> Result<Vec<u8>, CallError> {
        self.respond_with(request, options)
            .map(|response| response.message)
    }

    /// Like [`GrpcClient::request_with`], and returns the custom metadata of the response, too.
    ///
    /// # Errors
    /// The errors of [`GrpcClient::call`].
    pub fn respond_with(
        &self,
        request: &GrpcRequest<'_>,
        options: &CallOptions,
    ) -> Result<GrpcResponse, CallError> {
        let start = Instant::now();
        let done = self.exchange(request, options);
        let done = done.map_err(unless_answered);
        let label = done.as_ref().err().map_or("ok", CallError::reason);
        self.setup.metrics.call(label, start.elapsed());
        done
    }

    /// Returns whether the request of `method` has the type `google.protobuf.Value`, so that it may
    /// be any JSON value, also null. Returns false for a method that the interface does not have.
    pub fn takes_json_value(&self, method: &str) -> bool {
        let id = self.schema.find(method).ok();
        let method = id.and_then(|id| self.schema.method(id));
        method.is_some_and(accelflow_accel::protobuf::Method::takes_json_value)
    }

    /// Returns the details in `status`, an encoded message `google.rpc.Status` such as
    /// [`ReceivedMetadata::status_details`], each as the JSON of a `google.protobuf.Any`. For a
    /// detail of a type that the interface does not have, `value` is the encoded message in base64.
    /// Empty if `status` is no such message.
    pub fn details_of_status(&self, status: &[u8]) -> Vec<serde_json::Value> {
        let limits = &self.setup.settings.limits;
        let details = self.schema.details_of_status(status, limits);
        details.unwrap_or_default()
    }

    /// Returns the numbers of open connections, idle connections, and calls that wait for a
    /// connection. Connections that are still being opened count as open.
    pub fn connections(&self) -> PoolCounts {
        self.counts.read()
    }

    /// Returns the client's metrics in the text format of Prometheus. Each metric has the label
    /// `peer` with the service's address.
    pub fn metrics(&self) -> String {
        self.setup.metrics.text(self.connections())
    }

    fn exchange(
        &self,
        request: &GrpcRequest<'_>,
        options: &CallOptions,
    ) -> Result<GrpcResponse, CallError> {
        let own = Instant::now() + self.setup.config.timeout;
        let given = [options.deadline, current_deadline()];
        let deadline = given.into_iter().flatten().fold(own, Instant::min);
        let call = self.named(request.method)?;
        let (id, _) = call.find()?;
        let idempotent = options.idempotent || self.idempotent.contains(&id);
        let cancel = options.cancel.as_ref();
        let busy = |_| match cancel.is_some_and(Cancel::is_cancelled) {
            true => self.cancelled(false),
            false => CallError::TenantBusy {
                address: self.setup.name.clone(),
            },
        };
        let _running = begin_call(deadline, cancel).map_err(busy)?;
        let begun = trail::is_open().then(thread_time);
        let traces = self.setup.traces.now();
        let sent = self.send_side(&traces, &call, request.message, begun.is_some())?;
        // The memory is wiped when the last part has been sent.
        let message = Bytes::from_owner(Wiped::new(sent.job.bytes));
        let sent = (sent.steps, sent.costs_ns);
        let order = |given_up| {
            let stated = request.metadata.get("traceparent").is_some();
            Order {
                path: call.path.clone(),
                message: message.clone(),
                gzip: call.codec.is_some(),
                deadline,
                ticket: Arc::new(Ticket::new()),
                noted: begun.is_some(),
                trace_context: if stated {
                    Vec::new()
                } else {
                    headers_for_services()
                },
                metadata: request.metadata.clone(),
                given_up,
            }
        };
        self.retries.call();
        let mut earlier = Earlier::default();
        for attempt in 1.. {
            let error = match self.attempt(order, cancel) {
                Ok(answer) => {
                    let noted = begun.map(|begun| (begun, sent));
                    return self.receive_side(&traces, &call, answer, noted);
                }
                Err(error) => error,
            };
            if !error.allows_retry(idempotent) {
                return Err(earlier.and(error));
            }
            earlier = self.pause(attempt, error, earlier, deadline, cancel)?;
        }
        Err(self.late(Stage::Connecting))
    }

    /// Waits before the next attempt. Returns what the attempts so far leave unknown, or an error
    /// if no other attempt is allowed.
    fn pause(
        &self,
        attempt: u32,
        error: CallError,
        mut earlier: Earlier,
        deadline: Instant,
        cancel: Option<&Cancel>,
    ) -> Result<Earlier, CallError> {
        let free = attempt == 1 && matches!(error, CallError::Unprocessed { .. });
        if free && self.setup.config.retry.max_attempts > 1 {
            // The service refused the call because it is closing the connection, not because of
            // overload.
            self.setup.metrics.retry(error.reason());
            return Ok(earlier);
        }
        let Some(pause) = self.retries.next(attempt) else {
            return Err(earlier.and(error));
        };
        if Instant::now() + pause >= deadline {
            return Err(earlier.and(error));
        }
        self.setup.metrics.retry(error.reason());
        earlier.add(error);
        match sleep(pause, cancel) {
            true => Err(earlier.and(self.cancelled(false))),
            false => Ok(earlier),
        }
    }

    fn named(&self, method: &str) -> Result<GrpcCall, CallError> {
        let codec = self.setup.config.compress.then_some(Codec::Gzip);
        let call = GrpcCall::request(self.schema.clone(), method, codec)?;
        let unary = call.find()?.1.unary;
        match unary {
            true => Ok(call),
            false => Err(CallError::Unknown(AccelError::UnknownMethod {
                name: call.path.to_string(),
                known: "a unary method, without streams".to_owned(),
            })),
        }
    }

    /// Runs the message part of T9.
    fn send_side(
        &self,
        traces: &Arc<ClientImage>,
        call: &GrpcCall,
        request: &[u8],
        noted: bool,
    ) -> Result<Done, CallError> {
        let trace = match call.codec {
            None => &traces.call,
            Some(_) => &traces.call_compressed,
        };
        let done = self
            .setup
            .run(traces, trace, request, Call::Grpc(call.clone()), noted);
        done.map_err(|error| match error {
            NoJob::Refused(failure) => CallError::Request(failure),
            NoJob::NoExecutor(error) => CallError::Unknown(error),
        })
    }

    /// Runs the message part of T10. Adds the call's costs to the thread's trail, if one is open.
    fn receive_side(
        &self,
        traces: &Arc<ClientImage>,
        call: &GrpcCall,
        answer: Answer,
        noted: Option<(Duration, Steps)>,
    ) -> Result<GrpcResponse, CallError> {
        let expected = Call::Grpc(call.response(answer.codec));
        let address = || self.setup.name.clone();
        let run = self.setup.run(
            traces,
            &traces.answer,
            &answer.message,
            expected,
            noted.is_some(),
        );
        let done = run.map_err(|error| match error {
            NoJob::Refused(failure) => CallError::Response {
                address: address(),
                failure,
            },
            NoJob::NoExecutor(error) => CallError::Malformed {
                address: address(),
                error,
            },
        })?;
        if let (Some((begun, sent)), Some(cost)) = (noted, &answer.cost) {
            let received = (done.steps, done.costs_ns);
            trail::add(begun, chain(call.codec.is_some(), cost, &sent, &received));
        }
        Ok(GrpcResponse {
            message: done.job.bytes,
            metadata: *answer.metadata,
        })
    }

    fn attempt(
        &self,
        order: impl FnOnce(oneshot::Receiver<()>) -> Order,
        cancel: Option<&Cancel>,
    ) -> Result<Answer, CallError> {
        let (_waiting, given_up) = oneshot::channel();
        let order = order(given_up);
        let (ticket, deadline) = (order.ticket.clone(), order.deadline);
        if Instant::now() >= deadline {
            return Err(self.late(Stage::Connecting));
        }
        if cancel.is_some_and(Cancel::is_cancelled) {
            return Err(self.cancelled(false));
        }
        let gone = || CallError::Connect {
            address: self.setup.name.clone(),
            error: std::io::Error::other("the client's thread has ended"),
        };
        let orders = self.orders.as_ref().ok_or_else(gone)?;
        let woken = {
            let _watch = cancel.map(|cancel| cancel.watch(ticket.result.clone()));
            orders.send(order).map_err(|_| gone())?;
            ticket.result.wait_until(deadline)
        };
        let failed = match woken {
            Woken::Value(result) => return self.in_time(result, deadline),
            Woken::Late => self.late(ticket.give_up()),
            Woken::Cancelled => self.cancelled(ticket.give_up() == Stage::Sent),
        };
        // A result may have arrived between the wake-up and giving up.
        match ticket.result.take() {
            Some(result) => self.in_time(result, deadline),
            None => Err(failed),
        }
    }

    /// Turns the service's DEADLINE_EXCEEDED into a timeout of this call, since the service may
    /// notice the deadline first.
    fn in_time(
        &self,
        result: Result<Answer, CallError>,
        deadline: Instant,
    ) -> Result<Answer, CallError> {
        match result {
            Err(CallError::Status {
                code: Code::DeadlineExceeded,
                ..
            }) if Instant::now() >= deadline => Err(self.late(Stage::Sent)),
            other => other,
        }
    }

    fn late(&self, stage: Stage) -> CallError {
        let address = self.setup.name.clone();
        match stage {
            Stage::Waiting => CallError::PoolTimeout {
                address,
                connections: self.setup.config.max_connections,
            },
            Stage::Connecting => CallError::Timeout {
                address,
                during: "connecting",
                sent: false,
            },
            Stage::Refused => CallError::Timeout {
                address,
                during: "waiting to repeat the call, which the service had refused",
                sent: false,
            },
            Stage::Sent | Stage::GivenUp => CallError::Timeout {
                address,
                during: RECEIVING,
                sent: true,
            },
        }
    }

    fn cancelled(&self, sent: bool) -> CallError {
        CallError::Cancelled {
            address: self.setup.name.clone(),
            sent,
        }
    }
}

/// Steps, and their costs in nanoseconds.
type Steps = (Vec<Step>, Vec<f64>);

/// Returns the call as one chain of the paper's T9 and T10.
fn chain(compressed: bool, cost: &Cost, sent: &Steps, received: &Steps) -> TrailChain {
    let (call, response) = match (cost.secure, compressed) {
        (true, false) => ("T9", "T10"),
        (true, true) => ("T9+Cmp", "T10"),
        (false, false) => ("T9_plain", "T10_plain"),
        (false, true) => ("T9_plain+Cmp", "T10_plain"),
    };
    let whole = |name, receives, records, (steps, costs): &Steps| {
        whole_steps(name, receives, cost.secure, records, (steps, costs))
    };
    let (mut steps, mut costs_ns) = whole(call, false, &cost.sent, sent);
    let (more, their_costs) = whole(response, true, &cost.received, received);
    steps.extend(more);
    costs_ns.extend(their_costs);
    TrailChain {
        steps,
        costs_ns,
        waits: vec![(response.to_owned(), cost.wait)],
    }
}

impl Drop for GrpcClient {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            // A forked child does not have the thread.
            std::mem::forget((self.orders.take(), self.thread.take()));
            return;
        }
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // The thread panics only if a library does.
            let _ = thread.join();
        }
    }
}

/// The error of a call, or [`CallError::Answered`] if the ensemble has passed the service's status
/// on to the client of the request being handled.
fn unless_answered(error: CallError) -> CallError {
    let CallError::Status {
        address,
        code,
        message,
        ..
    } = &error
    else {
        return error;
    };
    let status = json!({"code": code.name(), "message": message});
    let job = Job::receive(status.to_string().into_bytes(), Session::default());
    match answer_caller("T10_error", &job) {
        true => CallError::Answered {
            address: address.clone(),
        },
        false => error,
    }
}
