//! What answers requests: the application's side of a server.

use std::fmt::Display;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use accelflow_accel::thrift::{FunctionId, FunctionSet, Schema};
use accelflow_accel::{AccelError, Facts, Record};
use opentelemetry::Context;
use serde::Serialize;
use serde::de::{Deserialize, DeserializeSeed};

use crate::grpc::room::Making;
use crate::metadata::Metadata;
use crate::outbound::QUICK;
use crate::promise::{Pending, Promise};
use crate::scope::{with_abandonment, with_deadline};
use crate::spare;
use crate::wipe::Wiped;

/// What a result's buffer begins with: most are not larger.
const LEAST_RESULT: usize = 256;

/// A request as the trace T1 has delivered it to a core.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The service that declares the function.
    pub service: &'a str,
    /// The function.
    pub method: &'a str,
    /// The JSON object of its arguments (`docs/message-conventions.md`). A [`ValueHandler`] may
    /// get them in another form, and asks [`Request::read`].
    pub arguments: &'a [u8],
    /// What the accelerators learned about the message.
    pub facts: &'a Facts,
    /// Who asks.
    pub peer: SocketAddr,
    /// What it has proven to be called, if the server asks: the DNS names and URIs in its
    /// certificate.
    pub peer_identities: &'a [String],
    /// The core that LdB chose.
    pub core: Option<usize>,
    /// Until when the client waits, if it said so; gRPC alone tells. Calls to other services from
    /// the handler's thread keep it.
    pub deadline: Option<Instant>,
    /// What the client says beyond the message; Thrift has no place for it.
    pub metadata: &'a Metadata,
    /// Set when the client waits no more.
    pub(crate) abandoned: Option<&'a Arc<AtomicBool>>,
    /// That of the request's span, if it has one.
    pub(crate) context: Option<&'a Context>,
    /// What the arguments are, if they are no JSON text.
    pub(crate) record: Option<Arguments<'a>>,
}

/// Arguments that are a record, of this function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    pub(crate) record: &'a Record,
    pub(crate) function: FunctionId,
    /// Their JSON, for types that can be read from nothing else.
    pub(crate) json: &'a OnceLock<Wiped>,
    /// What the result may take, if the connection's results wait for the client.
    pub(crate) making: Option<&'a Arc<Making>>,
}

/// What the result of a function becomes, if that is not JSON.
#[derive(Clone, Copy)]
pub(crate) struct Form<'a> {
    pub(crate) record: &'a Record,
    pub(crate) function: FunctionId,
    /// What the result may take, if the connection's results wait for the client.
    pub(crate) making: Option<&'a Arc<Making>>,
}

impl Form<'_> {
    /// Of a result that is made when the handler has returned: whoever makes it must not wait for room.
    fn later(&self) -> LaterForm {
        if let Some(making) = self.making {
            making.wait_no_more();
        }
        LaterForm {
            record: self.record.clone(),
            function: self.function,
            making: self.making.cloned(),
        }
    }

    /// Writes the record of the function's result in the place of what is in `bytes`; `None` if there
    /// is no room for one that is as large.
    fn write<T: Serialize + ?Sized>(
        &self,
        value: &T,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<Record>, AccelError> {
        let (record, function) = (self.record, self.function);
        let Some(making) = self.making else {
            return record.result(function, value, bytes).map(Some);
        };
        match record.result_within(function, value, making.expected(), bytes) {
            Err(AccelError::TooLarge { .. }) if making.expected() < making.largest => {
                if !making.expect_any() {
                    return Ok(None);
                }
                record
                    .result_within(function, value, making.largest, bytes)
                    .map(Some)
            }
            written => written.map(Some),
        }
    }
}

/// A [`Form`] that outlives the request's call.
pub(crate) struct LaterForm {
    record: Record,
    function: FunctionId,
    making: Option<Arc<Making>>,
}

