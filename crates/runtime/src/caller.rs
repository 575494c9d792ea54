//! The replies that error subtraces send to the service's caller.

use accelflow_accel::rpc::{MessageType, ThriftCall};
use accelflow_accel::{Call, Job};
use serde_json::{Value, json};

/// The names of the traces that report an error to the service's caller (error subtraces;
/// AccelFlow, section IV.B). They run after the paper's traces T6, T7 and T10 if the response of a
/// database or another service is an error. They begin with serialization (Ser).
pub const ERROR_TRACES: [&str; 3] = ["T6_error", "T7_error", "T10_error"];

/// `TApplicationException`'s INTERNAL_ERROR (Apache Thrift).
const INTERNAL_ERROR: i32 = 6;

/// Builds the reply that tells the service's caller about an error. `job` is the message with the
/// error, which a trace has processed. `caller` is the header of the caller's request. Returns the
/// reply's header, and its body as JSON.
///
/// An exception that the interface of a called service declares is passed on unchanged. Every other
/// error becomes a Thrift application exception.
pub fn error_reply(caller: &ThriftCall, job: &Job) -> (ThriftCall, Vec<u8>) {
    match &job.call {
        Call::Thrift(nested) if nested.message_type == MessageType::Reply => {
            (caller.reply(), job.bytes.clone())
        }
        Call::Thrift(_) => (caller.exception(), job.bytes.clone()),
        call => {
            let message = message_of(call, job);
            let body = json!({"message": message, "type": INTERNAL_ERROR});
            (caller.exception(), body.to_string().into_bytes())
        }
    }
}

/// Returns the text of an error. `job` is the message with the error: its content is an exception
/// or an error status. For an exception that the called service's interface declares, the text is
/// the exception as JSON.
pub fn error_text(job: &Job) -> String {
    match &job.call {
        Call::Thrift(nested) if nested.message_type == MessageType::Reply => {
            String::from_utf8_lossy(&job.bytes).into_owned()
        }
        call => message_of(call, job),
    }
}

fn message_of(call: &Call, job: &Job) -> String {
    let body: Option<Value> = serde_json::from_slice(&job.bytes).ok();
    let given = body
        .as_ref()
        .and_then(|value| value.get("message")?.as_str());
    match call {
        Call::Storage(storage) => {
            let place = format!("{}/{}", storage.collection, storage.key);
            match given {
                Some(why) => format!("{place}: {why}"),
                None => format!("{place} was not found"),
            }
        }
        Call::Http(http) => format!("{}{}: status {}", http.host, http.target, http.status),
        Call::None | Call::Thrift(_) | Call::Grpc(_) => given.unwrap_or("unknown error").to_owned(),
    }
}
