//! An HTTP/2 stream of a server, which receives a request and sends the response, within limits on
//! time and memory.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use accelflow_accel::Limits;
use accelflow_accel::grpc::{GrpcCall, PREFIX, message_length};
use accelflow_accel::protobuf::{MethodId, Schema};
use accelflow_accel::thrift::FunctionId;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{Request, Response};
use tokio::sync::{Semaphore, SemaphorePermit, oneshot, watch};
use tokio::time::{sleep_until, timeout};

use super::account::{Account, Answered};
use super::caller::StatusCaller;
use super::fair::Flow;
use super::head::{Head, Refusal};
use super::request::{Answer, Progress, ReceivedRequest, Recorded};
use super::send::{DROPPED, send_answer, send_status};
use super::status::{Detail, Status};
use super::workers::Workers;
use crate::memory::room::{ResponseBudget, Room, Sizes};
use crate::memory::wipe::Wiped;
use crate::observe::metrics::Metrics;
use crate::server::peer::Peer;
use crate::server::places::Place;
use crate::server::shared::Shared;
use crate::server::tenants::gates::Passage;
use crate::transport::grpc::code::Code;
use crate::transport::grpc::message::append;
use crate::transport::grpc::response::ResponseMetadata;
use crate::transport::http2::frames::{Activity, Frames};

/// The streams of one connection, and their shared state. All run on the connection's thread.
pub(crate) struct Streams {
    pub(crate) shared: Arc<Shared>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) workers: Arc<Workers>,
    pub(crate) place: Arc<Place>,
    pub(crate) peer: Peer,
    pub(crate) frames: Rc<RefCell<Frames>>,
    /// Charges requests for the TLS records that they share, if they are recorded.
    pub(crate) account: Option<Rc<Account>>,
    pub(crate) activity: Activity,
    /// A semaphore with one permit for each byte of messages that may be buffered.
    pub(crate) incoming: Semaphore,
    /// Memory for responses that are being produced or sent.
    pub(crate) room: Arc<Room>,
    pub(crate) sizes: Arc<Sizes>,
    /// Turns true when the server stops.
    pub(crate) stop: watch::Receiver<bool>,
    /// A semaphore with one permit, for a response of the server's reflection.
    pub(crate) reflecting: Semaphore,
}

/// Counts a request as active while it lives. Without active requests, the connection is idle.
pub(super) struct Active<'s>(&'s Streams);

impl<'s> Active<'s> {
    pub(super) fn begin(streams: &'s Streams) -> Active<'s> {
        streams.activity.begin();
        streams.place.works();
        Active(streams)
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        let Streams {
            activity, place, ..
        } = self.0;
        activity.end();
        if activity.active.get() == 0 {
            place.idles();
        }
    }
}

/// Counts the bytes of a message until it is complete.
struct ReceivedBytes<'s>(Option<&'s Account>, usize);

impl ReceivedBytes<'_> {
    fn add(&mut self, bytes: usize) {
        if let Some(account) = self.0 {
            account.ledger.borrow_mut().receives(bytes);
            self.1 += bytes;
        }
    }
}

impl Drop for ReceivedBytes<'_> {
    fn drop(&mut self) {
        if let Some(account) = self.0 {
            account.ledger.borrow_mut().forget_received(self.1);
        }
    }
}

/// Marks a request as abandoned when it is dropped, for whatever reason.
struct AbandonOnDrop(Arc<AtomicBool>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Counts a request by its result. If it is dropped before it has one, its connection has ended.
pub(super) struct Counting<'s> {
    pub(super) metrics: &'s Metrics,
    pub(super) function: &'s str,
    pub(super) result: &'static str,
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        self.metrics.request(self.function, self.result);
    }
}

/// How a request ends.
enum End {
    /// With a response.
    Answer(Answer),
    /// With a status alone.
    Status(Status),
    /// The client has cancelled it.
    Reset,
}

pub(super) fn stopping() -> Status {
    Status::new(Code::Unavailable, "stopping", "the server is stopping")
}

pub(super) fn late() -> Status {
    let why = "the deadline was exceeded";
    Status::new(Code::DeadlineExceeded, "deadline", why)
}

/// Waits until `end`; `None` waits for ever.
pub(super) async fn until(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end.into()).await,
        None => std::future::pending().await,
    }
}

/// The status of a request that takes too long to arrive.
pub(super) fn slow() -> Status {
    let why = "the request was not complete in time";
    Status::new(Code::DeadlineExceeded, "slow", why)
}

