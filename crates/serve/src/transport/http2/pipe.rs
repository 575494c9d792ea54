//! The bytes of an HTTP/2 connection, received by TCP and Decr and sent by Encr and TCP.
//!
//! Frames of many requests share TLS records, with SETTINGS or WINDOW_UPDATE between them, so no
//! record belongs to one message. The traces that process records therefore end where the frames
//! begin, and the traces that process messages start there.

use std::cell::RefCell;
use std::io::{self, Read};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use accelflow_accel::Limits;
use accelflow_accel::tls::{self as records, ContentType, TlsSession};
use accelflow_runtime::thread_time;
use accelflow_runtime::{Conversation, Message};
use accelflow_trace::Format;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::outgoing::{COLLECTED, Outgoing};
use crate::memory::wipe::Wiped;
use crate::observe::ledger::Ledger;
use crate::observe::run::TraceRun;
use crate::transport::close::Close;
use crate::transport::grpc::traces::PipeTraces;
use crate::transport::inbound::{Inbound, whole_records};
use crate::transport::shared_socket::AsyncSocket;
use crate::transport::tls::alerts;

/// The reason why a pipe has failed, once it has.
pub(crate) type Fault = Rc<RefCell<Option<Close>>>;

/// The end of a connection that a pipe serves: a server's or a client's.
pub(crate) trait End {
    /// Runs a trace of the connection's bytes. A failed run does not change the keys.
    fn run(
        &mut self,
        trace: &'static str,
        message: &Message<'_>,
        conversation: &mut Conversation,
    ) -> Result<TraceRun, String>;

    fn limits(&self) -> &Limits;

    /// The time limit for the peer to read sent data.
    fn patience(&self) -> Duration;

    /// The ledger for the costs of records, if they are measured.
    fn ledger(&self) -> Option<&RefCell<Ledger>> {
        None
    }

    /// Called when everything has been sent.
    fn drained(&mut self) {}

    /// Examines received frames; returns whether the peer floods.
    fn see(&mut self, plain: &[u8]) -> bool;

    /// Called when bytes have been sent.
    fn sent(&mut self, bytes: usize);

    /// Handles a TLS control record. Returns the bytes to send.
    fn handle_control(
        &mut self,
        session: &mut TlsSession,
        kind: ContentType,
        content: &[u8],
    ) -> Result<Vec<u8>, Close>;

    /// Renews the write keys if they have protected enough records. Returns the bytes to send.
    fn refresh(&mut self, session: &mut TlsSession) -> Result<Vec<u8>, Close>;
}

/// The byte stream of a connection, for the HTTP/2 library.
pub(crate) struct Pipe<E> {
    end: E,
    stream: AsyncSocket,
    names: PipeTraces,
    inbound: Inbound,
    conversation: Conversation,
    fault: Fault,
    /// Why no more records can be decrypted. Reported once all earlier plaintext has been read.
    last: Option<Close>,
    /// Decrypted bytes; those from `read_to` on have not been read yet.
    opened: Wiped,
    read_to: usize,
    /// Bytes that wait to be encrypted.
    collected: Outgoing,
    /// Encrypted bytes; those from `sent_to` on have not been sent yet.
    sealed: Outgoing,
    sent_to: usize,
    /// Runs out when `sealed` has not been sent in time.
    patience: Option<Pin<Box<Sleep>>>,
    said_bye: bool,
    /// Whether the peer floods; nothing more is read then.
    flooded: bool,
}

impl<E: End> Pipe<E> {
    /// A pipe on `stream`, of which `inbound` has been received. The bytes are in TLS records if
    /// the conversation has keys.
    pub(crate) fn new(
        end: E,
        stream: AsyncSocket,
        names: PipeTraces,
        inbound: Inbound,
        conversation: Conversation,
        fault: Fault,
    ) -> Pipe<E> {
        Pipe {
            end,
            stream,
            names,
            inbound,
            conversation,
            fault,
            last: None,
            opened: Wiped::default(),
            read_to: 0,
            collected: Outgoing::default(),
            sealed: Outgoing::default(),
            sent_to: 0,
            patience: None,
            said_bye: false,
            flooded: false,
        }
    }

    fn is_protected(&self) -> bool {
        self.conversation.session.tls.is_some()
    }

