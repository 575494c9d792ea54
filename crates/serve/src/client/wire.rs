//! The socket of a client's connection, which sends and receives whole messages until a deadline.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use accelflow_accel::http::response_length;
use accelflow_accel::{AccelError, Call, Limits, Session, tls};
use accelflow_runtime::trail::Exchanges;
use accelflow_runtime::{Peer, PeerError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::cancel::{check, next_check};
use super::refused_certificate;
use crate::transport::close::{Close, alert};
use crate::transport::inbound::{Inbound, frame_length, whole_records};
use crate::transport::socket::is_timeout;

/// How the messages of a protocol are delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// By frames with a length.
    Thrift,
    /// By the head of an HTTP response.
    Http {
        /// Whether the response is to a HEAD request.
        to_head: bool,
    },
}

impl Framing {
    /// Returns the length of the message at the beginning of `text`, or `None` if it is not known
    /// yet. It may be larger than `text`. `ended` is true if the stream has ended.
    fn length(
        self,
        text: &[u8],
        ended: bool,
        limits: &Limits,
    ) -> Result<Option<usize>, AccelError> {
        match self {
            Framing::Thrift => frame_length(text, limits),
            Framing::Http { to_head } => response_length(text, to_head, ended, limits),
        }
    }
}

/// An error of a socket.
#[derive(Debug)]
pub(super) enum WireError {
    /// Nothing was written.
    NotSent(io::Error),
    /// The connection is gone.
    Lost(String),
    /// The deadline passed.
    Late(&'static str),
    /// The received bytes are not a message.
    Malformed(AccelError),
    /// An error of the TLS layer.
    Tls(String),
}

impl From<Close> for WireError {
    fn from(close: Close) -> WireError {
        match close {
            Close::Slow(during) => WireError::Late(during),
            Close::Malformed(error) => WireError::Malformed(error),
            Close::Handshake(error) => WireError::Tls(refused_certificate::describe(&error)),
            Close::Alert(description) => WireError::Tls(alert(description)),
            Close::Io(error) => WireError::Lost(error.to_string()),
            Close::Done | Close::Cut => WireError::Lost(CLOSED.to_owned()),
            Close::KeyUpdates => WireError::Tls(close.to_string()),
            Close::Idle
            | Close::Evicted { .. }
            | Close::Silent
            | Close::Drained
            | Close::Failed(_)
            | Close::Stopped
            | Close::TooManyOfTenant
            | Close::Http2(_)
            | Close::Flood => WireError::Lost(close.to_string()),
        }
    }
}

impl From<AccelError> for WireError {
    fn from(error: AccelError) -> WireError {
        WireError::Malformed(error)
    }
}

pub(super) const CLOSED: &str = "closed by the service";
pub(super) const SENDING: &str = "sending";
pub(super) const RECEIVING: &str = "waiting for the response";

/// The socket of a connection, through which traces send and receive.
pub(super) struct Wire {
    /// The non-blocking socket. Every wait has a deadline.
    pub(super) stream: Arc<TcpStream>,
    pub(super) inbound: Inbound,
    pub(super) limits: Limits,
    /// Whether messages are in TLS records.
    pub(super) secure: bool,
    pub(super) framing: Framing,
    pub(super) deadline: Instant,
    /// Bytes written since the call began.
    pub(super) written: usize,
    /// Whether the call's trace has received a response.
    pub(super) received: bool,
    /// Whether the stream has ended.
    pub(super) ended: bool,
    /// Whether the service has announced the end of the stream in a TLS record, which cannot be
    /// forged.
    pub(super) goodbye: bool,
    /// The reason why a trace got no response.
    pub(super) error: Option<WireError>,
    /// The costs of system calls for requests and responses, if they are measured.
    pub(super) exchanges: Exchanges,
}

impl Wire {
    pub(super) fn begin(&mut self, framing: Framing, deadline: Instant) {
        self.framing = framing;
        self.deadline = deadline;
        self.written = 0;
        self.received = false;
        self.error = None;
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match (&*self.stream).write(rest) {
                Ok(0) => return Err(self.unsent(io::ErrorKind::WriteZero.into())),
                Ok(written) => {
                    self.written += written;
                    rest = &rest[written..];
                }
                Err(error) if is_timeout(&error) => self.wait(PollFlags::OUT, SENDING)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.unsent(error)),
            }
        }
        Ok(())
    }

    fn unsent(&self, error: io::Error) -> WireError {
        match self.written {
            0 => WireError::NotSent(error),
            _ => WireError::Lost(error.to_string()),
        }
    }

    /// Receives a response. Its bytes also stay in `inbound` until they are known to be valid. With
    /// TLS these are the records that probably form a response.
    pub(super) fn receive(&mut self) -> Result<Vec<u8>, WireError> {
        loop {
            if let Some(length) = self.arrived()? {
                self.received = true;
                return Ok(self.inbound.bytes()[..length].to_vec());
            }
            self.fill()?;
        }
    }

    fn arrived(&mut self) -> Result<Option<usize>, WireError> {
        let have = self.inbound.bytes().len();
        if !self.secure {
            let length = self.message_length(self.inbound.bytes())?;
            // Bytes beyond the message are unsolicited: the message's reader refuses them.
            return Ok(length.filter(|length| *length <= have).map(|_| have));
        }
        let limit = self.limits.max_message_bytes;
        let limit = limit + limit / 64 + 1024 + tls::MAX_PLAINTEXT;
        if have > limit {
            let what = "bytes of the response";
            return Err(AccelError::TooLarge {
                what,
                size: have,
                limit,
            }
            .into());
        }
        let records = whole_records(self.inbound.bytes())?;
        if records.bytes == 0 || records.bytes < have {
            return Ok(None);
        }
        // After a full record there is probably more.
        if records.last_is_full && !self.ended && self.try_fill()? {
            return self.arrived();
        }
        Ok(Some(records.bytes))
    }

    /// Returns the length of the message in `text`. `text` may be shorter.
    pub(super) fn message_length(&self, text: &[u8]) -> Result<Option<usize>, AccelError> {
        let ended = self.ended && (self.goodbye || !self.secure);
        self.framing.length(text, ended, &self.limits)
    }

    /// Waits for more bytes. Fails if the stream has already ended.
    pub(super) fn fill(&mut self) -> Result<(), WireError> {
        if self.ended {
            return Err(WireError::Lost(CLOSED.to_owned()));
        }
        loop {
            self.wait(PollFlags::IN, RECEIVING)?;
            if self.try_fill()? || self.ended {
                return Ok(());
            }
        }
    }

    /// Reads without waiting. Returns whether there was any data.
    pub(super) fn try_fill(&mut self) -> Result<bool, WireError> {
        loop {
            match self.inbound.fill(&mut &*self.stream) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(false);
                }
                Ok(_) => return Ok(true),
                Err(error) if is_timeout(&error) => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(WireError::Lost(error.to_string())),
            }
        }
    }

    fn wait(&self, flags: PollFlags, during: &'static str) -> Result<(), WireError> {
        match wait(&self.stream, flags, self.deadline) {
            Ok(true) => Ok(()),
            Ok(false) => Err(WireError::Late(during)),
            Err(error) => Err(WireError::Lost(error.to_string())),
        }
    }
}

