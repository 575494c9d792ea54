//! One gRPC call over one HTTP/2 stream of a client's connection.

use std::rc::Rc;
use std::time::{Duration, Instant};

use accelflow_accel::grpc::{PREFIX, message_length};
use accelflow_accel::{AccelError, Codec, Limits};
use accelflow_runtime::thread_time;
use bytes::Bytes;
use h2::{Reason, RecvStream};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::Connection;
use super::order::{Answer, Cost, Order, Stage};
use super::setup::Setup;
use crate::client::error::CallError;
use crate::memory::wipe::Wiped;
use crate::transport::grpc::code::{Code, message_text};
use crate::transport::grpc::headers::{ENCODINGS, is_grpc, write_timeout};
use crate::transport::grpc::message::{append, send_all};
use crate::transport::grpc::response::ReceivedMetadata;

const USER_AGENT: &str = concat!("grpc-accelflow/", env!("CARGO_PKG_VERSION"));

/// The error of a malformed response.
fn malformed(setup: &Setup, error: AccelError) -> CallError {
    CallError::Malformed {
        address: setup.name.clone(),
        error,
    }
}

fn no_response(setup: &Setup, why: &str) -> CallError {
    let error = AccelError::BadFrame {
        what: "gRPC response",
        at: 0,
        why: why.to_owned(),
    };
    malformed(setup, error)
}

/// Makes a call over `connection`. Dropping the future cancels the call at the service.
pub(super) async fn exchange(
    setup: &Setup,
    connection: &Rc<Connection>,
    order: &Order,
) -> Result<Answer, CallError> {
    let head = request(setup, connection.secure, order)?;
    let charge = Charge::new(connection, order);
    if !order.ticket.advance(Stage::Sent) {
        return Err(CallError::Cancelled {
            address: setup.name.clone(),
            sent: false,
        });
    }
    let sent = connection.sender().send_request(head, false);
    let (response, mut stream) = sent.map_err(|error| {
        connection.retired.set(true);
        let (address, error) = (setup.name.clone(), std::io::Error::other(error));
        CallError::NotSent { address, error }
    })?;
    // The service may answer before it has read everything. If sending fails, the response also
    // fails, with the reason.
    let sending = async {
        let _ = send_all(&mut stream, order.message.clone(), true).await;
        std::future::pending::<()>().await;
    };
    let receiving = async {
        let response = response.await.map_err(|error| lost(setup, &error))?;
        receive(setup, connection, response).await
    };
    tokio::select! {
        biased;
        received = receiving => {
            connection.frames.borrow_mut().answered();
            let answer = received?;
            let cost = match charge {
                Some(charge) => Some(charge.settle(answer.message.len()).await),
                None => None,
            };
            Ok(Answer { cost, ..answer })
        }
        () = sending => Err(no_response(setup, "none")),
    }
}

/// The costs of shared records that are charged to a call, if costs are measured.
struct Charge<'l> {
    connection: &'l Connection,
    sent: usize,
    /// The bytes of the response, once it has arrived.
    received: usize,
    begun: Instant,
    /// The processor time of the client's thread, which serves all calls.
    thread: Duration,
    settled: bool,
}