    /// Decrypts all whole records, or takes all bytes that are not encrypted; returns whether there
    /// were any.
    fn open(&mut self) -> Result<bool, Close> {
        if self.is_protected() {
            let bytes = whole_records(self.inbound.bytes())?.bytes;
            return self.open_first(bytes);
        }
        // TCP refuses more bytes than a message may have. These are of any number of messages.
        let most = self.end.limits().max_message_bytes.max(1);
        let mut any = false;
        while self.open_first(self.inbound.bytes().len().min(most))? {
            any = true;
        }
        Ok(any)
    }

    /// Runs the receiving trace on the first `bytes`; returns whether there are any.
    fn open_first(&mut self, bytes: usize) -> Result<bool, Close> {
        if bytes == 0 {
            return Ok(false);
        }
        let message = Message::received(&self.inbound.bytes()[..bytes]);
        let receive = self.names.receive;
        match self.end.run(receive, &message, &mut self.conversation) {
            Ok(mut run) => {
                self.inbound.consume(bytes);
                if let Some(ledger) = self.end.ledger() {
                    let plain = run
                        .outcome
                        .arrivals
                        .iter()
                        .map(|arrival| arrival.job.bytes.len());
                    ledger.borrow_mut().add_received(&run, bytes, plain.sum());
                }
                for arrival in run.outcome.arrivals.drain(..) {
                    self.keep(arrival.job.bytes);
                }
            }
            Err(why) if !self.is_protected() => return Err(Close::Failed(why)),
            // The failed run has left the keys as they were, so the core can handle what stopped
            // Decr, such as a key update.
            Err(_) => self.open_by_core(bytes)?,
        }
        Ok(true)
    }

    fn open_by_core(&mut self, bytes: usize) -> Result<(), Close> {
        let end = self.inbound.bytes().len() - bytes;
        while self.inbound.bytes().len() > end {
            let Some(session) = &mut self.conversation.session.tls else {
                return Ok(());
            };
            let mut content = Wiped::new(Vec::with_capacity(records::MAX_PLAINTEXT + 256));
            let found = self.inbound.bytes();
            let (kind, record) = records::open_first(&mut session.read, found, &mut content)?;
            self.inbound.consume(record);
            if kind == ContentType::ApplicationData {
                self.keep(std::mem::take(&mut content));
                continue;
            }
            let reply = self.end.handle_control(session, kind, &content)?;
            self.sealed.push(&reply);
        }
        Ok(())
    }

    fn keep(&mut self, plain: Vec<u8>) {
        let plain = Wiped::new(plain);
        self.flooded |= self.end.see(&plain);
        if self.read_to == self.opened.len() {
            self.opened = plain;
        } else {
            let rest = &self.opened[self.read_to..];
            let mut joined = Vec::with_capacity(rest.len() + plain.len());
            joined.extend_from_slice(rest);
            joined.extend_from_slice(&plain);
            self.opened = Wiped::new(joined);
        }
        self.read_to = 0;
    }

    /// Encrypts the collected bytes.
    fn seal(&mut self) -> Result<(), Close> {
        let Some(trace) = self.names.send else {
            if let Some(ledger) = self.end.ledger() {
                let bytes = self.collected.bytes().len();
                ledger.borrow_mut().add_sent_plain(bytes);
            }
            std::mem::swap(&mut self.sealed, &mut self.collected);
            return Ok(());
        };
        let message = Message {
            format: Format::Str,
            ..Message::received(self.collected.bytes())
        };
        let done = self.end.run(trace, &message, &mut self.conversation);
        let mut run = done.map_err(Close::Failed)?;
        if let Some(ledger) = self.end.ledger() {
            let sealed = run.outcome.sent.iter().map(|sent| sent.bytes.len()).sum();
            let plain = self.collected.bytes().len();
            ledger.borrow_mut().add_sent(&run, plain, sealed);
        }
        self.collected.clear();
        for sent in run.outcome.sent.drain(..) {
            self.sealed.take(sent.bytes);
        }
        if let Some(session) = &mut self.conversation.session.tls {
            let update = self.end.refresh(session)?;
            self.sealed.push(&update);
        }
        Ok(())
    }

