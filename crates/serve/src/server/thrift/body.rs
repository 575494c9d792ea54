//! The body of a Thrift reply: calls the handler, and encodes the handler's result as a struct.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::thrift::{self, FunctionId, Schema};
use accelflow_accel::{Job, Record};
use accelflow_runtime::trail;
use opentelemetry::Context;

use crate::handler::request::{Arguments, Request};
use crate::handler::returned::{Made, Returned};
use crate::handler::value::{HandlerError, Value};
use crate::memory::wipe::wipe_all;
use crate::scope::Carried;
use crate::server::peer::Peer;
use crate::server::shared::Shared;
use crate::transport::grpc::metadata::Metadata;
use crate::transport::grpc::response::ResponseMetadata;

/// `TApplicationException` types (Apache Thrift).
pub(crate) const UNKNOWN_METHOD: i32 = 1;
pub(crate) const INVALID_MESSAGE_TYPE: i32 = 2;
pub(crate) const INTERNAL_ERROR: i32 = 6;
pub(crate) const PROTOCOL_ERROR: i32 = 7;

/// The body of a reply, before Ser.
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    /// The record type of the bytes; `None` if they are JSON text.
    pub(crate) record: Option<Record>,
}

impl Body {
    pub(crate) fn json(bytes: Vec<u8>) -> Body {
        let record = None;
        Body { bytes, record }
    }
}

/// The reason why a request has no result.
pub(crate) enum Refusal {
    /// A declared exception.
    Declared(Body),
    /// A `TApplicationException` of this type.
    Rpc(i32, String),
    /// The handler has failed, and has logged it under this id.
    Logged { id: String, why: String },
    /// The handler's value cannot be encoded.
    Unfit(String),
}

/// Calls the handler in the context of the request's span, if it has one. Returns the result
/// struct.
pub(crate) fn handle(
    shared: &Shared,
    schema: &Arc<Schema>,
    peer: &Peer,
    (call, job): (&ThriftCall, &Job),
    context: Option<&Context>,
    carried: &Carried,
) -> Result<Body, Refusal> {
    let Some(handler) = shared.dispatch.handler(call.function) else {
        let why = format!("no handler for {}.{}", call.service, call.method);
        return Err(Refusal::Rpc(UNKNOWN_METHOD, why));
    };
    let function = call.function;
    let other = OnceLock::new();
    let of_text = match job.record {
        Some(_) => None,
        None => thrift::Record::of_arguments(schema, function, shared.limits()),
    };
    let of_text = of_text.map(Record::Thrift);
    let request = Request {
        service: &call.service,
        method: &call.method,
        arguments: &job.bytes,
        facts: &job.facts,
        peer: peer.address,
        peer_identities: &peer.identities,
        core: job.core,
        deadline: None,
        metadata: const { &Metadata::new() },
        carried,
        response: &ResponseMetadata::default(),
        abandoned: None,
        context,
        record: job
            .record
            .as_ref()
            .or(of_text.as_ref())
            .map(|record| Arguments {
                record,
                function,
                is_text: of_text.is_some(),
                other: &other,
                budget: None,
            }),
    };
    let call = || shared.dispatch.call(handler, &request).and_then(answer);
    let value = match catch_unwind(AssertUnwindSafe(call)) {
        Err(_) => return Err(internal("the handler panicked")),
        Ok(called) => called.map_err(refusal)?,
    };
    encode(schema, function, value)
}

/// The value of what a handler has returned. A connection's calls are answered in order, so its
/// thread may wait for one that is promised.
fn answer(Returned(made): Returned) -> Result<Value, HandlerError> {
    match made {
        Made::Later(pending) => {
            let work = pending.work();
            let answer = pending.wait();
            if let Some(spent) = work.get() {
                trail::set_other_threads_cpu(*spent);
            }
            answer
        }
        Made::Now(value) => Ok(value),
    }
}

fn internal(why: impl Into<String>) -> Refusal {
    Refusal::Rpc(INTERNAL_ERROR, why.into())
}

/// The reply to a request whose handler has failed.
fn refusal(error: HandlerError) -> Refusal {
    match error {
        HandlerError::Internal(why) => internal(why),
        HandlerError::Logged { id, why } => Refusal::Logged { id, why },
        HandlerError::Declared { field, body } => {
            Refusal::Declared(Body::json(member(&field, &body)))
        }
    }
}

/// The result struct of a function that has this value.
fn encode(schema: &Schema, function: FunctionId, value: Value) -> Result<Body, Refusal> {
    let returns = schema.function(function).is_some_and(|function| {
        let result = schema.get(function.result);
        result.fields.first().is_some_and(|field| field.id == 0)
    });
    match value {
        Value::Unfit(why) => Err(Refusal::Unfit(why)),
        // Only gRPC connections limit the memory of results.
        Value::NoRoom => Err(Refusal::Unfit("no room".to_owned())),
        Value::Record(record, bytes) => Ok(Body {
            bytes,
            record: Some(record),
        }),
        Value::Json(value) if !returns => match &*value {
            b"" | b"null" => Ok(Body::json(b"{}".to_vec())),
            // As records do, which servers with a recording and compressed requests do not use.
            _ => Err(Refusal::Unfit(
                "the handler returned a value, but its function is void".to_owned(),
            )),
        },
        Value::Json(value) if value.is_empty() => Err(internal(
            "the handler returned nothing, but its function has a result",
        )),
        Value::Json(mut value) => {
            let body = Body::json(member("success", &value));
            wipe_all(&mut value);
            Ok(body)
        }
    }
}

/// The JSON text `{"name":value}`, with the name escaped.
fn member(name: &str, value: &[u8]) -> Vec<u8> {
    let mut json = Vec::with_capacity(name.len() + value.len() + 5);
    json.push(b'{');
    accelflow_accel::json::write_string(&mut json, name);
    json.push(b':');
    json.extend_from_slice(value);
    json.push(b'}');
    json
}
