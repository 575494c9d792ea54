//! Calls to Thrift services: T9 sends a call, and T10 receives the response.
//!
//! A [`Client`] has a bounded pool of connections to one service, plain or with TLS 1.3
//! ([`TlsTrust`]). Any number of threads may share a client. Each call uses a separate connection;
//! calls get connections in order of arrival. A call ends at the latest at its deadline, or when
//! another thread [cancels](super::Cancel) the call. The error says whether the service may have
//! executed the call ([`CallError::executed`]).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

use accelflow_accel::rpc::{LOADSHEDDING, MessageType, ThriftCall};
use accelflow_accel::thrift::{FunctionId, Protocol, Record, Schema};
use accelflow_accel::{AccelError, Call, Job, Settings};
use serde::Serialize;
use serde_json::{Map, Value};
use zeroize::Zeroize;

use super::channel::{Channel, Request};
use super::config::{Address, CallOptions, ClientConfig};
use super::error::CallError;
use super::pool::PoolCounts;
use super::traces::{ClientTraces, Speaks};
use super::trust::TlsTrust;
use super::wire::Framing;
use crate::error::ServeError;
use crate::scope::answer_caller;

/// A client of the functions of a Thrift service. Any number of threads may share a client.
pub struct Client {
    channel: Channel,
    protocol: Protocol,
    multiplexed: bool,
    sequence: AtomicI32,
    idempotent: HashSet<usize>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("address", &self.channel.name())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client of the functions that the `.thrift` file `path` declares; see
    /// [`Client::new`]. Included files are searched in this file's folder, then in the folders of
    /// `search`.
    ///
    /// # Errors
    /// [`ServeError::Interface`] if a file cannot be read or is malformed, and the errors of
    /// [`Client::new`].
    pub fn from_interface(
        path: &Path,
        search: &[PathBuf],
        address: impl Into<Address>,
        protocol: Protocol,
        trust: Option<TlsTrust>,
        config: ClientConfig,
    ) -> Result<Client, ServeError> {
        let settings = Settings {
            schema: Arc::new(Schema::load(path, search)?),
            ..Settings::default()
        };
        Client::new(address, settings, protocol, trust, config)
    }

    /// Creates a client of the Thrift service at `address`, whose interface is `settings.schema`.
    /// The client uses TLS if `trust` is given. Connections are opened when calls need them.
    ///
    /// # Errors
    /// [`ServeError`] if a setting is out of range or the system cannot start a thread.
    pub fn new(
        address: impl Into<Address>,
        settings: Settings,
        protocol: Protocol,
        trust: Option<TlsTrust>,
        config: ClientConfig,
    ) -> Result<Client, ServeError> {
        Ok(Client {
            channel: Channel::new(Speaks::Thrift, address.into(), settings, trust, config)?,
            protocol,
            multiplexed: false,
            sequence: AtomicI32::new(0),
            idempotent: HashSet::new(),
        })
    }

    /// Sets whether calls name the function as `service:method` (Thrift's multiplexed protocol),
    /// for servers with several services on one port. Off at first.
    pub fn set_multiplexed(&mut self, multiplexed: bool) {
        self.multiplexed = multiplexed;
    }

    /// Replaces the traces (programs of accelerator calls) with which later calls are made; `None`
    /// restores the default traces. Calls in progress keep the old traces. Returns the number of
    /// replacements so far, including this one.
    ///
    /// # Errors
    /// [`ServeError::OwnTraces`] if the new traces cannot make this client's calls. The client then
    /// keeps the old traces.
    pub fn set_traces(&self, traces: Option<ClientTraces>) -> Result<u64, ServeError> {
        self.channel.traces.replace(traces)
    }

    /// Reads the client's trace file again, and replaces the traces by its present contents, like
    /// [`Client::set_traces`].
    ///
    /// # Errors
    /// [`ServeError::OwnTraces`] if the client has no trace file, the file cannot be read, or its
    /// traces cannot make this client's calls.
    pub fn reload_traces(&self) -> Result<u64, ServeError> {
        self.channel.traces.reload()
    }

    /// Declares the function `name` idempotent: the service may safely execute a call twice. `name`
    /// is `Service.method`, or `method` if only one service has it. Calls of the function are then
    /// also retried if the connection is lost after the request was sent.
    ///
    /// # Errors
    /// [`AccelError::UnknownService`] or [`AccelError::UnknownMethod`] if the interface has no such
    /// function, or several.
    pub fn set_idempotent(&mut self, name: &str) -> Result<(), AccelError> {
        let id = self.find(name)?;
        self.idempotent.insert(id.0);
        Ok(())
    }

    /// Calls the function `method`: `Service.method`, or `method` if only one service has it.
    /// `arguments` is a JSON object. Returns the function's value as JSON text, which is empty for
    /// a void or oneway function.
    ///
    /// # Errors
    /// [`CallError`] if the service answers with an exception, or the call fails before a valid
    /// response has arrived.
    pub fn call(&self, method: &str, arguments: &[u8]) -> Result<Vec<u8>, CallError> {
        self.call_with(method, arguments, &CallOptions::default())
    }

    /// Like [`Client::call`], with options such as a deadline or a handle that cancels the call.
    ///
    /// # Errors
    /// The errors of [`Client::call`].
    pub fn call_with(
        &self,
        method: &str,
        arguments: &[u8],
        options: &CallOptions,
    ) -> Result<Vec<u8>, CallError> {
        let start = Instant::now();
        let done = self.exchange(method, arguments, options);
        self.channel.note(start, &done);
        done
    }