    /// Encrypts and sends everything.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            while self.sent_to < self.sealed.bytes().len() {
                let rest = &self.sealed.bytes()[self.sent_to..];
                let begun = self.end.ledger().map(|_| thread_time());
                let written = self.stream.poll_write(cx, rest);
                if let (Some(ledger), Some(begun)) = (self.end.ledger(), begun) {
                    let spent = thread_time().saturating_sub(begun);
                    ledger.borrow_mut().add_send_call(spent);
                }
                match written {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(written)) => {
                        self.sent_to += written;
                        self.end.sent(written);
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => return self.poll_patience(cx),
                }
            }
            self.patience = None;
            self.sealed.clear();
            self.sent_to = 0;
            if self.collected.bytes().is_empty() {
                self.end.drained();
                return Poll::Ready(Ok(()));
            }
            self.seal().map_err(|close| self.fail(close))?;
        }
    }

    /// Keeps the reason of a failure, since the library passes on only an error's kind and text.
    fn fail(&self, close: Close) -> io::Error {
        let error = io::Error::other(close.to_string());
        self.fault.borrow_mut().get_or_insert(close);
        error
    }

    fn push_farewell(&mut self, close: &Close) {
        let limits = *self.end.limits();
        let session = self.conversation.session.tls.as_mut();
        let bye = session.and_then(|session| alerts::farewell(session, close, &limits));
        if let Some(bye) = bye {
            self.sealed.push(&bye);
        }
    }

    /// Sends the alert for a TLS error, as far as the socket takes it at once: the library does not
    /// write again after an error.
    fn send_alert(&mut self, cx: &mut Context<'_>, close: &Close) {
        if self.said_bye || !alerts::is_fatal(close) {
            return;
        }
        self.said_bye = true;
        if let Poll::Ready(Ok(())) = self.poll_drain(cx) {
            self.push_farewell(close);
            let _ = self.poll_drain(cx);
        }
    }

    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let allowed = self.end.patience();
        let patience = self
            .patience
            .get_or_insert_with(|| Box::pin(sleep(allowed)));
        ready!(patience.as_mut().poll(cx));
        Poll::Ready(Err(self.fail(Close::Slow("reply"))))
    }
}

impl<E: End + Unpin> AsyncRead for Pipe<E> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let pipe = &mut *self;
        if pipe.flooded {
            // The library would go on reading. This wakes the task that ends flooding connections.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            let rest = &pipe.opened[pipe.read_to..];
            if !rest.is_empty() {
                let count = rest.len().min(buffer.remaining());
                buffer.put_slice(&rest[..count]);
                pipe.read_to += count;
                if pipe.read_to == pipe.opened.len() {
                    // Dropping it wipes it.
                    pipe.opened = Wiped::default();
                    pipe.read_to = 0;
                }
                return Poll::Ready(Ok(()));
            }
            if let Some(close) = pipe.last.take() {
                pipe.send_alert(cx, &close);
                return Poll::Ready(Err(pipe.fail(close)));
            }
            match pipe.open() {
                Ok(false) => {}
                Ok(true) => continue,
                // Earlier plaintext, such as the last response before an alert, still counts.
                Err(close) => {
                    pipe.last = Some(close);
                    continue;
                }
            }
            let mut source = Polled {
                stream: &pipe.stream,
                cx,
            };
            let begun = pipe.end.ledger().map(|_| thread_time());
            let filled = fill(&mut pipe.inbound, &mut source);
            if let (Some(ledger), Some(begun)) = (pipe.end.ledger(), begun) {
                let spent = thread_time().saturating_sub(begun);
                ledger.borrow_mut().add_recv_call(spent);
            }
            match filled {
                Ok(0) if pipe.inbound.is_empty() => return Poll::Ready(Ok(())),
                Ok(0) => return Poll::Ready(Err(pipe.fail(Close::Cut))),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl<E: End + Unpin> AsyncWrite for Pipe<E> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.collected.bytes().len() >= COLLECTED {
            ready!(self.poll_drain(cx))?;
        }
        let count = bytes.len().min(COLLECTED - self.collected.bytes().len());
        self.collected.push(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_drain(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        if !self.said_bye {
            self.said_bye = true;
            let pipe = &mut *self;
            pipe.push_farewell(&Close::Done);
            ready!(self.poll_drain(cx))?;
        }
        Poll::Ready(self.stream.shut_down())
    }
}

/// Reads all available bytes, up to the buffer's size, to minimize runs of traces. Returns the
/// number of bytes, 0 at the end of the stream.
fn fill(inbound: &mut Inbound, source: &mut impl Read) -> io::Result<usize> {
    let mut read = inbound.fill(source)?;
    while read > 0 && inbound.may_go_on() {
        match inbound.fill(source) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// A socket that is read as if it did not block.
struct Polled<'p, 'c> {
    stream: &'p AsyncSocket,
    cx: &'p mut Context<'c>,
}

impl Read for Polled<'_, '_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.stream.poll_read(self.cx, bytes) {
            Poll::Ready(read) => read,
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}
