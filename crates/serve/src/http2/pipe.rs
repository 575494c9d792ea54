//! The bytes of an HTTP/2 connection: in by TCP and Decr, out by Encr and TCP.
//!
//! Frames of many requests share records, and SETTINGS or WINDOW_UPDATE stand between them, so no
//! record belongs to one message. The traces that know records therefore end where the frames
//! begin, and those that know messages start there.

use std::cell::RefCell;
use std::io::{self, Read};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use accelflow_accel::tls::{self as records, ContentType};
use accelflow_runtime::{Conversation, Message};
use accelflow_trace::Format;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};
use zeroize::{Zeroize, Zeroizing};

use super::frames::Frames;
use crate::error::Close;
use crate::grpc::traces::PipeTraces;
use crate::inbound::{Inbound, whole_records};
use crate::server::Shared;
use crate::tls::{self, Control};

/// How much is collected before it is protected and sent: four records.
const COLLECTED: usize = 64 * 1024;

/// Why a pipe has failed, once it has.
pub(crate) type Fault = Rc<RefCell<Option<Close>>>;

/// A connection as the HTTP/2 library sees it.
pub(crate) struct Pipe {
    shared: Arc<Shared>,
    stream: TcpStream,
    names: PipeTraces,
    inbound: Inbound,
    conversation: Conversation,
    control: Option<Control>,
    frames: Rc<RefCell<Frames>>,
    fault: Fault,
    /// What was opened and not yet read, from `read_to` on.
    opened: Zeroizing<Vec<u8>>,
    read_to: usize,
    /// What is to be protected.
    collected: Zeroizing<Vec<u8>>,
    /// What is to be sent, from `sent_to` on.
    sealed: Vec<u8>,
    sent_to: usize,
    /// Runs out when `sealed` has not been sent in time.
    patience: Option<Pin<Box<Sleep>>>,
    said_bye: bool,
}

impl Pipe {
    pub(crate) fn new(
        shared: Arc<Shared>,
        stream: TcpStream,
        inbound: Inbound,
        conversation: Conversation,
        control: Option<Control>,
        frames: Rc<RefCell<Frames>>,
        fault: Fault,
    ) -> Pipe {
        Pipe {
            shared,
            stream,
            names: PipeTraces::of(control.is_some()),
            inbound,
            conversation,
            control,
            frames,
            fault,
            opened: Zeroizing::default(),
            read_to: 0,
            collected: Zeroizing::default(),
            sealed: Vec::new(),
            sent_to: 0,
            patience: None,
            said_bye: false,
        }
    }

    /// Opens what has come up to the end of the last whole record; whether there was anything.
    fn open(&mut self) -> Result<bool, Close> {
        let bytes = match self.control {
            None => self.inbound.bytes().len(),
            Some(_) => whole_records(self.inbound.bytes())?.bytes,
        };
        if bytes == 0 {
            return Ok(false);
        }
        let message = Message::received(&self.inbound.bytes()[..bytes]);
        let executors = &self.shared.executors;
        let done = executors.run(self.names.receive, &message, &mut self.conversation);
        match done {
            Ok(mut ran) => {
                self.inbound.consume(bytes);
                for arrival in ran.outcome.arrivals.drain(..) {
                    self.keep(arrival.job.bytes);
                }
            }
            Err(error) if self.control.is_none() => return Err(Close::Failed(error.to_string())),
            // The run has left the keys as they were: the core sees what stopped Decr, such as a
            // key update.
            Err(_) => self.open_by_core(bytes)?,
        }
        Ok(true)
    }

    fn open_by_core(&mut self, bytes: usize) -> Result<(), Close> {
        let end = self.inbound.bytes().len() - bytes;
        while self.inbound.bytes().len() > end {
            let (Some(session), Some(control)) =
                (&mut self.conversation.session.tls, &mut self.control)
            else {
                return Ok(());
            };
            let mut content = Zeroizing::new(Vec::with_capacity(records::MAX_PLAINTEXT + 256));
            let found = self.inbound.bytes();
            let (kind, record) = records::open_first(&mut session.read, found, &mut content)?;
            self.inbound.consume(record);
            if kind == ContentType::ApplicationData {
                self.keep(std::mem::take(&mut content));
                continue;
            }
            let limits = &self.shared.settings.limits;
            let reply = control.obey(session, kind, &content, limits)?;
            self.sealed.extend_from_slice(&reply);
        }
        Ok(())
    }

