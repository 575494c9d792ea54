//! Opening a client's connection: the socket, and the TLS handshake.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use accelflow_runtime::Conversation;
use rustix::event::PollFlags;
use socket2::{Domain, Protocol, Socket, Type};

use super::cancel::Cancel;
use super::config::Address;
use super::error::CallError;
use super::names::Names;
use super::refused_certificate;
use super::trust::{self, ClientControl, TlsTrust};
use super::wire::wait;
use crate::transport::close::Close;
use crate::transport::inbound::Inbound;

/// A connection that is ready for messages. Its socket does not block.
pub(super) struct Dialled {
    pub(super) stream: Arc<TcpStream>,
    /// The bytes received after the handshake.
    pub(super) inbound: Inbound,
    /// The record keys, if the connection has TLS.
    pub(super) conversation: Conversation,
    /// The control path of TLS; `None` without TLS.
    pub(super) control: Option<ClientControl>,
}

/// An error of opening a connection.
pub(super) enum NotDialled {
    Io(io::Error),
    Tls(String),
}

impl From<io::Error> for NotDialled {
    fn from(error: io::Error) -> NotDialled {
        NotDialled::Io(error)
    }
}

impl NotDialled {
    /// The error of a call to the service at `address`.
    pub(super) fn of(self, address: &str) -> CallError {
        let address = address.to_owned();
        match self {
            NotDialled::Io(error) => CallError::Connect { address, error },
            NotDialled::Tls(why) => CallError::Tls { address, why },
        }
    }
}

/// Connects to the service, with a TLS handshake if `trust` is given.
pub(super) fn dial(
    address: &Address,
    names: &Names,
    trust: Option<&TlsTrust>,
    until: Instant,
    cancel: Option<&Cancel>,
) -> Result<Dialled, NotDialled> {
    let mut dialled = Dialled {
        stream: Arc::new(connect(address, names, until, cancel)?),
        inbound: Inbound::new(),
        conversation: Conversation::default(),
        control: None,
    };
    let Some(trust) = trust else {
        return Ok(dialled);
    };
    let stream = &dialled.stream;
    let _watch = cancel.map(|cancel| cancel.watch(stream.clone()));
    stream.set_nonblocking(false)?;
    let left = until.saturating_duration_since(Instant::now());
    let left = Some(left.max(Duration::from_millis(1)));
    stream.set_write_timeout(left)?;
    let shaken = trust::connect(trust, stream, &mut dialled.inbound, until);
    let (session, control) = shaken.map_err(|close| match close {
        Close::Handshake(error) => NotDialled::Tls(refused_certificate::describe(&error)),
        Close::Slow(_) => NotDialled::Io(io::ErrorKind::TimedOut.into()),
        Close::Io(error) => NotDialled::Io(error),
        other => NotDialled::Io(io::Error::other(format!("TLS handshake: {other}"))),
    })?;
    stream.set_nonblocking(true)?;
    dialled.conversation.session.tls = Some(session);
    dialled.control = Some(control);
    Ok(dialled)
}

/// Connects a non-blocking socket to the first address that answers.
fn connect(
    address: &Address,
    names: &Names,
    until: Instant,
    cancel: Option<&Cancel>,
) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no IP address");
    for address in names.addresses(address, until, cancel)? {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        let begun = socket.connect(&address.into());
        let stream = TcpStream::from(socket);
        match begun.or_else(|error| finish(error, &stream, until, cancel)) {
            Ok(()) => return Ok(stream),
            Err(error) => last = error,
        }
        if Instant::now() >= until || cancel.is_some_and(Cancel::is_cancelled) {
            break;
        }
    }
    Err(last)
}

/// The longest time for which a connection attempt continues after its cancellation.
const CONNECT_SLICE: Duration = Duration::from_millis(25);

/// Waits until a connection attempt has succeeded.
fn finish(
    error: io::Error,
    stream: &TcpStream,
    until: Instant,
    cancel: Option<&Cancel>,
) -> io::Result<()> {
    if error.raw_os_error() != Some(rustix::io::Errno::INPROGRESS.raw_os_error()) {
        return Err(error);
    }
    loop {
        let slice = match cancel {
            Some(_) => until.min(Instant::now() + CONNECT_SLICE),
            None => until,
        };
        if wait(stream, PollFlags::OUT, slice)? {
            return match stream.take_error()? {
                None => Ok(()),
                Some(error) => Err(error),
            };
        }
        if cancel.is_some_and(Cancel::is_cancelled) || Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}
