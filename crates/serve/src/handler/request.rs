//! Requests, as handlers see them.

use std::fmt::Display;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use accelflow_accel::thrift::FunctionId;
use accelflow_accel::{Facts, Record};
use opentelemetry::Context;
use serde::Serialize;
use serde::de::{Deserialize, DeserializeSeed};

use super::form::Form;
use super::promise::Promise;
use super::returned::{Made, Returned, returned};
use super::value::HandlerError;
use crate::memory::room::ResponseBudget;
use crate::memory::wipe::Wiped;
use crate::scope::{Carried, is_abandoned};
use crate::transport::grpc::metadata::Metadata;

/// A request that a handler answers, as the trace T1 has delivered it to a core.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The service that declares the function.
    pub service: &'a str,
    /// The name of the called function.
    pub method: &'a str,
    /// The function's arguments as a JSON object (`docs/message-conventions.md`). For a
    /// [`ValueHandler`](crate::ValueHandler) they may have another form; use [`Request::read`].
    pub arguments: &'a [u8],
    /// The facts that the accelerators found in the message, such as `compressed`.
    pub facts: &'a Facts,
    /// The client's address.
    pub peer: SocketAddr,
    /// The DNS names and URIs in the client's certificate, if the server requires certificates.
    /// They are proven identities.
    pub peer_identities: &'a [String],
    /// The core that LdB chose.
    pub core: Option<usize>,
    /// The client's deadline, if it has one (gRPC only). The handler's calls to other services
    /// inherit it.
    pub deadline: Option<Instant>,
    /// The custom metadata of the call (gRPC only).
    pub metadata: &'a Metadata,
    /// The terms and limits that the handler's own calls inherit.
    pub(crate) carried: &'a Carried,
    /// Set when the client no longer waits.
    pub(crate) abandoned: Option<&'a Arc<AtomicBool>>,
    /// The context of the request's span, if it has one.
    pub(crate) context: Option<&'a Context>,
    /// The record type of the arguments; `None` if they are JSON text.
    pub(crate) record: Option<Arguments<'a>>,
}

/// Arguments in the form of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    pub(crate) record: &'a Record,
    pub(crate) function: FunctionId,
    /// Their JSON text, for types that can be read only from JSON.
    pub(crate) json: &'a OnceLock<Wiped>,
    /// The memory for the result, on connections that limit it.
    pub(crate) budget: Option<&'a Arc<ResponseBudget>>,
}

impl<'a> Request<'a> {
    /// Whether the client has stopped waiting, because its deadline has passed, it has cancelled
    /// the call, or its connection is gone. The handler can then stop. Only gRPC clients report
    /// this. Handlers on the connection's thread ([`Config::handler_threads`](crate::Config) = 0)
    /// see only the deadline.
    pub fn is_abandoned(&self) -> bool {
        is_abandoned(self.deadline, self.abandoned)
    }

    /// Returns a function that other threads can call instead of [`Request::is_abandoned`].
    pub fn abandonment(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        let (deadline, abandoned) = (self.deadline, self.abandoned.cloned());
        move || is_abandoned(deadline, abandoned.as_ref())
    }

    /// Reads the arguments as a value of the application's own type, as serde reads it from JSON.
    /// Text may be borrowed, and the arguments need not be converted to JSON.
    ///
    /// # Errors
    /// [`HandlerError::Internal`] if the type does not fit the interface's arguments.
    pub fn read<T: Deserialize<'a>>(&self) -> Result<T, HandlerError> {
        let read = self.read_seed(PhantomData);
        match (read, self.record) {
            (Err(_), Some(arguments)) if arguments.record.may_fit_as_json() => {
                let json = arguments.record.to_json(self.arguments).map_err(unfit)?;
                let json = arguments.json.get_or_init(|| Wiped::new(json));
                read_json(json, PhantomData)
            }
            (read, _) => read,
        }
    }

    /// Reads the arguments with a serde seed, which builds the value.
    ///
    /// # Errors
    /// The errors of [`Request::read`]. For gRPC, also for types that borrow text that is not on
    /// the wire, such as an enum's name. Only [`Request::read`] can read these.
    pub fn read_seed<S: DeserializeSeed<'a>>(&self, seed: S) -> Result<S::Value, HandlerError> {
        if let Some(Arguments { record, .. }) = self.record {
            return record.read_seed(self.arguments, seed).map_err(unfit);
        }
        read_json(self.arguments, seed)
    }

    /// Encodes `value` as the handler's result. If the value does not fit the interface, the client
    /// gets an error when the handler returns the result.
    pub fn returns<T: Serialize + ?Sized>(&self, value: &T) -> Returned {
        returned(self.form(), self.arguments.len(), value)
    }

    /// Promises a later answer. The handler returns the second value now, and keeps the promise
    /// later ([`Promise::keep`]). Meanwhile its thread can serve other requests, except with framed
    /// Thrift, which answers the calls of a connection in order.
    pub fn later(&self) -> (Promise, Returned) {
        let form = self.form().map(|form| form.later());
        let (promise, pending) = Promise::new(form, self.arguments.len());
        (promise, Returned(Made::Later(pending)))
    }

    fn form(&self) -> Option<Form<'_>> {
        self.record.map(|arguments| Form {
            record: arguments.record,
            function: arguments.function,
            budget: arguments.budget,
        })
    }
}

/// Reads JSON written by Dser, whose nesting is within [`accelflow_accel::Limits`].
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
    HandlerError::Internal(format!(
        "the arguments do not fit the handler's type: {why}"
    ))
}
