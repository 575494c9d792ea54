//! A gRPC request on a worker thread: the part of T1 that decodes the message, the handler, and the
//! part of T2 or T3 that encodes the response.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use accelflow_accel::grpc::GrpcCall;
use accelflow_accel::protobuf::Method;
use accelflow_accel::thrift::FunctionId;
use accelflow_accel::{Call, Codec, Job, Limits, Record};
use accelflow_runtime::trail::{self, Trail};
use accelflow_runtime::{Conversation, Message, Terms};
use opentelemetry::Context;

use super::caller::StatusCaller;
use super::status::{Detail, Status};
use crate::config::Compression;
use crate::handler::pending::Pending;
use crate::handler::request::{Arguments, Request};
use crate::handler::returned::{Made, Returned};
use crate::handler::value::{HandlerError, Value};
use crate::memory::arena::Reservation;
use crate::memory::buffers;
use crate::memory::room::ResponseBudget;
use crate::memory::wipe::Wiped;
use crate::observe::ledger::Tally;
use crate::observe::observers::timed;
use crate::observe::run::TraceRun;
use crate::observe::telemetry::{RequestSpan, TraceParent};
use crate::scope::{Answering, Carried};
use crate::server::executors::RunError;
use crate::server::pace::Part;
use crate::server::peer::Peer;
use crate::server::shared::Shared;
use crate::server::tenants::gates::Charge;
use crate::server::traces::ServerImage;
use crate::transport::grpc::code::Code;
use crate::transport::grpc::metadata::Metadata;
use crate::transport::grpc::response::ResponseMetadata;

/// A request that has been received.
pub(crate) struct ReceivedRequest {
    pub(crate) shared: Arc<Shared>,
    /// The traces that serve the request.
    pub(crate) traces: Arc<ServerImage>,
    pub(crate) terms: Terms,
    /// The account to charge, if accelerator time is measured.
    pub(crate) charge: Option<Charge>,
    /// The time when its message was complete and admitted.
    pub(crate) begun: Instant,
    pub(crate) parent: Option<TraceParent>,
    pub(crate) call: GrpcCall,
    pub(crate) function: String,
    /// The message with its prefix.
    pub(crate) message: Wiped,
    /// The request's reserved memory, if the server limits it.
    pub(crate) memory: Option<Reservation>,
    pub(crate) takes_gzip: bool,
    pub(crate) peer: Peer,
    pub(crate) deadline: Option<Instant>,
    pub(crate) metadata: Metadata,
    /// What the handler adds to the response.
    pub(crate) response: ResponseMetadata,
    /// Set when the client stops waiting.
    pub(crate) abandoned: Arc<AtomicBool>,
    /// The client, if the ensemble may report errors to it directly.
    pub(crate) caller: Option<Arc<Mutex<StatusCaller>>>,
    /// The costs of the request's TLS records, if it is recorded.
    pub(crate) records: Option<Tally>,
    /// The memory for the response.
    pub(crate) budget: Arc<ResponseBudget>,
}

/// The costs of a recorded request.
pub(crate) struct Recorded {
    pub(crate) received: TraceRun,
    pub(crate) trail: Trail,
    pub(crate) sent: TraceRun,
    pub(crate) records: Tally,
}

/// The body of a response, before Ser.
struct Body {
    bytes: Wiped,
    /// The record type of the bytes; `None` if they are JSON text.
    record: Option<Record>,
}

impl Body {
    fn json(bytes: Vec<u8>) -> Body {
        let (bytes, record) = (Wiped::new(bytes), None);
        Body { bytes, record }
    }
}

/// A response's message with its prefix.
pub(crate) struct Answer {
    pub(crate) message: Wiped,
    pub(crate) gzip: bool,
    pub(crate) recorded: Option<Box<Recorded>>,
    pub(crate) budget: Arc<ResponseBudget>,
}

/// The state of a request after its worker's part.
pub(crate) enum Progress {
    /// The request is answered.
    Done(Result<Answer, Status>),
    /// The handler has promised an answer.
    Later(Box<Later>),
}

/// A request whose handler has promised an answer.
pub(crate) struct Later {
    unanswered: Unanswered,
    pending: Pending,
}

impl Later {
    /// Answers the request when the promise is kept.
    pub(crate) async fn answer(self: Box<Self>) -> Result<Answer, Status> {
        let Later {
            mut unanswered,
            pending,
        } = *self;
        let called = Ok(pending.await);
        match unanswered.0.take() {
            Some((request, span, handled)) => {
                let value = returned(called, &request.call, request.shared.limits());
                request.finish(span, handled, value)
            }
            None => Err(given_up()),
        }
    }
}

