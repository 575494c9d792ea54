//! A server's gRPC connection over HTTP/2: one thread, which runs the state machine of the HTTP/2
//! library `h2`, and a task for each request.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use accelflow_accel::Limits;
use accelflow_accel::tls::{ContentType, TlsSession};
use accelflow_runtime::{Conversation, Message, Terms};
use bytes::Bytes;
use h2::server::{self, Connection, SendResponse};
use h2::{Reason, RecvStream};
use http::Request;
use tokio::runtime::{self, Runtime};
use tokio::sync::{Semaphore, watch};
use tokio::task::LocalSet;
use tokio::time::{interval, timeout};

use super::account::Account;
use super::builtin;
use super::gateway::Gateway;
use super::stream::{Streams, until};
use crate::config::Config;
use crate::memory::room::Room;
use crate::observe::ledger::Ledger;
use crate::observe::run::TraceRun;
use crate::server::greeting::Greeted;
use crate::server::peer::Peer;
use crate::server::places::Place;
use crate::server::shared::Shared;
use crate::server::tenants::gates::Tenants;
use crate::transport::close::Close;
use crate::transport::grpc::traces::PipeTraces;
use crate::transport::http2::frames::{Activity, Frames};
use crate::transport::http2::pipe::{End, Fault, Pipe};
use crate::transport::http2::window::{connection_window, flood};
use crate::transport::tls::control::Control;

/// The flow-control windows of all streams of a connection together: how many bytes a client may
/// send before its messages are admitted. It is divided by the largest number of streams.
const STREAM_WINDOWS: u32 = 16 * 1024 * 1024;
/// The largest window of one stream. Messages of 64 KiB fit with their framing, and so arrive
/// without a pause.
const MOST_OF_STREAM: u32 = 128 * 1024;
/// The smallest window of one stream: one frame of the default size.
const LEAST_OF_STREAM: u32 = 16 * 1024;
/// The longest list of headers (RFC 9113, section 10.5.1).
const MAX_HEADERS: u32 = 16 * 1024;
/// The number of bytes of a response that are buffered before the stream has to wait.
const SEND_BUFFER: usize = 256 * 1024;
/// The time that the server waits for the client after announcing the end of a connection without
/// active requests.
const FAREWELL: Duration = Duration::from_millis(500);

/// Serves a connection to its end. Returns the reason of the end.
pub(crate) fn serve(
    shared: &Arc<Shared>,
    gateway: &Gateway,
    place: &Arc<Place>,
    peer: &Peer,
    greeted: Greeted,
) -> Close {
    let _registered = gateway.register(peer.address);
    let setup = Setup {
        shared,
        gateway,
        place,
        peer,
    };
    let tasks = LocalSet::new();
    let served = match &gateway.io {
        Some(driver) => {
            place.has_opened();
            driver.run(tasks.run_until(setup.serve(greeted)))
        }
        None => match runtime() {
            Ok(runtime) => {
                place.has_opened();
                tasks.block_on(&runtime, setup.serve(greeted))
            }
            Err(error) => Err(Close::Io(error)),
        },
    };
    served.err().unwrap_or(Close::Done)
}

/// A runtime that this thread drives.
fn runtime() -> io::Result<Runtime> {
    runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
}

/// The parts of a connection.
struct Setup<'s> {
    shared: &'s Arc<Shared>,
    gateway: &'s Gateway,
    place: &'s Arc<Place>,
    peer: &'s Peer,
}