    /// Returns the numbers of open connections, idle connections, and calls that wait for a
    /// connection.
    pub fn connections(&self) -> PoolCounts {
        self.channel.counts()
    }

    /// Returns the client's metrics in the text format of Prometheus. Each metric has the label
    /// `peer` with the service's address.
    pub fn metrics(&self) -> String {
        self.channel.metrics()
    }

    /// Checks that `arguments` are arguments of `method`. Calls check their arguments, too, but as
    /// JSON text, in which a NaN or an infinity of a `double` is a text like any other.
    ///
    /// # Errors
    /// [`CallError`] if the interface has no such function, or the arguments do not fit it.
    pub fn check_arguments<T: Serialize + ?Sized>(
        &self,
        method: &str,
        arguments: &T,
    ) -> Result<(), CallError> {
        let settings = &self.channel.settings;
        let function = self.find(method)?;
        let Some(record) = Record::of_arguments(&settings.schema, function, &settings.limits)
        else {
            return Ok(());
        };
        let mut bytes = Vec::new();
        let checked = record.check(arguments, &mut bytes);
        bytes.zeroize();
        Ok(checked?)
    }

    /// Returns the record type of the results of `method`, by which texts that stand for a NaN or
    /// an infinity of a `double` can be read as numbers; `None` if the interface has no such
    /// function.
    pub fn result_type(&self, method: &str) -> Option<Record> {
        let settings = &self.channel.settings;
        let function = self.find(method).ok()?;
        Record::of_result(&settings.schema, function, &settings.limits)
    }

    fn find(&self, name: &str) -> Result<FunctionId, AccelError> {
        let schema = &self.channel.settings.schema;
        match name.split_once('.') {
            Some((service, method)) => schema.find_in(service, method),
            None => schema.find(name),
        }
    }

    fn exchange(
        &self,
        method: &str,
        arguments: &[u8],
        options: &CallOptions,
    ) -> Result<Vec<u8>, CallError> {
        let schema = &self.channel.settings.schema;
        let id = self.find(method)?;
        let sequence = self
            .sequence
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(1);
        // The service that declares the function may have lent it to several others.
        let owner = match method.split_once('.') {
            Some((service, _)) => Some(service),
            None => schema.service_of(id),
        };
        let owner = owner.unwrap_or_default();
        let name = schema.function(id).map(|function| &*function.name);
        let name = format!("{owner}:{}", name.unwrap_or_default());
        let mut call = ThriftCall::request(schema, &name, self.protocol, sequence)?;
        call.multiplexed = self.multiplexed;
        call.service = owner.into();
        let answered = call.message_type != MessageType::Oneway;
        let request = Request {
            answered,
            framing: Framing::Thrift,
            call: Call::Thrift(call.clone()),
            expected: Call::Thrift(call.clone()),
            expected_at_end: None,
            body: arguments,
            idempotent: options.idempotent || self.idempotent.contains(&id.0),
        };
        let read = |job: Job| self.value(&call, job);
        let value = self.channel.exchange(&request, options, read)?;
        Ok(value.unwrap_or_default())
    }

    /// The value in a response to `call`.
    fn value(&self, call: &ThriftCall, mut job: Job) -> Result<Vec<u8>, CallError> {
        let named = |call: &ThriftCall| format!("call {} of {}", call.sequence, call.method);
        let address = || self.channel.name().to_owned();
        let out_of_step = |found: String| CallError::OutOfStep {
            address: address(),
            expected: named(call),
            found,
        };
        let kind = match &job.call {
            Call::Thrift(reply)
                if reply.method == call.method && reply.sequence == call.sequence =>
            {
                reply.message_type
            }
            Call::Thrift(reply) => return Err(out_of_step(format!("a reply to {}", named(reply)))),
            _ => return Err(out_of_step("something else".to_owned())),
        };
        let read: Result<Map<String, Value>, _> = serde_json::from_slice(&job.bytes);
        let result = read.map_err(|error| CallError::Malformed {
            address: address(),
            error: AccelError::BadJson {
                line: error.line(),
                column: error.column(),
                why: error.to_string(),
            },
        })?;
        if kind == MessageType::Exception && result.get("type") == Some(&LOADSHEDDING.into()) {
            let why = result.get("message").and_then(Value::as_str);
            return Err(CallError::Unprocessed {
                address: address(),
                why: why.unwrap_or_default().to_owned(),
            });
        }
        let answers = |job: &Job| answer_caller("T10_error", job);
        let failed = kind == MessageType::Exception
            || (kind == MessageType::Reply && result.keys().any(|field| field != "success"));
        if failed && answers(&job) {
            return Err(CallError::Answered { address: address() });
        }
        job.bytes.zeroize();
        if kind == MessageType::Exception {
            let text = result.get("message").and_then(Value::as_str);
            return Err(CallError::Application {
                kind: result.get("type").and_then(Value::as_i64).unwrap_or(0),
                message: text.unwrap_or_default().to_owned(),
            });
        }
        if kind != MessageType::Reply {
            return Err(out_of_step("a request".to_owned()));
        }
        match result.into_iter().next() {
            None => Ok(Vec::new()),
            Some((field, value)) if field == "success" => Ok(value.to_string().into_bytes()),
            Some((field, value)) => Err(CallError::Declared {
                field,
                body: value.to_string(),
            }),
        }
    }
}