    fn keep(&mut self, plain: Vec<u8>) {
        let plain = Zeroizing::new(plain);
        self.frames.borrow_mut().see(&plain, Instant::now());
        if self.read_to == self.opened.len() {
            self.opened = plain;
        } else {
            let rest = &self.opened[self.read_to..];
            let mut joined = Vec::with_capacity(rest.len() + plain.len());
            joined.extend_from_slice(rest);
            joined.extend_from_slice(&plain);
            self.opened = Zeroizing::new(joined);
        }
        self.read_to = 0;
    }

    /// Protects what was collected.
    fn seal(&mut self) -> Result<(), Close> {
        let mut plain = std::mem::take(&mut self.collected);
        let Some(trace) = self.names.send else {
            self.sealed = std::mem::take(&mut plain);
            return Ok(());
        };
        let message = Message {
            format: Format::Str,
            ..Message::received(&plain)
        };
        let executors = &self.shared.executors;
        let done = executors.run(trace, &message, &mut self.conversation);
        let mut ran = done.map_err(|error| Close::Failed(error.to_string()))?;
        for mut sent in ran.outcome.sent.drain(..) {
            self.sealed.extend_from_slice(&sent.bytes);
            sent.bytes.zeroize();
        }
        let limits = &self.shared.settings.limits;
        if let (Some(session), Some(control)) =
            (&mut self.conversation.session.tls, &mut self.control)
        {
            let update = control.refresh(session, limits)?;
            self.sealed.extend_from_slice(&update);
        }
        Ok(())
    }

    /// Sends all there is.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            while self.sent_to < self.sealed.len() {
                let rest = &self.sealed[self.sent_to..];
                match Pin::new(&mut self.stream).poll_write(cx, rest) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(written)) => self.sent_to += written,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => return self.poll_patience(cx),
                }
            }
            self.patience = None;
            self.sealed.zeroize();
            self.sent_to = 0;
            if self.collected.is_empty() {
                return Poll::Ready(Ok(()));
            }
            self.seal().map_err(|close| self.fail(close))?;
        }
    }

    /// The library keeps no more of an error than its kind and its text.
    fn fail(&self, close: Close) -> io::Error {
        let error = io::Error::other(close.to_string());
        self.fault.borrow_mut().get_or_insert(close);
        error
    }

    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let allowed = self.shared.config.write_timeout;
        let patience = self
            .patience
            .get_or_insert_with(|| Box::pin(sleep(allowed)));
        ready!(patience.as_mut().poll(cx));
        Poll::Ready(Err(self.fail(Close::Slow("reply"))))
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let pipe = &mut *self;
        loop {
            let rest = &mut pipe.opened[pipe.read_to..];
            if !rest.is_empty() {
                let count = rest.len().min(buffer.remaining());
                buffer.put_slice(&rest[..count]);
                rest[..count].zeroize();
                pipe.read_to += count;
                return Poll::Ready(Ok(()));
            }
            if pipe.open().map_err(|close| pipe.fail(close))? {
                continue;
            }
            let mut source = Polled {
                stream: &mut pipe.stream,
                cx,
            };
            match pipe.inbound.fill(&mut source) {
                Ok(0) if pipe.inbound.is_empty() => return Poll::Ready(Ok(())),
                Ok(0) => return Poll::Ready(Err(pipe.fail(Close::Cut))),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.collected.len() >= COLLECTED {
            ready!(self.poll_drain(cx))?;
        }
        let count = bytes.len().min(COLLECTED - self.collected.len());
        if self.collected.capacity() == 0 {
            // It never grows in place, which could leave a copy behind.
            self.collected.reserve_exact(COLLECTED);
        }
        self.collected.extend_from_slice(&bytes[..count]);
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
            let limits = &pipe.shared.settings.limits;
            let session = pipe.conversation.session.tls.as_mut();
            if let Some(bye) = session.and_then(|session| tls::close_notify(session, limits)) {
                pipe.sealed.extend_from_slice(&bye);
            }
            ready!(self.poll_drain(cx))?;
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A socket that is read as if it did not block.
struct Polled<'p, 'c> {
    stream: &'p mut TcpStream,
    cx: &'p mut Context<'c>,
}

impl Read for Polled<'_, '_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut buffer = ReadBuf::new(bytes);
        match Pin::new(&mut *self.stream).poll_read(self.cx, &mut buffer) {
            Poll::Ready(Ok(())) => Ok(buffer.filled().len()),
            Poll::Ready(Err(error)) => Err(error),
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}