impl Setup<'_> {
    /// Receives the client's preface, and serves the streams.
    async fn serve(&self, greeted: Greeted) -> Result<(), Close> {
        let shared = self.shared;
        let stream = self.place.socket.watch().map_err(Close::Io)?;
        let frames = Rc::new(RefCell::new(Frames::new(Instant::now())));
        let fault = Fault::default();
        let secure = greeted.control.is_some();
        let recorder = shared.observers.recorder.clone();
        let account = recorder.map(|recorder| Rc::new(Account::new(recorder, secure)));
        let end = ServerEnd {
            shared: shared.clone(),
            terms: self.terms(),
            control: greeted.control,
            frames: frames.clone(),
            account: account.clone(),
        };
        let (names, inbound) = (PipeTraces::of(secure), greeted.inbound);
        let conversation = greeted.conversation;
        let pipe = Pipe::new(end, stream, names, inbound, conversation, fault.clone());
        let patience = shared.config.handshake_timeout;
        let handshake = timeout(
            patience,
            builder(&shared.config).handshake::<_, Bytes>(pipe),
        );
        let handshake = handshake.await.map_err(|_| Close::Slow("handshake"))?;
        let connection = match (handshake, fault.borrow_mut().take()) {
            (Ok(connection), _) => connection,
            (Err(_), Some(close)) => return Err(close),
            (Err(error), None) => return Err(failed(error)),
        };
        let driver = Driver {
            config: &shared.config,
            connection,
            frames: frames.clone(),
            streams: self.streams(frames, account),
            stop: self.gateway.stopping(),
            leaving: None,
        };
        let served = driver.run().await;
        match (served, fault.borrow_mut().take()) {
            // The flood is the reason, even if sending the GOAWAY fails.
            (Err(Close::Flood), _) => Err(Close::Flood),
            (_, Some(close)) => Err(close),
            (served, None) => served,
        }
    }

    /// The terms of work for the connection as a whole.
    fn terms(&self) -> Terms {
        let tenants = self.shared.admission.tenants.as_ref();
        let of = |all: &Arc<Tenants>| all.terms_of_connection(self.peer.tenant);
        tenants.map_or_else(Terms::default, of)
    }

    fn streams(&self, frames: Rc<RefCell<Frames>>, account: Option<Rc<Account>>) -> Rc<Streams> {
        let (shared, gateway) = (self.shared, self.gateway);
        let budget = shared.config.limits.max_message_bytes;
        Rc::new(Streams {
            shared: shared.clone(),
            schema: gateway.schema.clone(),
            workers: gateway.workers.clone(),
            place: self.place.clone(),
            peer: self.peer.clone(),
            frames,
            account,
            activity: Activity::new(Instant::now()),
            incoming: Semaphore::new(budget.min(Semaphore::MAX_PERMITS)),
            room: Room::new(shared.config.max_unsent_bytes),
            sizes: gateway.sizes.clone(),
            stop: gateway.stopping(),
            reflecting: Semaphore::new(1),
        })
    }
}

/// The server's end of a connection.
struct ServerEnd {
    shared: Arc<Shared>,
    terms: Terms,
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
    ) -> Result<TraceRun, String> {
        let (executors, traces) = (&self.shared.executors, self.shared.traces.now());
        let message = Message {
            terms: self.terms,
            ..message.clone()
        };
        let run = executors.run(&traces, trace, &message, conversation);
        run.map_err(|error| error.to_string())
    }

    fn limits(&self) -> &Limits {
        self.shared.limits()
    }

    fn patience(&self) -> Duration {
        self.shared.config.write_timeout
    }

    fn ledger(&self) -> Option<&RefCell<Ledger>> {
        self.account.as_ref().map(|account| &account.ledger)
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

    fn handle_control(
        &mut self,
        session: &mut TlsSession,
        kind: ContentType,
        content: &[u8],
    ) -> Result<Vec<u8>, Close> {
        let limits = self.shared.limits();
        match &mut self.control {
            Some(control) => control.handle_control(session, kind, content, limits),
            None => Ok(Vec::new()),
        }
    }

    fn refresh(&mut self, session: &mut TlsSession) -> Result<Vec<u8>, Close> {
        let limits = self.shared.limits();
        match &mut self.control {
            Some(control) => control.refresh(session, limits),
            None => Ok(Vec::new()),
        }
    }
}

