//! What answers requests: the application's side of a server.

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
use crate::scope::is_abandoned;
use crate::transport::grpc::metadata::Metadata;

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
    pub(crate) budget: Option<&'a Arc<ResponseBudget>>,
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
            (Err(_), Some(arguments)) if arguments.record.may_fit_as_json() => {
                let json = arguments.record.to_json(self.arguments).map_err(unfit)?;
                let json = arguments.json.get_or_init(|| Wiped::new(json));
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