impl Streams {
    /// Serves one request to its end.
    pub(crate) async fn serve(
        self: Rc<Self>,
        request: Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
    ) {
        let _active = Active::begin(&self);
        let (parts, body) = request.into_parts();
        let metrics = &self.shared.observers.metrics;
        let head = match Head::read(&self.schema, &parts) {
            Ok(head) => head,
            Err(refusal) => return self.refuse(refusal, parts.uri.path(), &mut respond),
        };
        let mut counting = Counting {
            metrics,
            function: &head.function,
            result: "cancelled",
        };
        let added = ResponseMetadata::of_grpc();
        let end = self.obtain(&head, body, &added, &mut respond).await;
        match end {
            End::Answer(answer) => {
                let sent = self.answer(&mut respond, answer, &head, &added).await;
                counting.result = if sent { "ok" } else { "unsent" };
                drop(counting);
                self.frames.borrow_mut().answered();
            }
            End::Status(status) => {
                counting.result = status.label;
                drop(counting);
                match status.detail {
                    Detail::Unprocessed => respond.send_reset(Reason::REFUSED_STREAM),
                    _ => {
                        let status = self.for_client(status, &head.function);
                        let dropped = send_status(&mut respond, &status, &added);
                        self.report_dropped(&head.function, dropped);
                    }
                }
                self.frames.borrow_mut().answered();
            }
            End::Reset => {}
        }
    }

    /// Answers a request that cannot be served.
    pub(super) fn refuse(&self, refusal: Refusal, path: &str, respond: &mut SendResponse<Bytes>) {
        let metrics = &self.shared.observers.metrics;
        match refusal {
            Refusal::Http(status, label) => {
                metrics.request("", label);
                let mut response = Response::new(());
                *response.status_mut() = status;
                // Sending fails if the stream is gone.
                let _ = respond.send_response(response, true);
            }
            Refusal::Grpc(status) => {
                metrics.request("", status.label);
                let status = self.for_client(status, path);
                send_status(respond, &status, &ResponseMetadata::default());
            }
        }
    }

    /// Sends a response, and records it if the client received it in time. Returns whether it did.
    async fn answer(
        &self,
        respond: &mut SendResponse<Bytes>,
        mut answer: Answer,
        head: &Head,
        added: &ResponseMetadata,
    ) -> bool {
        let recorded = answer.recorded.take();
        let charged = recorded.and_then(|recorded| self.charge(*recorded, &head.function, &answer));
        let sent = self.send(respond, answer, head, added).await;
        match (sent, charged) {
            (true, Some((account, answered))) => account.answered(answered),
            (false, Some((account, answered))) => {
                account.ledger.borrow_mut().forget_sent(answered.bytes);
            }
            (_, None) => {}
        }
        sent
    }

    /// The part of a status that the client may know. Logs the rest.
    fn for_client(&self, status: Status, function: &str) -> Status {
        let (reports, peer) = (&self.shared.observers.reports, self.peer.address);
        let (label, why) = (status.label, &status.message);
        let message = match &status.detail {
            Detail::Open | Detail::Unprocessed => return status,
            Detail::Private => reports.report(label, function, peer, why),
            Detail::Logged(id) => reports.client_text(label, id, why),
        };
        Status { message, ..status }
    }

    /// Logs what a response lacks since its trailers would be too large.
    fn report_dropped(&self, function: &str, dropped: Option<String>) {
        if let Some(why) = dropped {
            let (reports, peer) = (&self.shared.observers.reports, self.peer.address);
            reports.report(DROPPED, function, peer, &why);
        }
    }

    /// The record of a response that is about to be sent.
    fn charge(
        &self,
        recorded: Recorded,
        function: &str,
        answer: &Answer,
    ) -> Option<(&Account, Answered)> {
        let account = self.account.as_deref()?;
        let bytes = answer.message.len();
        account.ledger.borrow_mut().sends(bytes);
        let answered = Answered {
            function: function.to_owned(),
            received: recorded.received,
            trail: recorded.trail,
            sent: recorded.sent,
            compressed: answer.gzip,
            records: recorded.records,
            bytes,
        };
        Some((account, answered))
    }