fn builder(config: &Config) -> server::Builder {
    let streams = config.max_concurrent_streams.max(1);
    let of_stream = (STREAM_WINDOWS / streams).clamp(LEAST_OF_STREAM, MOST_OF_STREAM);
    let window = connection_window(of_stream, streams);
    let mut builder = server::Builder::new();
    builder
        .initial_window_size(of_stream)
        .initial_connection_window_size(window)
        .max_concurrent_streams(streams)
        .max_header_list_size(MAX_HEADERS)
        .max_send_buffer_size(SEND_BUFFER);
    builder
}

/// Drives a connection's state machine.
struct Driver<'s> {
    config: &'s Config,
    connection: Connection<Pipe<ServerEnd>, Bytes>,
    frames: Rc<RefCell<Frames>>,
    streams: Rc<Streams>,
    stop: watch::Receiver<bool>,
    /// When the end of the connection was announced to the client, and its reason.
    leaving: Option<(Instant, Close)>,
}

impl Driver<'_> {
    async fn run(mut self) -> Result<(), Close> {
        let config = self.config;
        let shortest = config.idle_timeout.min(config.message_timeout) / 4;
        let tick = shortest.clamp(Duration::from_millis(5), Duration::from_secs(1));
        let mut tick = interval(tick);
        if *self.stop.borrow() {
            self.leave(Close::Done);
        }
        let place = self.streams.place.clone();
        place.idles();
        loop {
            let farewell = self.farewell_ends();
            tokio::select! {
                accepted = self.connection.accept() => match accepted {
                    Some(Ok((request, respond))) => self.serve(request, respond),
                    Some(Err(error)) => return Err(self.end(failed(error))),
                    None => return Err(self.end(Close::Done)),
                },
                changed = self.stop.changed(), if self.leaving.is_none() => {
                    if changed.is_ok() {
                        self.leave(Close::Done);
                    }
                }
                () = place.eviction(), if self.leaving.is_none() => {
                    self.leave(Close::Evicted { leaves_unread: false });
                }
                () = flood(&self.frames) => {}
                () = until(farewell) => self.look()?,
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

    /// Begins to serve a request.
    fn serve(&self, request: Request<RecvStream>, respond: SendResponse<Bytes>) {
        let (streams, path) = (self.streams.clone(), request.uri().path());
        match builtin::find(path, &streams.schema, self.config.reflection) {
            Some(method) => {
                tokio::task::spawn_local(builtin::serve(streams, method, request, respond))
            }
            None => tokio::task::spawn_local(streams.serve(request, respond)),
        };
    }

    /// Returns the reason of the connection's end. A flood takes precedence over `close`, since
    /// both may occur at once.
    fn end(&mut self, close: Close) -> Close {
        match (self.leaving.take(), close) {
            _ if self.frames.borrow().flooded() => Close::Flood,
            (Some((_, close)), Close::Done) => close,
            (_, close) => close,
        }
    }

    /// Announces to the client that no more requests will be served.
    fn leave(&mut self, close: Close) {
        self.connection.graceful_shutdown();
        self.leaving = Some((Instant::now(), close));
    }

    /// When a connection without requests ends, after its client was told.
    fn farewell_ends(&self) -> Option<Instant> {
        let activity = &self.streams.activity;
        let (since, _) = self.leaving.as_ref()?;
        let idle = activity.active.get() == 0;
        idle.then(|| activity.last.get().max(*since) + FAREWELL)
    }

    /// Checks whether the client takes too long.
    fn look(&mut self) -> Result<(), Close> {
        let (config, now) = (self.config, Instant::now());
        let incomplete = self.frames.borrow().incomplete_since();
        if incomplete.is_some_and(|since| now - since >= config.message_timeout) {
            return Err(Close::Slow("message"));
        }
        let activity = &self.streams.activity;
        if activity.active.get() > 0 {
            return Ok(());
        }
        if self.leaving.is_some() {
            return match self.farewell_ends().is_some_and(|end| now >= end) {
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

/// Returns the reason for an error of the HTTP/2 library.
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