/// Waits until a socket is ready or has failed. Returns false after `deadline`.
pub(super) fn wait(stream: &TcpStream, flags: PollFlags, deadline: Instant) -> io::Result<bool> {
    loop {
        let slice = next_check(deadline);
        let left = slice.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(stream, flags)], Some(&timeout)) {
            Ok(0) if left > Duration::ZERO || slice < deadline => check(),
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => check(),
            Err(error) => return Err(error.into()),
        }
    }
}

impl Peer for Wire {
    fn lend(&mut self, _: &Call) -> Result<Session, PeerError> {
        Ok(Session::default())
    }

    fn take_back(&mut self, _: &Call, _: Option<Session>) {}

    fn exchange(&mut self, _: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError> {
        let mut exchanges = std::mem::take(&mut self.exchanges);
        let answered = exchanges.measure(self, |wire| wire.write(packets), Wire::receive);
        self.exchanges = exchanges;
        answered.map_err(|error| {
            let party = "the service".to_owned();
            let of_peer = match &error {
                WireError::Late(_) => PeerError::Timeout(party),
                WireError::Malformed(error) => PeerError::Refused {
                    party,
                    error: error.clone(),
                },
                _ => PeerError::NoPeer(party),
            };
            self.error = Some(error);
            of_peer
        })
    }
}
