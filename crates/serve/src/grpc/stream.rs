//! One HTTP/2 stream: a request in, a response out, each within its time and its share of memory.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use accelflow_accel::grpc::{GrpcCall, PREFIX, message_length};
use accelflow_accel::protobuf::Schema;
use accelflow_runtime::Terms;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use tokio::sync::{Notify, Semaphore, SemaphorePermit, oneshot};
use tokio::time::{sleep_until, timeout};
use zeroize::{Zeroize, Zeroizing};

use super::answer::{Answer, Asked};
use super::head::{ENCODINGS, Head, Refusal};
use super::status::{Code, Status, message_header};
use super::workers::Workers;
use crate::http2::{Activity, Frames};
use crate::server::Shared;

/// What the requests of one connection share. All are on its thread.
pub(crate) struct Streams {
    pub(crate) shared: Arc<Shared>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) workers: Arc<Workers>,
    pub(crate) peer: SocketAddr,
    pub(crate) frames: Rc<RefCell<Frames>>,
    pub(crate) activity: Activity,
    /// As many permits as bytes of messages may be buffered.
    pub(crate) incoming: Semaphore,
    /// Bytes of responses that the client has not taken yet.
    pub(crate) unsent: Cell<usize>,
    pub(crate) sent: Notify,
}

/// Counts a request as active while it lives.
struct Active<'s>(&'s Activity);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What becomes of a request.
enum End {
    /// There is a response.
    Answer(Answer),
    /// There is none.
    Status(Status),
    /// The client has given it up.
    Reset,
}

fn stopping() -> Status {
    Status::new(Code::Unavailable, "stopping", "the server is stopping")
}

impl Streams {
    /// Serves one request to its end.
    pub(crate) async fn serve(
        self: Rc<Self>,
        request: Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
    ) {
        self.activity.begin();
        let _active = Active(&self.activity);
        let (parts, body) = request.into_parts();
        let metrics = &self.shared.metrics;
        let head = match Head::read(&self.schema, &parts) {
            Ok(head) => head,
            Err(Refusal::Http(status, label)) => {
                metrics.request("", label);
                let mut response = Response::new(());
                *response.status_mut() = status;
                // A stream that is gone needs no response.
                let _ = respond.send_response(response, true);
                return;
            }
            Err(Refusal::Grpc(status)) => {
                metrics.request("", status.label);
                send_status(&mut respond, &status);
                return;
            }
        };
        let end = self.obtain(&head, body, &mut respond).await;
        match end {
            End::Answer(answer) => {
                let sent = self.send(&mut respond, answer).await;
                metrics.request(&head.function, if sent { "ok" } else { "unsent" });
                self.frames.borrow_mut().answered();
            }
            End::Status(status) => {
                metrics.request(&head.function, status.label);
                send_status(&mut respond, &status);
                self.frames.borrow_mut().answered();
            }
            End::Reset => metrics.request(&head.function, "cancelled"),
        }
    }

    /// Gets the answer, unless the client's patience ends before.
    async fn obtain(
        &self,
        head: &Head,
        body: RecvStream,
        respond: &mut SendResponse<Bytes>,
    ) -> End {
        let deadline = head.timeout.and_then(|it| Instant::now().checked_add(it));
        let abandoned = Arc::new(AtomicBool::new(false));
        let end = {
            let expired = async {
                match deadline {
                    Some(deadline) => sleep_until(deadline.into()).await,
                    None => std::future::pending().await,
                }
            };
            let work = self.work(head, body, deadline, abandoned.clone());
            tokio::select! {
                biased;
                _ = poll_fn(|cx| respond.poll_reset(cx)) => End::Reset,
                () = expired => End::Status(Status::new(
                    Code::DeadlineExceeded,
                    "deadline",
                    "the deadline was exceeded",
                )),
                done = work => match done {
                    Ok(answer) => End::Answer(answer),
                    Err(status) => End::Status(status),
                },
            }
        };
        abandoned.store(true, Ordering::Relaxed);
        end
    }

    async fn work(
        &self,
        head: &Head,
        body: RecvStream,
        deadline: Option<Instant>,
        abandoned: Arc<AtomicBool>,
    ) -> Result<Answer, Status> {
        let patience = self.shared.config.message_timeout;
        let (message, _permit) = self.receive(body, patience).await?;
        let limit = self.shared.settings.limits.max_message_bytes;
        while self.unsent.get() > limit {
            self.sent.notified().await;
        }
        let terms = match &self.shared.tenants {
            None => Terms::default(),
            Some(tenants) => {
                let tenant = tenants.of(self.peer.ip());
                let passed = tenants.pass_later(tenant, message.len()).await;
                passed.ok_or_else(stopping)?
            }
        };
        let asked = Asked {
            shared: self.shared.clone(),
            terms,
            parent: head.parent.clone(),
            call: GrpcCall::received(self.schema.clone(), &head.path, head.codec),
            function: head.function.clone(),
            message,
            takes_gzip: head.takes_gzip,
            peer: self.peer,
            deadline,
            abandoned,
        };
        let (sender, answered) = oneshot::channel();
        let work = Box::new(move || drop(sender.send(asked.answer())));
        self.workers.submit(work).map_err(|_| {
            let why = "too many requests wait for a thread";
            Status::new(Code::ResourceExhausted, "busy", why)
        })?;
        match answered.await {
            Ok(answer) => answer,
            Err(_) => Err(stopping()),
        }
    }

