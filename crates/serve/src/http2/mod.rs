//! A connection that speaks HTTP/2: one thread, on which the library's state machine runs, and a
//! task for each request.

mod frames;
mod outgoing;
mod pipe;

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use accelflow_accel::Limits;
use accelflow_accel::tls::{ContentType, TlsSession};
use accelflow_runtime::{Conversation, Message};
use bytes::Bytes;
use h2::Reason;
use h2::server::{self, Connection};
use tokio::runtime;
use tokio::sync::Semaphore;
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio::time::{interval, timeout};

pub(crate) use frames::{Activity, Frames};
pub(crate) use pipe::{End, Fault, Pipe};

use crate::error::Close;
use crate::grpc::room::Room;
use crate::grpc::traces::PipeTraces;
use crate::grpc::{Gateway, Streams};
use crate::inbound::Inbound;
use crate::ledger::{Account, Ledger};
use crate::peer::Peer;
use crate::places::Place;
use crate::recorder::Ran;
use crate::server::Shared;
use crate::tls::Control;

/// The descriptors of a connection beside its socket: the socket's copy, which the runtime owns, and what the
/// runtime waits by (two of epoll, and one to be woken by).
pub(crate) const DESCRIPTORS: usize = 4;
/// The flow-control window of a stream: what a client may send before its message is let in. More
/// than messages of 64 KiB have with what is around them, so that those come without a pause.
const STREAM_WINDOW: u32 = 128 * 1024;
/// What the connection's window has beyond those of all its streams, so that a message that was
/// let in goes on while others wait.
const SPARE_WINDOW: u32 = 1024 * 1024;
/// The longest list of headers (RFC 9113, section 10.5.1).
const MAX_HEADERS: u32 = 16 * 1024;
/// What is buffered of a response before the stream has to wait.
const SEND_BUFFER: usize = 256 * 1024;
/// How long a client has to end a connection that it was told will end, once nothing is going on.
const FAREWELL: Duration = Duration::from_millis(500);

/// Serves a connection to its end. What came after the handshake is in `inbound`.
pub(crate) fn serve(
    shared: &Arc<Shared>,
    gateway: &Gateway,
    place: &Arc<Place>,
    peer: &Peer,
    inbound: Inbound,
    conversation: Conversation,
    control: Option<Control>,
) -> Result<Infallible, Close> {
    let _registered = gateway.register(peer.address);
    let stream = place.stream.try_clone().map_err(Close::Io)?;
    stream.set_nonblocking(true).map_err(Close::Io)?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(Close::Io)?;
    place.has_opened();
    let tasks = LocalSet::new();
    let served = tasks.block_on(&runtime, async {
        let stream = tokio::net::TcpStream::from_std(stream).map_err(Close::Io)?;
        let frames = Rc::new(RefCell::new(Frames::new(Instant::now())));
        let fault = Fault::default();
        let secure = control.is_some();
        let names = PipeTraces::of(secure);
        let records = shared.recorder.is_some();
        let account = records.then(|| Rc::new(Account::new(shared.clone(), secure)));
        let end = ServerEnd {
            shared: shared.clone(),
            control,
            frames: frames.clone(),
            account: account.clone(),
        };
        let pipe = Pipe::new(end, stream, names, inbound, conversation, fault.clone());
        let patience = shared.config.handshake_timeout;
        let greeted = timeout(patience, builder(shared).handshake::<_, Bytes>(pipe)).await;
        let greeted = greeted.map_err(|_| Close::Slow("handshake"))?;
        let connection = match (greeted, fault.borrow_mut().take()) {
            (Ok(connection), _) => connection,
            (Err(_), Some(close)) => return Err(close),
            (Err(error), None) => return Err(failed(error)),
        };
        let driver = Driver {
            shared,
            connection,
            frames: frames.clone(),
            streams: streams(shared, gateway, place, peer, frames, account),
            stop: gateway.stopping(),
            leaving: None,
        };
        let served = driver.run().await;
        match (served, fault.borrow_mut().take()) {
            // What the pipe meets while it says so is no reason for the end any more.
            (Err(Close::Flood), _) => Err(Close::Flood),
            (_, Some(close)) => Err(close),
            (served, None) => served,
        }
    });
    Err(served.err().unwrap_or(Close::Done))
}

/// The server's end of a connection.
struct ServerEnd {
    shared: Arc<Shared>,
    control: Option<Control>,
    frames: Rc<RefCell<Frames>>,
    account: Option<Rc<Account>>,
}

impl End for ServerEnd {
    fn run(
        &mut self,
        trace: &'static str,
        message: &Message<'_>,
        conversation: &mut Conversation,
    ) -> Result<Ran, String> {
        let executors = &self.shared.executors;
        let ran = executors.run(trace, message, conversation);
        ran.map_err(|error| error.to_string())
    }

    fn limits(&self) -> &Limits {
        &self.shared.settings.limits
    }

    fn patience(&self) -> Duration {
        self.shared.config.write_timeout
    }

    fn ledger(&self) -> Option<&RefCell<Ledger>> {
        self.account.as_ref().map(|it| &it.ledger)
    }

    fn drained(&mut self) {
        if let Some(account) = &self.account {
            account.settle();
        }
    }

    fn see(&mut self, plain: &[u8]) -> bool {
        let mut frames = self.frames.borrow_mut();
        frames.see(plain, Instant::now());
        frames.flooded()
    }

    fn sent(&mut self, bytes: usize) {
        self.frames.borrow_mut().sent(bytes);
    }