/// A request that is not answered yet. Dropping it ends the request without an answer.
struct Unanswered(Option<(ReceivedRequest, Option<RequestSpan>, Handled)>);

impl Drop for Unanswered {
    fn drop(&mut self) {
        if let Some((request, span, handled)) = self.0.take() {
            // The client no longer waits for the status.
            let _ = request.finish(span, handled, Err(given_up()));
        }
    }
}

fn given_up() -> Status {
    Status::new(Code::Cancelled, "cancelled", "the client no longer waits")
}

/// A request whose handler has been called.
struct Handled {
    received: TraceRun,
    call: GrpcCall,
    compressed: bool,
    start: Instant,
    trail: Option<Trail>,
    /// The processor time of a handler that answers later, if it is known then.
    work: Option<Arc<OnceLock<Duration>>>,
}

impl ReceivedRequest {
    /// Answers the request, if the client still waits.
    pub(crate) fn begin(mut self) -> Progress {
        let mut span = None;
        let (handled, made) = match self.handle_within(&mut span) {
            Ok(begun) => begun,
            Err(status) => return Progress::Done(self.emit(span, Err(status))),
        };
        match made {
            Ok(Made::Later(pending)) => {
                let unanswered = Unanswered(Some((self, span, handled)));
                Progress::Later(Box::new(Later {
                    unanswered,
                    pending,
                }))
            }
            Ok(Made::Now(value)) => Progress::Done(self.finish(span, handled, Ok(value))),
            Err(status) => Progress::Done(self.finish(span, handled, Err(status))),
        }
    }

    fn emit(
        &self,
        span: Option<RequestSpan>,
        answer: Result<Answer, Status>,
    ) -> Result<Answer, Status> {
        if let (Some(spans), Some(mut span)) = (&self.shared.observers.spans, span) {
            let result = answer.as_ref().map_or_else(|status| status.label, |_| "ok");
            span.result = self.seen_result(result);
            spans.emit(span);
        }
        answer
    }