impl LaterForm {
    pub(crate) fn form(&self) -> Form<'_> {
        Form {
            record: &self.record,
            function: self.function,
            making: self.making.as_ref(),
        }
    }
}

impl<'a> Request<'a> {
    /// Whether the client is known to wait no more: its deadline has passed, it has cancelled the
    /// call, or its connection is gone. Work that goes on is for nothing then. gRPC alone tells; a
    /// handler on the connection's own thread ([`Config::handler_threads`](crate::Config) 0) learns
    /// of the deadline alone.
    pub fn is_abandoned(&self) -> bool {
        is_abandoned(self.deadline, self.abandoned)
    }

    /// A look at [`Request::is_abandoned`] that other threads can have.
    pub fn abandonment(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        let (deadline, abandoned) = (self.deadline, self.abandoned.cloned());
        move || is_abandoned(deadline, abandoned.as_ref())
    }

    /// The arguments as a value of the application's own type, as serde reads it from their JSON;
    /// but text may be borrowed, and there need be no JSON.
    ///
    /// # Errors
    /// [`HandlerError::Internal`] if the interface's arguments are no such type.
    pub fn read<T: Deserialize<'a>>(&self) -> Result<T, HandlerError> {
        let read = self.read_seed(PhantomData);
        match (read, self.record) {
            (Err(_), Some(it)) if it.record.may_fit_as_json() => {
                let json = it.record.to_json(self.arguments).map_err(unfit)?;
                let json = it.json.get_or_init(|| Wiped::new(json));
                read_json(json, PhantomData)
            }
            (read, _) => read,
        }
    }

    /// As [`Request::read`], with a state that builds the value.
    ///
    /// # Errors
    /// Those of [`Request::read`]. Of gRPC there are types that only [`Request::read`] can read: those
    /// that borrow text which is not on the wire as it is, such as an enum's name.
    pub fn read_seed<S: DeserializeSeed<'a>>(&self, seed: S) -> Result<S::Value, HandlerError> {
        if let Some(Arguments { record, .. }) = self.record {
            return record.read_seed(self.arguments, seed).map_err(unfit);
        }
        read_json(self.arguments, seed)
    }

    /// What a handler returns whose value is `value`. A value that does not fit the interface is
    /// reported to the client once it is returned.
    pub fn returns<T: Serialize + ?Sized>(&self, value: &T) -> Returned {
        returned(self.form(), self.arguments.len(), value)
    }

    /// What a handler returns that has no answer yet, and where that goes once there is one: others may use
    /// its thread meanwhile, if it is not the one of the client's own connection (framed Thrift
    /// answers calls in order).
    pub fn later(&self) -> (Promise, Returned) {
        let form = self.form().map(|it| it.later());
        let (promise, pending) = Promise::new(form, self.arguments.len());
        (promise, Returned(Made::Later(pending)))
    }

    fn form(&self) -> Option<Form<'_>> {
        self.record.map(|it| Form {
            record: it.record,
            function: it.function,
            making: it.making,
        })
    }
}

/// `value` in the form of a function's result; it has about this size.
pub(crate) fn returned<T: Serialize + ?Sized>(
    form: Option<Form<'_>>,
    size: usize,
    value: &T,
) -> Returned {
    let now = |value| Returned(Made::Now(value));
    if let Some(form) = form {
        // Many results are about as large as their arguments.
        let mut bytes = spare::take(LEAST_RESULT.max(size));
        let refused = match form.write(value, &mut bytes) {
            Ok(Some(record)) => return now(Value::Record(record, bytes)),
            Ok(None) => {
                spare::give(bytes);
                return now(Value::NoRoom);
            }
            Err(error) => error,
        };
        spare::give(bytes);
        let too_large = matches!(refused, AccelError::TooLarge { .. });
        if too_large || !form.record.may_fit_as_json() {
            return now(Value::Unfit(refused.to_string()));
        }
    }
    match serde_json::to_vec(value) {
        Ok(json) => now(Value::Json(json)),
        Err(error) => now(Value::Unfit(error.to_string())),
    }
}