    /// Receives the one message of a unary request. The permit is for its bytes.
    async fn receive(
        &self,
        mut body: RecvStream,
        patience: Duration,
    ) -> Result<(Zeroizing<Vec<u8>>, Option<SemaphorePermit<'_>>), Status> {
        let limits = &self.shared.settings.limits;
        let internal = |label, why: String| Status::new(Code::Internal, label, why);
        let begun = Instant::now();
        let mut waited = Duration::ZERO;
        let mut message = Zeroizing::new(Vec::new());
        let (mut held, mut expected, mut permit) = (0, None, None);
        loop {
            let left = (patience + waited).saturating_sub(begun.elapsed());
            let chunk = timeout(left, body.data()).await.map_err(|_| {
                let why = "the request did not come to its end in time";
                Status::new(Code::DeadlineExceeded, "slow", why)
            })?;
            let Some(chunk) = chunk else {
                break;
            };
            let chunk = chunk.map_err(|error| internal("cut", error.to_string()))?;
            held += chunk.len();
            append(&mut message, &chunk, expected);
            if expected.is_none() {
                let length = message_length(&message, limits);
                let length = length.map_err(|error| {
                    let code = match error.reason() {
                        "too_large" => Code::ResourceExhausted,
                        _ => Code::Internal,
                    };
                    Status::new(code, error.reason(), error)
                })?;
                if let Some(length) = length {
                    expected = Some(PREFIX + length);
                    let start = Instant::now();
                    // Until there is room, the stream's window keeps the client from sending on.
                    let bytes = u32::try_from(length).unwrap_or(u32::MAX);
                    let granted = self.incoming.acquire_many(bytes).await;
                    permit = granted.ok();
                    waited += start.elapsed();
                }
            }
            if expected.is_some_and(|expected| message.len() > expected) {
                let why = "a unary request has one message; this has more";
                return Err(Status::new(Code::Unimplemented, "trailing_bytes", why));
            }
            if expected.is_some() {
                // It fails for a stream that is over, where it does not matter.
                let _ = body.flow_control().release_capacity(held);
                held = 0;
            }
        }
        match expected {
            Some(expected) if message.len() == expected => Ok((message, permit)),
            None if message.is_empty() => {
                let why = "a unary request has one message; this has none";
                Err(Status::new(Code::Unimplemented, "truncated", why))
            }
            _ => {
                let why = format!(
                    "the request ends after {} bytes of a message",
                    message.len()
                );
                Err(internal("truncated", why))
            }
        }
    }

    /// Sends a response; whether the client took it in time.
    async fn send(&self, respond: &mut SendResponse<Bytes>, answer: Answer) -> bool {
        let size = answer.message.len();
        self.unsent.set(self.unsent.get() + size);
        let patience = self.shared.config.write_timeout;
        let sent = timeout(patience, send_answer(respond, answer)).await;
        self.unsent.set(self.unsent.get() - size);
        self.sent.notify_waiters();
        match sent {
            Ok(sent) => sent.is_ok(),
            Err(_) => {
                respond.send_reset(Reason::CANCEL);
                false
            }
        }
    }
}

/// Appends without leaving copies behind in freed memory. What is known of the length does not make
/// it reserve memory for what has not come.
fn append(message: &mut Zeroizing<Vec<u8>>, chunk: &[u8], expected: Option<usize>) {
    let need = message.len() + chunk.len();
    if need > message.capacity() {
        let doubled = (2 * message.capacity()).max(need);
        let room = match expected {
            Some(expected) if need <= expected => doubled.min(expected),
            _ => doubled,
        };
        let mut larger = Vec::with_capacity(room);
        larger.extend_from_slice(message);
        message.zeroize();
        *message = Zeroizing::new(larger);
    }
    message.extend_from_slice(chunk);
}

fn headers() -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    let grpc = HeaderValue::from_static("application/grpc");
    headers.insert(header::CONTENT_TYPE, grpc);
    let encodings = HeaderValue::from_static(ENCODINGS);
    headers.insert("grpc-accept-encoding", encodings);
    response
}

async fn send_answer(respond: &mut SendResponse<Bytes>, answer: Answer) -> Result<(), h2::Error> {
    let mut response = headers();
    if answer.gzip {
        let gzip = HeaderValue::from_static("gzip");
        response.headers_mut().insert("grpc-encoding", gzip);
    }
    let mut stream = respond.send_response(response, false)?;
    // The memory is wiped when the last part of it has been sent.
    let mut rest = Bytes::from_owner(answer.message);
    while !rest.is_empty() {
        let room = capacity(&mut stream, rest.len()).await?;
        stream.send_data(rest.split_to(room.min(rest.len())), false)?;
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", Code::Ok.header());
    stream.send_trailers(trailers)
}

/// Waits until the client takes some more bytes; how many.
async fn capacity(stream: &mut SendStream<Bytes>, wanted: usize) -> Result<usize, h2::Error> {
    stream.reserve_capacity(wanted);
    loop {
        match poll_fn(|cx| stream.poll_capacity(cx)).await {
            Some(Ok(0)) => {}
            Some(Ok(room)) => return Ok(room),
            Some(Err(error)) => return Err(error),
            None => return Err(Reason::CANCEL.into()),
        }
    }
}

/// Sends a response that is a status alone.
fn send_status(respond: &mut SendResponse<Bytes>, status: &Status) {
    let mut response = headers();
    let headers = response.headers_mut();
    headers.insert("grpc-status", status.code.header());
    headers.insert("grpc-message", message_header(&status.message));
    // A stream that is gone needs no response.
    let _ = respond.send_response(response, true);
}