    fn obey(
        &mut self,
        session: &mut TlsSession,
        kind: ContentType,
        content: &[u8],
    ) -> Result<Vec<u8>, Close> {
        let limits = &self.shared.settings.limits;
        match &mut self.control {
            Some(control) => control.obey(session, kind, content, limits),
            None => Ok(Vec::new()),
        }
    }

    fn refresh(&mut self, session: &mut TlsSession) -> Result<Vec<u8>, Close> {
        let limits = &self.shared.settings.limits;
        match &mut self.control {
            Some(control) => control.refresh(session, limits),
            None => Ok(Vec::new()),
        }
    }
}

/// The window of a connection of so many streams with a window of `stream` bytes each.
pub(crate) fn connection_window(stream: u32, streams: u32) -> u32 {
    /// The largest there may be (RFC 9113, section 6.9.1).
    const MOST: u32 = (1 << 31) - 1;
    let all = stream.saturating_mul(streams);
    all.saturating_add(SPARE_WINDOW).min(MOST)
}

fn builder(shared: &Shared) -> server::Builder {
    let streams = shared.config.max_concurrent_streams.max(1);
    let window = connection_window(STREAM_WINDOW, streams);
    let mut builder = server::Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(window)
        .max_concurrent_streams(streams)
        .max_header_list_size(MAX_HEADERS)
        .max_send_buffer_size(SEND_BUFFER);
    builder
}

fn streams(
    shared: &Arc<Shared>,
    gateway: &Gateway,
    place: &Arc<Place>,
    peer: &Peer,
    frames: Rc<RefCell<Frames>>,
    account: Option<Rc<Account>>,
) -> Rc<Streams> {
    let budget = shared.config.limits.max_message_bytes;
    Rc::new(Streams {
        shared: shared.clone(),
        schema: gateway.schema.clone(),
        workers: gateway.workers.clone(),
        place: place.clone(),
        peer: peer.clone(),
        frames,
        account,
        activity: Activity::new(Instant::now()),
        incoming: Semaphore::new(budget.min(Semaphore::MAX_PERMITS)),
        room: Room::new(shared.config.max_unsent_bytes),
        sizes: gateway.sizes.clone(),
    })
}

/// What drives a connection.
struct Driver<'s> {
    shared: &'s Shared,
    connection: Connection<Pipe<ServerEnd>, Bytes>,
    frames: Rc<RefCell<Frames>>,
    streams: Rc<Streams>,
    stop: watch::Receiver<bool>,
    /// Since when the client knows that the connection will end, and why it will.
    leaving: Option<(Instant, Close)>,
}

impl Driver<'_> {
    async fn run(mut self) -> Result<(), Close> {
        let config = &self.shared.config;
        let shortest = config.idle_timeout.min(config.message_timeout) / 4;
        let tick = shortest.clamp(Duration::from_millis(5), Duration::from_secs(1));
        let mut tick = interval(tick);
        if *self.stop.borrow() {
            self.leave(Close::Done);
        }
        loop {
            tokio::select! {
                accepted = self.connection.accept() => match accepted {
                    Some(Ok((request, respond))) => {
                        let streams = self.streams.clone();
                        tokio::task::spawn_local(streams.serve(request, respond));
                    }
                    Some(Err(error)) => return Err(self.end(failed(error))),
                    None => return Err(self.end(Close::Done)),
                },
                changed = self.stop.changed(), if self.leaving.is_none() => {
                    if changed.is_ok() {
                        self.leave(Close::Done);
                    }
                }
                () = flood(&self.frames) => {}
                _ = tick.tick() => self.look()?,
            }
            if self.frames.borrow().flooded() {
                self.connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
                let farewell = std::future::poll_fn(|cx| self.connection.poll_closed(cx));
                let _ = timeout(FAREWELL, farewell).await;
                return Err(Close::Flood);
            }
        }
    }

    /// Why the connection ends, which has ended in the way of `close`. A flood and its end may
    /// come at once.
    fn end(&mut self, close: Close) -> Close {
        match (self.leaving.take(), close) {
            _ if self.frames.borrow().flooded() => Close::Flood,
            (Some((_, close)), Close::Done) => close,
            (_, close) => close,
        }
    }

    /// Tells the client that no further request will be served.
    fn leave(&mut self, close: Close) {
        self.connection.graceful_shutdown();
        self.leaving = Some((Instant::now(), close));
    }

    /// Sees whether the client takes too long.
    fn look(&mut self) -> Result<(), Close> {
        let (config, now) = (&self.shared.config, Instant::now());
        let incomplete = self.frames.borrow().incomplete_since();
        if incomplete.is_some_and(|since| now - since >= config.message_timeout) {
            return Err(Close::Slow("message"));
        }
        let activity = &self.streams.activity;
        if activity.active.get() > 0 {
            return Ok(());
        }
        if let Some((since, _)) = &self.leaving {
            let quiet = now - activity.last.get().max(*since);
            return match quiet >= FAREWELL {
                true => Err(self.end(Close::Done)),
                false => Ok(()),
            };
        }
        if now - activity.last.get() >= config.idle_timeout {
            self.leave(Close::Idle);
        }
        Ok(())
    }
}

/// Ends when the other end floods. Nobody tells of that: it is looked at whenever the connection is.
pub(crate) async fn flood(frames: &RefCell<Frames>) {
    std::future::poll_fn(|_| match frames.borrow().flooded() {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

/// Why a connection has failed, in this crate's terms.
fn failed(error: h2::Error) -> Close {
    if error.is_io() {
        return error.into_io().map_or(Close::Cut, Close::Io);
    }
    match error.reason() {
        Some(Reason::NO_ERROR) => Close::Done,
        Some(Reason::ENHANCE_YOUR_CALM) => Close::Flood,
        _ => Close::Http2(error.to_string()),
    }
}