pub(crate) fn is_abandoned(deadline: Option<Instant>, abandoned: Option<&Arc<AtomicBool>>) -> bool {
    abandoned.is_some_and(|it| it.load(Ordering::Relaxed))
        || deadline.is_some_and(|it| it <= Instant::now())
}

/// Reads JSON that Dser has made, and so is nested no deeper than [`accelflow_accel::Limits`] allow.
fn read_json<'a, S: DeserializeSeed<'a>>(
    json: &'a [u8],
    seed: S,
) -> Result<S::Value, HandlerError> {
    let mut text = serde_json::Deserializer::from_slice(json);
    text.disable_recursion_limit();
    let value = seed.deserialize(&mut text);
    let value = value.and_then(|value| text.end().map(|()| value));
    value.map_err(unfit)
}

fn unfit(why: impl Display) -> HandlerError {
    HandlerError::Internal(format!("the arguments: {why}"))
}

/// What a [`ValueHandler`] returns: made by [`Request::returns`] and [`Returned::json`].
#[derive(Debug)]
pub struct Returned(pub(crate) Made);

/// When there is a value.
#[derive(Debug)]
pub(crate) enum Made {
    Now(Value),
    /// When the promise is kept that this is the other end of.
    Later(Pending),
}

#[derive(Debug)]
pub(crate) enum Value {
    /// The JSON of the function's value.
    Json(Vec<u8>),
    /// The record of the function's result.
    Record(Record, Vec<u8>),
    /// Nothing that can be sent, and why.
    Unfit(String),
    /// What was too large for what the client has not taken yet.
    NoRoom,
}

impl Returned {
    /// The JSON of the function's value, for a void function nothing.
    pub fn json(value: Vec<u8>) -> Returned {
        Returned(Made::Now(Value::Json(value)))
    }

    /// A value that cannot be sent, and why: the client is told so.
    pub fn unfit(why: String) -> Returned {
        Returned(Made::Now(Value::Unfit(why)))
    }

    /// What a void function returns.
    pub fn nothing() -> Returned {
        Returned::json(Vec::new())
    }
}

/// Why a handler gives no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandlerError {
    /// An exception that the interface declares for the function. In gRPC every method has the
    /// status codes for exceptions: `NOT_FOUND` with `{"message": "..."}`.
    #[error("exception '{field}'")]
    Declared {
        /// The name of its field in `throws`.
        field: String,
        /// The JSON object of its members.
        body: Vec<u8>,
    },
    /// Anything else. The client is sent a `TApplicationException` INTERNAL_ERROR, of gRPC the
    /// status UNKNOWN, with the id under which the log has this text
    /// ([`Config::verbose_errors`](crate::Config)).
    #[error("{0}")]
    Internal(String),
    /// The same, of which the handler has told the log itself.
    #[error("{why}")]
    Logged {
        /// What the log has it under.
        id: String,
        /// What went wrong.
        why: String,
    },
}

/// What a handler returns: the JSON of the function's value, for a void function nothing.
pub type HandlerResult = Result<Vec<u8>, HandlerError>;

