//! An HTTP/2 connection of a gRPC client, which many calls share.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use accelflow_accel::Limits;
use accelflow_accel::tls::{ContentType, TlsSession};
use accelflow_runtime::{Conversation, Message};
use bytes::Bytes;
use h2::client::{self, SendRequest};
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use super::setup::Setup;
use crate::client::dial::Dialled;
use crate::client::error::CallError;
use crate::client::trust::ClientControl;
use crate::observe::ledger::Ledger;
use crate::observe::run::TraceRun;
use crate::transport::close::Close;
use crate::transport::engine::EngineExecutor;
use crate::transport::grpc::traces::PipeTraces;
use crate::transport::http2::frames::Frames;
use crate::transport::http2::pipe::{End, Fault, Pipe};
use crate::transport::http2::window::connection_window;
use crate::transport::shared_socket::AsyncSocket;

/// The flow-control window of a stream: how many bytes a service may send before its message is
/// admitted.
const STREAM_WINDOW: u32 = 64 * 1024;
/// The longest list of headers, or of trailers, that is accepted.
const MAX_HEADERS: u32 = 16 * 1024;
/// The number of bytes of a request that are buffered before its stream has to wait.
const SEND_BUFFER: usize = 256 * 1024;

/// A connection for calls.
pub(super) struct Connection {
    send: SendRequest<Bytes>,
    /// The number of calls that use it.
    pub(super) active: Cell<usize>,
    /// Whether the connection takes no more calls.
    pub(super) retired: Cell<bool>,
    /// The reason of the connection's end, for metrics. It is `closed` unless this end closes it.
    pub(super) why: Rc<Cell<&'static str>>,
    pub(super) last_used: Cell<Instant>,
    /// Notified when the service has sent something, and when the connection has ended.
    pub(super) greeted: Rc<Notify>,
    heard: Rc<Cell<Instant>>,
    pub(super) frames: Rc<RefCell<Frames>>,
    /// A semaphore with one permit for each byte of received messages that may be in memory.
    pub(super) incoming: Arc<Semaphore>,
    pub(super) secure: bool,
    pub(super) records: Rc<Records>,
    most: usize,
}

/// The costs of a connection's records. They are measured from the first call that requests them.
#[derive(Default)]
pub(super) struct Records {
    pub(super) noted: Cell<bool>,
    pub(super) ledger: RefCell<Ledger>,
}

/// A future that drives a connection until it ends, and returns the reason.
pub(super) type Driver = client::Connection<Pipe<ClientEnd>, Bytes>;

impl Connection {
    /// Whether the connection takes no more calls, because the service refuses them or the
    /// connection is lost.
    pub(super) fn is_leaving(&self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        if !self.retired.get() && matches!(self.sender().poll_ready(&mut cx), Poll::Ready(Err(_))) {
            self.retired.set(true);
        }
        self.retired.get()
    }

    /// The number of calls for which the connection has room now.
    pub(super) fn room(&self) -> usize {
        if self.is_leaving() {
            return 0;
        }
        let most = self.most.min(self.send.current_max_send_streams());
        most.saturating_sub(self.active.get())
    }

    /// A handle that sends one request.
    pub(super) fn sender(&self) -> SendRequest<Bytes> {
        self.send.clone()
    }

    /// The time when the service last sent data.
    pub(super) fn heard(&self) -> Instant {
        self.heard.get()
    }
}