    /// Waits for the answer, until the client's deadline or its cancellation of the request.
    async fn obtain(
        &self,
        head: &Head,
        body: RecvStream,
        added: &ResponseMetadata,
        respond: &mut SendResponse<Bytes>,
    ) -> End {
        let deadline = head
            .timeout
            .and_then(|timeout| Instant::now().checked_add(timeout));
        let abandoned = Arc::new(AtomicBool::new(false));
        // Marks the request as abandoned also if the connection ends first.
        let _abandon = AbandonOnDrop(abandoned.clone());
        let errors_to_caller = self.shared.config.errors_to_caller;
        let (caller, status) = errors_to_caller.then(StatusCaller::new).unzip();
        let failed = async {
            match status {
                Some(status) => match status.await {
                    Ok(status) => status,
                    // No error was reported, so wait for the answer.
                    Err(_) => std::future::pending().await,
                },
                None => std::future::pending().await,
            }
        };
        let work = self.work(head, body, added, deadline, abandoned.clone(), caller);
        tokio::select! {
            biased;
            _ = poll_fn(|cx| respond.poll_reset(cx)) => End::Reset,
            () = until(deadline) => End::Status(late()),
            status = failed => End::Status(status),
            done = work => match done {
                // A handler on the connection's thread keeps it from noticing in time.
                _ if deadline.is_some_and(|deadline| deadline <= Instant::now()) => {
                    End::Status(late())
                }
                Ok(answer) => End::Answer(answer),
                Err(status) => End::Status(status),
            },
        }
    }

    async fn work(
        &self,
        head: &Head,
        body: RecvStream,
        added: &ResponseMetadata,
        deadline: Option<Instant>,
        abandoned: Arc<AtomicBool>,
        caller: Option<Arc<Mutex<StatusCaller>>>,
    ) -> Result<Answer, Status> {
        let (arrived, patience) = (Instant::now(), self.shared.config.message_timeout);
        let (message, _permit) = self.receive(body, patience).await?;
        let account = self.account.as_ref();
        let records =
            account.map(|account| account.ledger.borrow_mut().charge_received(message.len()));
        let budget = self.make_room(head.method).await;
        let Passage { mut terms, charge } = self.pass(message.len()).await?;
        let memory = match &self.shared.admission.arena {
            None => None,
            Some(arena) => {
                let reserved = arena.reserve_later(message.len()).await;
                Some(reserved.ok_or_else(Status::no_memory)?)
            }
        };
        let (begun, function) = (Instant::now(), FunctionId(head.method.0));
        let soonest = terms.due.into_iter().chain(deadline).min();
        terms.due = self.shared.dispatch.due(function, arrived, soonest);
        let request = ReceivedRequest {
            begun,
            shared: self.shared.clone(),
            traces: self.shared.traces.now(),
            terms,
            charge,
            parent: head.parent.clone(),
            call: GrpcCall::received(self.schema.clone(), &head.path, head.codec),
            function: head.function.clone(),
            message,
            memory,
            takes_gzip: head.takes_gzip,
            peer: self.peer.clone(),
            deadline,
            metadata: head.metadata.clone(),
            response: added.clone(),
            abandoned,
            caller,
            records,
            budget,
        };
        match self.begin(request).await? {
            Progress::Done(answer) => answer,
            Progress::Later(later) => later.answer().await,
        }
    }

    /// Waits until the tenant's shaper admits a message of `bytes`.
    async fn pass(&self, bytes: usize) -> Result<Passage, Status> {
        match &self.shared.admission.tenants {
            None => Ok(Passage::default()),
            Some(tenants) => {
                let passed = tenants.pass_later(self.peer.tenant, bytes).await;
                passed.ok_or_else(stopping)
            }
        }
    }

    /// Runs a request until its handler has returned.
    async fn begin(&self, request: ReceivedRequest) -> Result<Progress, Status> {
        if self.shared.config.handler_threads > 0 {
            return self.begin_on_worker(request).await;
        }
        let begun = self.place.busy(|| request.begin());
        if self.shared.config.errors_to_caller {
            // A status that was meanwhile reported to the client takes precedence.
            tokio::task::yield_now().await;
        }
        Ok(begun)
    }

    async fn begin_on_worker(&self, request: ReceivedRequest) -> Result<Progress, Status> {
        let busy = || {
            let why = "too many requests wait for a thread";
            Status::new(Code::ResourceExhausted, "busy", why)
        };
        let flow = Flow {
            tenant: self.peer.tenant,
            connection: self.place.number,
        };
        let (sender, begun) = oneshot::channel();
        let work = Box::new(move || drop(sender.send(request.begin())));
        self.workers.submit(flow, work).map_err(|_| busy())?;
        begun.await.map_err(|_| match self.workers.is_closed() {
            true => stopping(),
            // Another request, of a connection with fewer waiting requests, has replaced this one
            // in the queue.
            false => busy(),
        })
    }