    /// The request's result for its client, who may have an error already, or no longer wait for
    /// `result`.
    fn seen_result(&self, result: &'static str) -> &'static str {
        let has_answered = |caller: &Arc<Mutex<StatusCaller>>| {
            let caller = caller.lock().unwrap_or_else(PoisonError::into_inner);
            caller.has_answered()
        };
        let is_late = |deadline| deadline <= Instant::now();
        if self.caller.as_ref().is_some_and(has_answered) {
            "error_by_trace"
        } else if self.deadline.is_some_and(is_late) {
            "deadline"
        } else if self.abandoned.load(Ordering::Relaxed) {
            "cancelled"
        } else {
            result
        }
    }

    /// The method's index, which identifies its handler.
    fn function(&self) -> Option<FunctionId> {
        let found = self.call.find().ok();
        found.map(|(id, _)| FunctionId(id.0))
    }

    /// Runs a trace, and charges the request for it.
    fn charged(
        &self,
        run: impl FnOnce() -> Result<TraceRun, RunError>,
    ) -> Result<TraceRun, RunError> {
        let Some(charge) = &self.charge else {
            return run();
        };
        let (done, spent) = timed(run);
        let elsewhere = done.as_ref().map_or(Duration::ZERO, |run| run.elsewhere);
        charge.add(spent + elsewhere);
        done
    }

    /// Returns the terms of a part of the request. The part's deadline is its share of the
    /// request's time.
    fn terms_of(&self, part: Part) -> Terms {
        let dispatch = &self.shared.dispatch;
        Terms {
            due: dispatch.part_due(self.function(), part, self.terms.due),
            ..self.terms
        }
    }

    /// The context that the handler's calls inherit.
    fn carried(&self) -> Carried {
        let tenants = self.shared.admission.tenants.as_ref();
        let limit = tenants.and_then(|all| all.chains(self.terms.tenant));
        let mut carried = Carried::new(self.terms_of(Part::Handle), limit);
        let caller = self.caller.clone();
        carried.caller = caller.map(|caller| -> Arc<Mutex<dyn Answering>> { caller });
        carried
    }

    /// Runs T1's message part.
    fn receive(&mut self) -> Result<TraceRun, Status> {
        let message = Message {
            call: Call::Grpc(self.call.clone()),
            terms: self.terms_of(Part::Receive),
            ..Message::received(&[])
        };
        let payload = std::mem::take(&mut *self.message);
        let (executors, traces) = (&self.shared.executors, &self.traces);
        let conversation = &mut Conversation::default();
        let run = self
            .charged(|| executors.run_on(traces, &traces.receive, payload, &message, conversation));
        run.map_err(|error| refused(&error))
    }

    /// Runs T1's message part and calls the handler.
    fn handle_within(
        &mut self,
        span: &mut Option<RequestSpan>,
    ) -> Result<(Handled, Result<Made, Status>), Status> {
        let status = |code, label, why: &str| Status::private(code, label, why);
        if self.abandoned.load(Ordering::Relaxed) {
            return Err(given_up());
        }
        let mut run = self.receive()?;
        if let Some(spans) = &self.shared.observers.spans {
            let (tenant, parent) = (self.terms.tenant, self.parent.as_ref());
            *span = Some(spans.begin(&self.function, self.peer.address, tenant, &run, parent));
        }
        let arrival = run
            .outcome
            .arrivals
            .drain(..)
            .next()
            .map(|arrival| arrival.job);
        let Some(mut job) = arrival else {
            let why = "the receiving trace ended without notifying a core";
            return Err(status(Code::Internal, "failed", why));
        };
        let Call::Grpc(call) = std::mem::take(&mut job.call) else {
            let why = "the receiving trace found no gRPC message";
            return Err(status(Code::Internal, "failed", why));
        };
        if let Some(memory) = &mut self.memory
            && !memory.cover(job.bytes.len())
        {
            return Err(Status::no_memory());
        }
        let compressed = job.facts.get("compressed") == Some(1);
        let start = Instant::now();
        let context = span.as_ref().map(RequestSpan::context);
        let handle = || self.handle(&call, &job, context);
        let (made, trail) = trail::follow(self.records.is_some(), handle);
        buffers::give_back(job.bytes);
        self.memory = None;
        let handled = Handled {
            received: run,
            call,
            compressed,
            start,
            trail,
            work: match &made {
                Ok(Made::Later(pending)) => Some(pending.work()),
                _ => None,
            },
        };
        Ok((handled, made))
    }

    /// Answers the request with its handler's value.
    fn finish(
        mut self,
        mut span: Option<RequestSpan>,
        handled: Handled,
        value: Result<Value, Status>,
    ) -> Result<Answer, Status> {
        let spent = handled.start.elapsed();
        self.shared.observers.metrics.handler(spent);
        if let Some(span) = &mut span {
            span.add_handler(handled.start, spent);
        }
        let body = value.and_then(|value| self.body(value));
        let replied = body.and_then(|body| self.reply(&handled, body, &mut span));
        if let (Some(_), Some(function)) = (self.terms.due, self.function()) {
            let whole = self.begun.elapsed();
            let received = handled.start - self.begun;
            let respond = whole.saturating_sub(received + spent);
            let spent = [received, spent, respond];
            self.shared.dispatch.learn(function, spent);
        }
        let answer = replied.map(|(mut answer, sent)| {
            if let (Some(records), Some(mut trail)) = (self.records.take(), handled.trail) {
                if let Some(spent) = handled.work.as_ref().and_then(|work| work.get()) {
                    trail = trail.with_other_threads_cpu(*spent);
                }
                answer.recorded = Some(Box::new(Recorded {
                    received: handled.received,
                    trail: trail.or_wall(spent),
                    sent,
                    records,
                }));
            }
            answer
        });
        self.emit(span, answer)
    }

    /// The body of the response with a handler's value.
    fn body(&self, value: Value) -> Result<Body, Status> {
        match value {
            Value::Unfit(why) => {
                let why = format!("the handler's result cannot be sent: {why}");
                Err(Status::private(Code::Internal, "bad_result", why))
            }
            Value::NoRoom => Err(no_room()),
            Value::Record(record, bytes) => Ok(Body {
                bytes: Wiped::new(bytes),
                record: Some(record),
            }),
            // The message without any field, or the value that stands for nothing.
            Value::Json(value) if value.is_empty() => {
                let of_null = |method: &Method| method.returns_json_value();
                let nothing = match self.call.find().is_ok_and(|(_, method)| of_null(method)) {
                    true => b"null".to_vec(),
                    false => b"{}".to_vec(),
                };
                Ok(Body::json(nothing))
            }
            Value::Json(value) => Ok(Body::json(value)),
        }
    }

    fn handle(
        &self,
        call: &GrpcCall,
        job: &Job,
        context: Option<&Context>,
    ) -> Result<Made, Status> {
        let found = call.find();
        let (id, method) =
            found.map_err(|error| Status::private(Code::Unimplemented, "unknown_method", error))?;
        let function = FunctionId(id.0);
        let Some(handler) = self.shared.dispatch.handler(function) else {
            let why = format!("no handler for {}", self.function);
            return Err(Status::private(Code::Unimplemented, "no_handler", why));
        };
        let (json, carried) = (OnceLock::new(), self.carried());
        let request = Request {
            service: &method.service,
            method: &method.name,
            arguments: &job.bytes,
            facts: &job.facts,
            peer: self.peer.address,
            peer_identities: &self.peer.identities,
            core: job.core,
            deadline: self.deadline,
            metadata: &self.metadata,
            carried: &carried,
            response: &self.response,
            abandoned: Some(&self.abandoned),
            context,
            record: job.record.as_ref().map(|record| Arguments {
                record,
                function,
                is_text: false,
                other: &json,
                budget: Some(&self.budget),
            }),
        };
        let called = catch_unwind(AssertUnwindSafe(|| {
            self.shared.dispatch.call(handler, &request)
        }));
        let called = called.map(|returned| returned.map(|Returned(made)| made));
        returned(called, &self.call, self.shared.limits())
    }

    fn reply(
        &self,
        handled: &Handled,
        mut value: Body,
        span: &mut Option<RequestSpan>,
    ) -> Result<(Answer, TraceRun), Status> {
        let wanted = match self.shared.config.compression {
            Compression::Never => false,
            Compression::LikeRequest => handled.compressed,
            Compression::Always => true,
        };
        let gzip = self.takes_gzip && wanted;
        let (trace, codec) = match gzip {
            true => (&self.traces.send_compressed, Some(Codec::Gzip)),
            false => (&self.traces.send, None),
        };
        let message = Message {
            terms: self.terms,
            record: value.record,
            ..Message::json(&[], Call::Grpc(handled.call.response(codec)))
        };
        let size = value.bytes.len();
        let (executors, payload) = (&self.shared.executors, std::mem::take(&mut *value.bytes));
        let conversation = &mut Conversation::default();
        let run =
            self.charged(|| executors.run_on(&self.traces, trace, payload, &message, conversation));
        let bad = |why: String| {
            let why = format!("the handler's result cannot be sent: {why}");
            Status::private(Code::Internal, "bad_result", why)
        };
        let mut run = run.map_err(|error| bad(error.to_string()))?;
        if let Some(span) = span {
            span.add(&run);
        }
        let arrival = run.outcome.arrivals.drain(..).next();
        match arrival {
            Some(arrival) => {
                let message = Wiped::new(arrival.job.bytes);
                if !self.budget.settle(message.capacity(), size) {
                    return Err(no_room());
                }
                let answer = Answer {
                    message,
                    gzip,
                    recorded: None,
                    budget: self.budget.clone(),
                };
                Ok((answer, run))
            }
            None => Err(bad(
                "the sending trace ended without notifying a core".to_owned()
            )),
        }
    }
}

/// Returns the value of a handler, or the status for its error.
fn returned<T>(
    called: thread::Result<Result<T, HandlerError>>,
    call: &GrpcCall,
    limits: &Limits,
) -> Result<T, Status> {
    let failed = |why: String| Status::private(Code::Unknown, "handler_failed", why);
    match called {
        Err(_) => Err(failed("the handler panicked".to_owned())),
        Ok(Ok(made)) => Ok(made),
        Ok(Err(HandlerError::Internal(why))) => Err(failed(why)),
        Ok(Err(HandlerError::Logged { id, why })) => Err(Status {
            detail: Detail::Logged(id),
            ..failed(why)
        }),
        Ok(Err(HandlerError::Declared { field, body })) => {
            Err(Status::declared(&field, &body, call.schema(), limits))
        }
    }
}

/// The status of a response that is larger than expected and finds no room among the connection's
/// others.
fn no_room() -> Status {
    let why =
        "the client has not read its other responses, and no memory is left for this response";
    Status::new(Code::ResourceExhausted, "unsent", why)
}

/// The status of a request that cannot be read.
fn refused(error: &RunError) -> Status {
    let (code, label) = match error {
        RunError::Trace(failure) => match failure.error.reason {
            reason @ ("unknown_method" | "unknown_service") => (Code::Unimplemented, reason),
            reason @ ("too_large" | "zip_bomb") => (Code::ResourceExhausted, reason),
            reason => (Code::Internal, reason),
        },
        RunError::Set(_) => (Code::Internal, "no_executor"),
    };
    Status::private(code, label, error)
}
