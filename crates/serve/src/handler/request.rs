//! Requests, as handlers receive them.

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
use super::returned::{Made, Returned, check, returned};
use super::value::HandlerError;
use crate::memory::room::ResponseBudget;
use crate::memory::wipe::Wiped;
use crate::scope::{Carried, is_abandoned};
use crate::transport::grpc::metadata::Metadata;
use crate::transport::grpc::response::ResponseMetadata;

/// A request that a handler answers. The server's trace for receiving requests, by default the
/// paper's T1, has decoded it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The name of the service that declares the called function.
    pub service: &'a str,
    /// The name of the called function.
    pub method: &'a str,
    /// The function's arguments as a JSON object (`docs/message-conventions.md`). For a
    /// [`ValueHandler`](crate::ValueHandler) the arguments may have another form; read them with
    /// [`Request::read`].
    pub arguments: &'a [u8],
    /// The facts that the accelerators found in the message: values that branches of traces test,
    /// such as `compressed`.
    pub facts: &'a Facts,
    /// The address and port of the client.
    pub peer: SocketAddr,
    /// The DNS names, in lower case, and URIs that the client's certificate proves. Empty if the
    /// server does not require client certificates.
    pub peer_identities: &'a [String],
    /// The index of the core that LdB chose for the request or, with [`Steering`](crate::Steering),
    /// the index of the worker thread; `None` if the receiving trace has no LdB.
    pub core: Option<usize>,
    /// The client's deadline for the answer; `None` if the client set none. Only gRPC clients can
    /// set one. Calls that the handler makes to other services inherit the deadline.
    pub deadline: Option<Instant>,
    /// The custom metadata that the client sent with the call. Empty for Thrift.
    pub metadata: &'a Metadata,
    /// What the handler adds to the response.
    pub(crate) response: &'a ResponseMetadata,
    /// The terms and limits that the handler's own calls inherit.
    pub(crate) carried: &'a Carried,
    /// Set when the client no longer waits.
    pub(crate) abandoned: Option<&'a Arc<AtomicBool>>,
    /// The context of the request's span, if it has one.
    pub(crate) context: Option<&'a Context>,
    /// The record type of the arguments; `None` for JSON text of gRPC.
    pub(crate) record: Option<Arguments<'a>>,
}

/// The type of arguments, which are in the form of a record or JSON text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    pub(crate) record: &'a Record,
    pub(crate) function: FunctionId,
    /// Whether the arguments are JSON text, and the result is to be.
    pub(crate) is_text: bool,
    /// The arguments in the other form, if it is needed: JSON text for types that can be read only
    /// from that, or a record for numbers that JSON does not have.
    pub(crate) other: &'a OnceLock<Wiped>,
    /// The memory for the result, on connections that limit it.
    pub(crate) budget: Option<&'a Arc<ResponseBudget>>,
}

impl<'a> Arguments<'a> {
    /// The record of Thrift arguments that are the JSON text `json`, if a text in it may stand for
    /// a number that JSON does not have. Text that does not fit the interface has none.
    fn with_floats(&self, json: &[u8]) -> Option<&'a Wiped> {
        let Record::Thrift(record) = self.record else {
            return None;
        };
        let bytes = record.with_floats(json).ok()??;
        Some(self.other.get_or_init(|| Wiped::new(bytes)))
    }
}

impl<'a> Request<'a> {
    /// Returns whether the client has stopped waiting for the answer, because its deadline has
    /// passed, it has cancelled the call, or its connection is gone. The handler can then stop.
    /// Only gRPC clients report this. If [`Config::handler_threads`](crate::Config) is 0, this
    /// method notices only a passed deadline.
    pub fn is_abandoned(&self) -> bool {
        is_abandoned(self.deadline, self.abandoned)
    }

    /// Returns a function that tells whether the client has stopped waiting, like
    /// [`Request::is_abandoned`]. Other threads can call the function, also after the handler has
    /// returned.
    pub fn abandonment(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        let (deadline, abandoned) = (self.deadline, self.abandoned.cloned());
        move || is_abandoned(deadline, abandoned.as_ref())
    }

    /// Reads the arguments as a value of the application's own type, as serde reads this type from
    /// JSON. The value may borrow text from the request, and the arguments need not be converted to
    /// JSON.
    ///
    /// # Errors
    /// [`HandlerError::Internal`] if the type does not fit the interface's arguments.
    pub fn read<T: Deserialize<'a>>(&self) -> Result<T, HandlerError> {
        let read = self.read_seed(PhantomData);
        match (read, self.record) {
            (Err(_), Some(arguments)) if arguments.record.may_fit_as_json() => {
                let json = arguments.record.to_json(self.arguments).map_err(unfit)?;
                let json = arguments.other.get_or_init(|| Wiped::new(json));
                read_json(json, PhantomData)
            }
            (read, _) => read,
        }
    }

    /// Reads the arguments with a serde seed, which builds the value.
    ///
    /// # Errors
    /// [`HandlerError::Internal`] if the seed does not fit the interface's arguments. For gRPC,
    /// also if the value borrows text that only the JSON form of the message has, such as the name
    /// of an enum's value. [`Request::read`] can read such values, since it then converts the
    /// message to JSON.
    pub fn read_seed<S: DeserializeSeed<'a>>(&self, seed: S) -> Result<S::Value, HandlerError> {
        match self.record {
            None => read_json(self.arguments, seed),
            Some(of) if !of.is_text => of.record.read_seed(self.arguments, seed).map_err(unfit),
            Some(of) => match of.with_floats(self.arguments) {
                Some(bytes) => of.record.read_seed(bytes, seed).map_err(unfit),
                None => read_json(self.arguments, seed),
            },
        }
    }

    /// Returns the metadata of the response. The handler can add to it, also from other threads and
    /// if it answers later. Only responses of gRPC have metadata.
    pub fn response(&self) -> ResponseMetadata {
        self.response.clone()
    }

    /// Returns whether the request came over Thrift, whose `double` may be NaN or infinite. In JSON
    /// such a number is the text `NaN`, `Infinity` or `-Infinity`. [`Request::returns`] accepts the
    /// text and the number.
    pub fn is_thrift(&self) -> bool {
        let record = self.record.map(|arguments| arguments.record);
        matches!(record, Some(Record::Thrift(_)))
    }

    /// Encodes `value` as the handler's result. If `value` does not fit the interface, the client
    /// gets an error when the handler returns the result.
    pub fn returns<T: Serialize + ?Sized>(&self, value: &T) -> Returned {
        returned(self.form(), self.arguments.len(), value)
    }

    /// Checks that `value` may be the member `field` of the function's result in Thrift: `success`,
    /// or the name of a declared exception. For gRPC, nothing is checked.
    ///
    /// # Errors
    /// The reason why `value` does not fit the interface.
    pub fn check_result<T: Serialize + ?Sized>(
        &self,
        field: &str,
        value: &T,
    ) -> Result<(), String> {
        check(self.form(), field, value)
    }

    /// Promises to answer the request later. Returns the promise, and the result that the handler
    /// has to return now. The handler keeps the promise later with [`Promise::keep`]. Meanwhile the
    /// handler's thread can serve other requests, except with framed Thrift, which answers the
    /// calls of a connection in order.
    pub fn later(&self) -> (Promise, Returned) {
        let form = self.form().map(|form| form.later());
        let (promise, pending) = Promise::new(form, self.arguments.len());
        (promise, Returned(Made::Later(pending)))
    }

    fn form(&self) -> Option<Form<'_>> {
        self.record.map(|arguments| Form {
            record: arguments.record,
            function: arguments.function,
            is_text: arguments.is_text,
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
