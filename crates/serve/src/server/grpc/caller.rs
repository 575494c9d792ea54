//! The client of a gRPC request, to which the ensemble reports errors of calls that the handler
//! makes.
//!
//! A gRPC error is a status in the trailers of HTTP/2. No message is serialized, so only one part
//! of the error subtraces remains: `T2_http2`, which sends the trailers in TLS records.

use std::sync::{Arc, Mutex};

use accelflow_accel::{Call, Job};
use accelflow_runtime::error_text;
use serde_json::Value as Json;
use tokio::sync::oneshot;

use super::status::Status;
use crate::scope::Answering;
use crate::transport::grpc::code::Code;

/// The client of a request, until an error is reported to it.
pub(crate) struct StatusCaller {
    sender: Option<oneshot::Sender<Status>>,
    has_answered: bool,
}

impl StatusCaller {
    /// Makes a client, and the receiver of the status to send to it.
    pub(crate) fn new() -> (Arc<Mutex<StatusCaller>>, oneshot::Receiver<Status>) {
        let (sender, status) = oneshot::channel();
        let caller = StatusCaller {
            sender: Some(sender),
            has_answered: false,
        };
        (Arc::new(Mutex::new(caller)), status)
    }

    /// Whether an error was reported to the client while it waited.
    pub(crate) fn has_answered(&self) -> bool {
        self.has_answered
    }
}

impl Answering for StatusCaller {
    fn answer(&mut self, _: &str, job: &Job) -> bool {
        let sender = self.sender.take();
        let answers = sender.is_some_and(|sender| sender.send(status(job)).is_ok());
        self.has_answered |= answers;
        answers
    }
}

/// Returns the status for the error in `job`: the status of a nested gRPC call, NOT_FOUND for data
/// that storage does not have, else INTERNAL.
fn status(job: &Job) -> Status {
    let body: Option<Json> = serde_json::from_slice(&job.bytes).ok();
    let member = |name: &str| body.as_ref()?.get(name)?.as_str();
    let code = match &job.call {
        Call::Storage(_) if member("message").is_none() => Code::NotFound,
        Call::None => member("code")
            .and_then(Code::error_named)
            .unwrap_or(Code::Internal),
        _ => Code::Internal,
    };
    Status::new(code, "error_by_trace", error_text(job))
}