impl<'l> Charge<'l> {
    fn new(connection: &'l Connection, order: &Order) -> Option<Charge<'l>> {
        if order.noted {
            connection.records.noted.set(true);
        }
        if !connection.records.noted.get() {
            return None;
        }
        let sent = order.message.len();
        connection.records.ledger.borrow_mut().sends(sent);
        Some(Charge {
            connection,
            sent,
            received: 0,
            begun: Instant::now(),
            thread: thread_time(),
            settled: false,
        })
    }

    /// Returns the cost of a call whose response of `received` bytes has arrived. The thread's work
    /// does not count as waiting.
    async fn settle(mut self, received: usize) -> Cost {
        let worked = thread_time().saturating_sub(self.thread);
        let wait = self.begun.elapsed().saturating_sub(worked);
        let ledger = &self.connection.records.ledger;
        ledger.borrow_mut().receives(received);
        self.received = received;
        // The responses that have arrived with this one, in the same records, count before it is
        // charged.
        tokio::task::yield_now().await;
        self.settled = true;
        let mut ledger = ledger.borrow_mut();
        Cost {
            secure: self.connection.secure,
            sent: ledger.charge_sent(self.sent),
            received: ledger.charge_received(received),
            wait,
        }
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        if !self.settled {
            let mut ledger = self.connection.records.ledger.borrow_mut();
            ledger.forget_sent(self.sent);
            ledger.forget_received(self.received);
        }
    }
}

fn request(setup: &Setup, secure: bool, order: &Order) -> Result<Request<()>, CallError> {
    let scheme = if secure { "https" } else { "http" };
    let uri = Uri::builder()
        .scheme(scheme)
        .authority(&*setup.name)
        .path_and_query(&*order.path)
        .build();
    let left = order.deadline.saturating_duration_since(Instant::now());
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(uri.map_err(|error| no_response(setup, &error.to_string()))?)
        .header(header::TE, "trailers")
        .header(header::CONTENT_TYPE, "application/grpc")
        .header("grpc-timeout", write_timeout(left))
        .header("grpc-accept-encoding", ENCODINGS)
        .header(header::USER_AGENT, USER_AGENT);
    if order.gzip {
        request = request.header("grpc-encoding", "gzip");
    }
    for (name, value) in &order.trace_context {
        request = request.header(name, value);
    }
    for (name, value) in order.metadata.headers() {
        request = request.header(name, value);
    }
    let request = request.body(());
    request.map_err(|error| no_response(setup, &error.to_string()))
}

async fn receive(
    setup: &Setup,
    connection: &Connection,
    response: Response<RecvStream>,
) -> Result<Answer, CallError> {
    let (head, mut body) = response.into_parts();
    let mut metadata = Box::new(ReceivedMetadata::default());
    // A response that consists only of headers has its status in them.
    if let Some(failed) = failure(setup, &head.headers, &metadata) {
        return Err(failed);
    }
    metadata.before(&head.headers);
    if head.status != StatusCode::OK {
        return Err(of_http(setup, head.status));
    }
    if !is_grpc(&head.headers) {
        return Err(CallError::Status {
            address: setup.name.clone(),
            code: Code::Unknown,
            message: "content-type of the response: must be application/grpc".to_owned(),
            metadata,
        });
    }
    let codec = encoding(setup, &head.headers)?;
    let limits = &setup.settings.limits;
    let message = collect(setup, limits, &connection.incoming, &mut body).await;
    let (message, permit) = message?.unwrap_or_default();
    let trailers = body.trailers().await.map_err(|error| lost(setup, &error))?;
    let trailers = trailers.unwrap_or_default();
    if let Some(failed) = failure(setup, &trailers, &metadata) {
        return Err(failed);
    }
    metadata.with_status(&trailers);
    if !trailers.contains_key(STATUS) && !head.headers.contains_key(STATUS) {
        return Err(no_response(
            setup,
            "the response ends without a grpc-status",
        ));
    }
    if message.is_empty() {
        let why = "the response has status OK but no message";
        return Err(no_response(setup, why));
    }
    Ok(Answer {
        message,
        codec,
        cost: None,
        metadata,
        _permit: permit,
    })
}

const STATUS: &str = "grpc-status";

/// Returns the error for a status that is not OK, if there is a status.
fn failure(setup: &Setup, headers: &HeaderMap, metadata: &ReceivedMetadata) -> Option<CallError> {
    let code = Code::from_header(headers.get(STATUS)?);
    if code == Code::Ok {
        return None;
    }
    let message = headers.get("grpc-message").map(message_text);
    let mut metadata = Box::new(metadata.clone());
    metadata.with_status(headers);
    Some(CallError::Status {
        address: setup.name.clone(),
        code,
        message: message.unwrap_or_default(),
        metadata,
    })
}

/// Returns the error for an HTTP status, following gRPC's `http-grpc-status-mapping.md`.
fn of_http(setup: &Setup, status: StatusCode) -> CallError {
    let code = match status.as_u16() {
        400 => Code::Internal,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::Unimplemented,
        429 | 502 | 503 | 504 => Code::Unavailable,
        _ => Code::Unknown,
    };
    CallError::Status {
        address: setup.name.clone(),
        code,
        message: format!("HTTP status {}", status.as_u16()),
        metadata: Box::default(),
    }
}

fn encoding(setup: &Setup, headers: &HeaderMap) -> Result<Option<Codec>, CallError> {
    match headers.get("grpc-encoding").map(HeaderValue::as_bytes) {
        None | Some(b"identity") => Ok(None),
        Some(b"gzip") => Ok(Some(Codec::Gzip)),
        Some(other) => {
            let other = String::from_utf8_lossy(other);
            let why = format!(
                "grpc-encoding = '{}': must be one of {ENCODINGS}",
                other.escape_default()
            );
            Err(no_response(setup, &why))
        }
    }
}

type Held = (Wiped, Option<OwnedSemaphorePermit>);

/// Receives the message of a response with its prefix, if there is one. The permit accounts for its
/// bytes.
async fn collect(
    setup: &Setup,
    limits: &Limits,
    incoming: &std::sync::Arc<Semaphore>,
    body: &mut RecvStream,
) -> Result<Option<Held>, CallError> {
    let mut message = Wiped::default();
    let (mut held, mut expected, mut permit) = (0, None, None);
    while let Some(chunk) = body.data().await {
        let chunk: Bytes = chunk.map_err(|error| lost(setup, &error))?;
        held += chunk.len();
        append(&mut message, &chunk, expected);
        if expected.is_none() {
            let length = message_length(&message, limits);
            let length = length.map_err(|error| malformed(setup, error))?;
            if let Some(length) = length {
                expected = Some(PREFIX + length);
                // Flow control stops the service from sending more until there is room.
                let bytes = u32::try_from(length).unwrap_or(u32::MAX);
                permit = incoming.clone().acquire_many_owned(bytes).await.ok();
            }
        }
        if let Some(expected) = expected {
            if message.len() > expected {
                let (what, at) = ("gRPC response", expected);
                let extra = message.len() - expected;
                let error = AccelError::TrailingBytes { what, at, extra };
                return Err(malformed(setup, error));
            }
            // Fails only for a stream that has ended, which is harmless.
            let _ = body.flow_control().release_capacity(held);
            held = 0;
        }
    }
    match expected {
        Some(expected) if message.len() == expected => Ok(Some((message, permit))),
        None if message.is_empty() => Ok(None),
        _ => {
            let (what, at, have) = ("gRPC response", 0, message.len());
            let need = expected.unwrap_or(PREFIX);
            Err(malformed(
                setup,
                AccelError::Truncated {
                    what,
                    at,
                    need,
                    have,
                },
            ))
        }
    }
}

/// Returns the error of a stream that ended before its response was complete.
fn lost(setup: &Setup, error: &h2::Error) -> CallError {
    let address = setup.name.clone();
    let why = error.to_string();
    let reason = error.reason().unwrap_or(Reason::NO_ERROR);
    match (error.is_remote(), error.is_go_away()) {
        // A GOAWAY ends only the streams beyond the last one that the service will process.
        (true, true) => CallError::Unprocessed { address, why },
        (true, false) if reason == Reason::REFUSED_STREAM => {
            CallError::Unprocessed { address, why }
        }
        (true, false) => CallError::Status {
            address,
            code: of_reset(reason),
            message: why,
            metadata: Box::default(),
        },
        // Errors that h2 detects in the response, such as headers beyond the limit.
        (false, _) if error.is_library() => no_response(setup, &why),
        (false, _) => CallError::Lost { address, why },
    }
}

/// Returns the code for a stream that was reset (gRPC over HTTP/2, "Errors").
fn of_reset(reason: Reason) -> Code {
    match reason {
        Reason::CANCEL => Code::Cancelled,
        Reason::ENHANCE_YOUR_CALM => Code::ResourceExhausted,
        Reason::INADEQUATE_SECURITY => Code::PermissionDenied,
        _ => Code::Internal,
    }
}