/// Begins HTTP/2 on an open connection.
pub(super) async fn greet(
    setup: &Setup,
    dialled: Dialled,
    patience: Duration,
) -> Result<(Connection, Driver, Fault), CallError> {
    let failed = |error: std::io::Error| CallError::Connect {
        address: setup.name.clone(),
        error,
    };
    let stream = Arc::try_unwrap(dialled.stream).or_else(|shared| shared.try_clone());
    let stream = stream.and_then(AsyncSocket::new).map_err(failed)?;
    let (now, secure) = (Instant::now(), dialled.control.is_some());
    let heard = Rc::new(Cell::new(now));
    let frames = Rc::new(RefCell::new(Frames::of_service(now)));
    let end = ClientEnd {
        executor: setup
            .executor(&setup.traces.now())
            .map_err(|error| failed(std::io::Error::other(error)))?,
        control: dialled.control,
        limits: setup.settings.limits,
        patience: setup.config.timeout,
        heard: heard.clone(),
        frames: frames.clone(),
        fell_back: setup.fell_back(),
        records: Rc::default(),
        greeted: Rc::default(),
    };
    let (records, greeted_by_end) = (end.records.clone(), end.greeted.clone());
    let (fault, names) = (Fault::default(), PipeTraces::of_calls(secure));
    let (inbound, conversation) = (dialled.inbound, dialled.conversation);
    let pipe = Pipe::new(end, stream, names, inbound, conversation, fault.clone());
    let most = setup.config.calls_per_connection;
    let greeted = timeout(patience, builder(most).handshake(pipe)).await;
    let greeted = greeted.map_err(|_| failed(std::io::ErrorKind::TimedOut.into()))?;
    let (send, driver) = greeted.map_err(|error| failed(std::io::Error::other(error)))?;
    let budget = setup.settings.limits.max_message_bytes;
    let connection = Connection {
        send,
        active: Cell::new(0),
        retired: Cell::new(false),
        why: Rc::new(Cell::new("closed")),
        last_used: Cell::new(now),
        greeted: greeted_by_end,
        heard,
        frames,
        incoming: Arc::new(Semaphore::new(budget.min(Semaphore::MAX_PERMITS))),
        secure,
        records,
        most,
    };
    Ok((connection, driver, fault))
}

fn builder(most: usize) -> client::Builder {
    /// The number of streams that h2 assumes until the service states its limit.
    const ASSUMED: usize = 100;
    let streams = u32::try_from(most).unwrap_or(u32::MAX);
    let window = connection_window(STREAM_WINDOW, streams);
    let mut builder = client::Builder::new();
    builder
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(window)
        .initial_max_send_streams(most.min(ASSUMED))
        .max_header_list_size(MAX_HEADERS)
        .max_send_buffer_size(SEND_BUFFER);
    builder
}

/// The client's end of a connection.
pub(super) struct ClientEnd {
    executor: EngineExecutor,
    control: Option<ClientControl>,
    limits: Limits,
    patience: Duration,
    heard: Rc<Cell<Instant>>,
    frames: Rc<RefCell<Frames>>,
    fell_back: Box<dyn Fn(&'static str)>,
    records: Rc<Records>,
    greeted: Rc<Notify>,
}

impl End for ClientEnd {
    fn run(
        &mut self,
        trace: &'static str,
        message: &Message<'_>,
        conversation: &mut Conversation,
    ) -> Result<TraceRun, String> {
        let noted = self.records.noted.get();
        self.executor.note(noted);
        let mut peer = crate::transport::ensemble::SocketPeer;
        let run = self.executor.run(trace, message, conversation, &mut peer);
        let outcome = run.map_err(|failure| {
            (self.fell_back)(trace);
            failure.to_string()
        })?;
        Ok(TraceRun {
            outcome,
            costs_ns: self.executor.take_costs(),
            times: Vec::new(),
            elsewhere: Duration::ZERO,
        })
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn patience(&self) -> Duration {
        self.patience
    }

    fn ledger(&self) -> Option<&RefCell<Ledger>> {
        self.records.noted.get().then_some(&self.records.ledger)
    }

    fn see(&mut self, plain: &[u8]) -> bool {
        let now = Instant::now();
        self.heard.set(now);
        self.greeted.notify_one();
        let mut frames = self.frames.borrow_mut();
        frames.see(plain, now);
        frames.flooded()
    }

    fn sent(&mut self, bytes: usize) {
        self.frames.borrow_mut().sent(bytes);
    }

    fn handle_control(
        &mut self,
        session: &mut TlsSession,
        kind: ContentType,
        content: &[u8],
    ) -> Result<Vec<u8>, Close> {
        match &mut self.control {
            Some(control) => control.handle_control(session, kind, content, &self.limits),
            None => Ok(Vec::new()),
        }
    }

    fn refresh(&mut self, session: &mut TlsSession) -> Result<Vec<u8>, Close> {
        match &mut self.control {
            Some(control) => control.refresh(session, &self.limits),
            None => Ok(Vec::new()),
        }
    }
}