    /// Waits until there is memory for a response of the method's usual size.
    async fn make_room(&self, MethodId(method): MethodId) -> Arc<ResponseBudget> {
        let largest = self.shared.limits().max_message_bytes;
        let reserved = self.room.reserve(&self.sizes, method, largest).await;
        // The connection's own thread sends the responses, and must not wait for itself.
        let patience = match self.shared.config.handler_threads {
            0 => Duration::ZERO,
            _ => self.shared.config.write_timeout,
        };
        Arc::new(ResponseBudget {
            reserved,
            sizes: self.sizes.clone(),
            method,
            largest,
            patience,
            at_once: AtomicBool::new(false),
        })
    }

    /// Receives the one message of a unary request. The permit is for its bytes.
    async fn receive(
        &self,
        mut body: RecvStream,
        patience: Duration,
    ) -> Result<(Wiped, Option<SemaphorePermit<'_>>), Status> {
        let limits = self.shared.limits();
        let begun = Instant::now();
        let mut waited = Duration::ZERO;
        let mut message = Wiped::default();
        let (mut held, mut expected, mut permit) = (0, None, None);
        let mut coming = ReceivedBytes(self.account.as_deref(), 0);
        loop {
            let left = (patience + waited).saturating_sub(begun.elapsed());
            let chunk = timeout(left, body.data()).await.map_err(|_| slow())?;
            let Some(chunk) = chunk else {
                break;
            };
            let chunk = chunk.map_err(|error| Status::new(Code::Internal, "cut", error))?;
            held += chunk.len();
            coming.add(chunk.len());
            let known = expected.or_else(|| match message.is_empty() {
                true => message_length(&chunk, limits)
                    .ok()?
                    .map(|length| PREFIX + length),
                false => None,
            });
            append(&mut message, &chunk, known);
            if expected.is_none()
                && let Some(length) = announced_length(&message, limits)?
            {
                expected = Some(PREFIX + length);
                let start = Instant::now();
                // Until there is room, flow control keeps the client from sending more.
                let bytes = u32::try_from(length).unwrap_or(u32::MAX);
                let granted = self.incoming.acquire_many(bytes).await;
                permit = granted.ok();
                waited += start.elapsed();
            }
            if expected.is_some_and(|expected| message.len() > expected) {
                let why = "a unary request must have one message, but this one has more";
                return Err(Status::new(Code::Unimplemented, "trailing_bytes", why));
            }
            if expected.is_some() {
                // Fails for a stream that has ended, where it does not matter.
                let _ = body.flow_control().release_capacity(held);
                held = 0;
            }
        }
        check_complete(&message, expected)?;
        if self.account.is_some() {
            // The messages that have arrived with this one, in the same records, count before it is
            // charged.
            tokio::task::yield_now().await;
        }
        coming.1 = 0;
        Ok((message, permit))
    }

    /// Sends a response. Returns whether the client received it in time.
    async fn send(
        &self,
        respond: &mut SendResponse<Bytes>,
        answer: Answer,
        head: &Head,
        added: &ResponseMetadata,
    ) -> bool {
        let patience = self.shared.config.write_timeout;
        match timeout(patience, send_answer(respond, answer, added)).await {
            Ok(Ok(dropped)) => {
                self.report_dropped(&head.function, dropped);
                true
            }
            Ok(Err(_)) => false,
            Err(_) => {
                respond.send_reset(Reason::CANCEL);
                false
            }
        }
    }
}

/// Returns the message length in the prefix, or `None` if the prefix is not complete.
fn announced_length(message: &[u8], limits: &Limits) -> Result<Option<usize>, Status> {
    message_length(message, limits).map_err(|error| {
        let code = match error.reason() {
            "too_large" => Code::ResourceExhausted,
            _ => Code::Internal,
        };
        Status::new(code, error.reason(), error)
    })
}

/// Checks that a completed request has one whole message of the expected length.
fn check_complete(message: &[u8], expected: Option<usize>) -> Result<(), Status> {
    match expected {
        Some(expected) if message.len() == expected => Ok(()),
        None if message.is_empty() => {
            let why = "a unary request must have one message, but this one has none";
            Err(Status::new(Code::Unimplemented, "truncated", why))
        }
        _ => {
            let bytes = message.len();
            let why = format!("the request ends after {bytes} bytes of a message");
            Err(Status::new(Code::Internal, "truncated", why))
        }
    }
}