/// Answers the requests to one function.
///
/// Contract: called from several threads at once, each of which it may block: a connection's
/// thread waits for its own handler alone. A panic is answered with INTERNAL_ERROR.
pub trait Handler: Send + Sync {
    /// Answers one request.
    ///
    /// # Errors
    /// [`HandlerError`], which the client is told.
    fn call(&self, request: &Request<'_>) -> HandlerResult;
}

impl<F> Handler for F
where
    F: Fn(&Request<'_>) -> HandlerResult + Send + Sync,
{
    fn call(&self, request: &Request<'_>) -> HandlerResult {
        self(request)
    }
}

/// Answers the requests to one function, and reads and returns values of the application's own types.
///
/// Where the server keeps no recording, its arguments and its value are no JSON text on the way: of
/// Thrift where nothing is compressed, of gRPC where no message within them is one that JSON has in a
/// form of its own (`docs/message-conventions.md`). Contract: that of [`Handler`].
pub trait ValueHandler: Send + Sync {
    /// Answers one request.
    ///
    /// # Errors
    /// [`HandlerError`], which the client is told.
    fn call(&self, request: &Request<'_>) -> Result<Returned, HandlerError>;
}

impl<F> ValueHandler for F
where
    F: Fn(&Request<'_>) -> Result<Returned, HandlerError> + Send + Sync,
{
    fn call(&self, request: &Request<'_>) -> Result<Returned, HandlerError> {
        self(request)
    }
}

/// A handler of either kind.
#[derive(Clone)]
pub(crate) enum AnyHandler {
    Json(Arc<dyn Handler>),
    Values(Arc<dyn ValueHandler>),
}

impl AnyHandler {
    /// Calls the handler on this thread. What it calls there keeps the request's deadline, and is in
    /// its trace.
    pub(crate) fn call(&self, request: &Request<'_>) -> Result<Returned, HandlerError> {
        let _attached = request.context.map(|context| context.clone().attach());
        let call = || with_abandonment(request.abandoned, || self.call_now(request));
        match request.deadline {
            Some(deadline) => with_deadline(deadline, call),
            None => call(),
        }
    }

    fn call_now(&self, request: &Request<'_>) -> Result<Returned, HandlerError> {
        match self {
            AnyHandler::Json(handler) => handler.call(request).map(Returned::json),
            AnyHandler::Values(handler) => handler.call(request),
        }
    }
}

/// The handlers by the index of their functions: what RPC found is the place to look at.
#[derive(Default)]
pub(crate) struct Handlers {
    by_function: Vec<Option<AnyHandler>>,
    /// By function, whether its last call was.
    quick: Vec<AtomicBool>,
}

impl Handlers {
    /// Sets the handler of `Service.method`, replacing one that was there.
    pub(crate) fn set(
        &mut self,
        schema: &Schema,
        name: &str,
        handler: AnyHandler,
    ) -> Result<(), AccelError> {
        let FunctionId(index) = match name.rsplit_once('.') {
            Some((service, method)) => schema.find_in(service, method)?,
            None => schema.find(name)?,
        };
        self.set_at(index, handler);
        Ok(())
    }

    /// Sets the handler of the function at `index`.
    pub(crate) fn set_at(&mut self, index: usize, handler: AnyHandler) {
        if self.by_function.len() <= index {
            self.by_function.resize_with(index + 1, || None);
            self.quick.resize_with(index + 1, AtomicBool::default);
        }
        self.by_function[index] = Some(handler);
    }

    pub(crate) fn get(&self, function: FunctionId) -> Option<&AnyHandler> {
        self.by_function.get(function.0)?.as_ref()
    }

    /// Whether the handler of `function` can be expected to be quick: its last call was.
    pub(crate) fn is_quick(&self, function: FunctionId) -> bool {
        let last = self.quick.get(function.0);
        last.is_none_or(|last| last.load(Ordering::Relaxed))
    }

    /// Notes how long a call took.
    pub(crate) fn took(&self, function: FunctionId, spent: Duration) {
        if let Some(last) = self.quick.get(function.0) {
            let quick = spent <= QUICK;
            // Written seldom: all connections read it.
            if last.load(Ordering::Relaxed) != quick {
                last.store(quick, Ordering::Relaxed);
            }
        }
    }

    /// The functions whose handlers read values.
    pub(crate) fn of_values(&self) -> FunctionSet {
        let handlers = self.by_function.iter().enumerate();
        let values = handlers.filter(|(_, it)| matches!(it, Some(AnyHandler::Values(_))));
        values.map(|(index, _)| FunctionId(index)).collect()
    }
}
