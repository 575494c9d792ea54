//! The replies that error subtraces send to the service's caller.

use accelflow_accel::rpc::{MessageType, ThriftCall};
use accelflow_accel::{Call, Job};
use serde_json::{Value, json};

/// The names of the error subtraces of the templates T6, T7 and T10 (AccelFlow, section IV.B). An
/// error subtrace begins with Ser and replies to the service's caller, not to the peer of the trace
/// that failed.
pub const ERROR_TRACES: [&str; 3] = ["T6_error", "T7_error", "T10_error"];

/// `TApplicationException`'s INTERNAL_ERROR (Apache Thrift).
const INTERNAL_ERROR: i32 = 6;

/// Builds the reply that reports the error in `job` to the service's caller. `caller` is the header
/// of the caller's request. Returns the reply's header, and the reply's body as JSON.
///
/// If the error is an exception that the interface of a called service declares, it is passed on
/// unchanged. Every other error becomes a Thrift application exception.
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

/// Returns the text of the error with which the job `job` has failed: the text of an exception or
/// status. For an exception that the called service's interface declares, it is the exception as
/// JSON.
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
