//! One request on a worker: T1's part that knows messages, the handler, and that of T2 or T3.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use accelflow_accel::grpc::GrpcCall;
use accelflow_accel::thrift::FunctionId;
use accelflow_accel::{Call, Codec, Job};
use accelflow_runtime::{Conversation, Message, Terms};
use serde_json::Value;
use zeroize::{Zeroize, Zeroizing};

use super::status::{Code, Status};
use super::traces::{RECEIVE, SEND, SEND_COMPRESSED};
use crate::config::Compression;
use crate::executors::RunError;
use crate::handler::{HandlerError, Request};
use crate::otel::{RequestSpan, TraceParent};
use crate::server::Shared;

/// A request that has come.
pub(crate) struct Asked {
    pub(crate) shared: Arc<Shared>,
    pub(crate) terms: Terms,
    pub(crate) parent: Option<TraceParent>,
    pub(crate) call: GrpcCall,
    pub(crate) function: String,
    /// The message with its prefix.
    pub(crate) message: Zeroizing<Vec<u8>>,
    pub(crate) takes_gzip: bool,
    pub(crate) peer: SocketAddr,
    pub(crate) deadline: Option<Instant>,
    /// Set when nobody waits any more.
    pub(crate) abandoned: Arc<AtomicBool>,
}

/// A response's message with its prefix.
pub(crate) struct Answer {
    pub(crate) message: Zeroizing<Vec<u8>>,
    pub(crate) gzip: bool,
}

impl Asked {
    /// Answers the request, if somebody still waits.
    pub(crate) fn answer(self) -> Result<Answer, Status> {
        let mut span = None;
        let answer = self.answer_within(&mut span);
        if let (Some(spans), Some(mut span)) = (&self.shared.spans, span) {
            span.result = answer.as_ref().map_or_else(|status| status.label, |_| "ok");
            spans.emit(span, self.parent.as_ref());
        }
        answer
    }

    fn answer_within(&self, span: &mut Option<RequestSpan>) -> Result<Answer, Status> {
        let status = |code, label, why: &str| Status::new(code, label, why);
        if self.abandoned.load(Ordering::Relaxed) {
            return Err(status(Code::Cancelled, "cancelled", "nobody waits"));
        }
        let executors = &self.shared.executors;
        let message = Message {
            call: Call::Grpc(self.call.clone()),
            terms: self.terms,
            ..Message::received(&self.message)
        };
        let ran = executors.run(RECEIVE, &message, &mut Conversation::default());
        let mut ran = ran.map_err(|error| refused(&error))?;
        if self.shared.spans.is_some() {
            let tenant = self.terms.tenant;
            *span = Some(RequestSpan::new(&self.function, self.peer, tenant, &ran));
        }
        let arrival = ran.outcome.arrivals.drain(..).next().map(|it| it.job);
        let Some(mut job) = arrival else {
            let why = "T1 notified no core";
            return Err(status(Code::Internal, "failed", why));
        };
        let Call::Grpc(call) = std::mem::take(&mut job.call) else {
            let why = "T1 found no gRPC message";
            return Err(status(Code::Internal, "failed", why));
        };
        let compressed = job.facts.get("compressed") == Some(1);
        let start = Instant::now();
        let value = self.handle(&call, &job);
        let spent = start.elapsed();
        self.shared.metrics.handler(spent);
        if let Some(span) = span {
            span.add_handler(start, spent);
        }
        job.bytes.zeroize();
        self.reply(&call, compressed, value?, span)
    }

    fn handle(&self, call: &GrpcCall, job: &Job) -> Result<Zeroizing<Vec<u8>>, Status> {
        let found = call.find();
        let (id, method) =
            found.map_err(|error| Status::new(Code::Unimplemented, "unknown_method", error))?;
        let Some(handler) = self.shared.handlers.get(FunctionId(id.0)) else {
            let why = format!("no handler for {}", self.function);
            return Err(Status::new(Code::Unimplemented, "no_handler", why));
        };
        let request = Request {
            service: &method.service,
            method: &method.name,
            arguments: &job.bytes,
            facts: &job.facts,
            peer: self.peer,
            core: job.core,
            deadline: self.deadline,
        };
        let failed = |why: String| Status::new(Code::Unknown, "handler_failed", why);
        match catch_unwind(AssertUnwindSafe(|| self.shared.call(handler, &request))) {
            Err(_) => Err(failed("the handler panicked".to_owned())),
            Ok(Err(HandlerError::Internal(why))) => Err(failed(why)),
            Ok(Err(HandlerError::Declared { field, body })) => Err(declared(&field, &body)),
            // As of a void function: the message without any field.
            Ok(Ok(value)) if value.is_empty() => Ok(Zeroizing::new(b"{}".to_vec())),
            Ok(Ok(value)) => Ok(Zeroizing::new(value)),
        }
    }

    fn reply(
        &self,
        call: &GrpcCall,
        compressed: bool,
        value: Zeroizing<Vec<u8>>,
        span: &mut Option<RequestSpan>,
    ) -> Result<Answer, Status> {
        let like_request = self.shared.config.compression == Compression::LikeRequest;
        let gzip = compressed && self.takes_gzip && like_request;
        let (trace, codec) = match gzip {
            true => (SEND_COMPRESSED, Some(Codec::Gzip)),
            false => (SEND, None),
        };
        let message = Message {
            terms: self.terms,
            ..Message::json(&value, Call::Grpc(call.response(codec)))
        };
        let ran = self
            .shared
            .executors
            .run(trace, &message, &mut Conversation::default());
        let bad = |why: String| {
            let why = format!("the handler's result cannot be sent: {why}");
            Status::new(Code::Internal, "bad_result", why)
        };
        let mut ran = ran.map_err(|error| bad(error.to_string()))?;
        if let Some(span) = span {
            span.add(&ran);
        }
        match ran.outcome.arrivals.drain(..).next() {
            Some(arrival) => Ok(Answer {
                message: Zeroizing::new(arrival.job.bytes),
                gzip,
            }),
            None => Err(bad("T2 notified no core".to_owned())),
        }
    }
}

/// Why a request cannot be read.
fn refused(error: &RunError) -> Status {
    let (code, label) = match error {
        RunError::Trace(failure) => match failure.error.reason {
            reason @ ("unknown_method" | "unknown_service") => (Code::Unimplemented, reason),
            reason @ ("too_large" | "zip_bomb") => (Code::ResourceExhausted, reason),
            reason => (Code::Internal, reason),
        },
        RunError::Set(_) => (Code::Internal, "no_executor"),
    };
    Status::new(code, label, error)
}

/// A status that the handler has chosen: what gRPC declares for every method are its codes.
fn declared(name: &str, body: &[u8]) -> Status {
    let bad = |why: String| {
        let why = format!("the handler's result cannot be sent: {why}");
        Status::new(Code::Internal, "bad_result", why)
    };
    let Some(code) = Code::error_named(name) else {
        return bad(format!("'{name}' is no status code of an error"));
    };
    let members: Option<Value> = serde_json::from_slice(body).ok();
    let members = members.as_ref().and_then(Value::as_object);
    let Some(members) = members else {
        return bad(format!("what goes with {name} must be an object"));
    };
    if let Some(other) = members.keys().find(|member| *member != "message") {
        return bad(format!("{name} has no '{other}'; it has 'message'"));
    }
    match members.get("message").unwrap_or(&Value::Null) {
        Value::Null => Status::new(code, "exception", ""),
        Value::String(message) => Status::new(code, "exception", message),
        _ => bad(format!("the 'message' of {name} must be a string")),
    }
}
