//! The socket of a connection, which other threads may look at and shut down.
//!
//! A socket of an asynchronous runtime owns its file descriptor. A connection with asynchronous
//! tasks should not need a second descriptor. So the connection's blocking socket becomes the
//! runtime's socket, and all other users of the connection then share that socket.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::Interest;

/// A socket of a connection.
#[derive(Debug)]
pub(crate) struct SharedSocket(Mutex<Option<Held>>);

/// A reference to a socket, which keeps it open.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    /// A socket whose calls block.
    Blocking(Arc<TcpStream>),
    /// A socket that a runtime watches.
    Watched(Arc<tokio::net::TcpStream>),
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Held::Blocking(stream) => stream.as_fd(),
            Held::Watched(stream) => stream.as_fd(),
        }
    }
}

impl SharedSocket {
    pub(crate) fn new(stream: TcpStream) -> SharedSocket {
        SharedSocket(Mutex::new(Some(Held::Blocking(Arc::new(stream)))))
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The socket as it is now; `None` if no runtime could watch it.
    pub(crate) fn now(&self) -> Option<Held> {
        self.held().clone()
    }

    /// The socket before a runtime watches it.
    pub(crate) fn blocking(&self) -> io::Result<Arc<TcpStream>> {
        match &*self.held() {
            Some(Held::Blocking(stream)) => Ok(stream.clone()),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Shuts the socket down, whoever waits for it.
    pub(crate) fn shut_down(&self, how: Shutdown) {
        if let Some(held) = &*self.held() {
            // Fails if the peer is gone, which is as good.
            let _ = SockRef::from(held).shutdown(how);
        }
    }

    /// Makes the socket one that the current runtime watches. If somebody else has the blocking
    /// socket at this moment, the connection has a second descriptor from then on.
    pub(crate) fn watch(&self) -> io::Result<AsyncSocket> {
        let mut held = self.held();
        let Some(Held::Blocking(stream)) = held.take() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let stream = match Arc::try_unwrap(stream) {
            Ok(stream) => stream,
            Err(shared) => shared.try_clone()?,
        };
        let socket = AsyncSocket::new(stream)?;
        *held = Some(Held::Watched(socket.0.clone()));
        Ok(socket)
    }
}

/// A socket for tasks.
#[derive(Debug)]
pub(crate) struct AsyncSocket(Arc<tokio::net::TcpStream>);

impl AsyncSocket {
    /// Makes `stream` one that the current runtime watches.
    pub(crate) fn new(stream: TcpStream) -> io::Result<AsyncSocket> {
        stream.set_nonblocking(true)?;
        let stream = tokio::net::TcpStream::from_std(stream)?;
        Ok(AsyncSocket(Arc::new(stream)))
    }

    /// Reads once; returns the number of bytes, 0 at the end of the stream.
    pub(crate) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let socket = SockRef::from(&*self.0);
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            let done = self.once(Interest::READABLE, into.len(), || (&*socket).read(into));
            if let Some(done) = done {
                return Poll::Ready(done);
            }
        }
    }

    /// Writes once; returns the number of bytes.
    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let socket = SockRef::from(&*self.0);
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            let done = self.once(Interest::WRITABLE, bytes.len(), || (&*socket).write(bytes));
            if let Some(done) = done {
                return Poll::Ready(done);
            }
        }
    }

    /// Calls `work` on up to `most` bytes; `None` if it would block. If only a part of the bytes
    /// was read or written, the socket is not ready any more: the next call waits for the system,
    /// where it would only find that out. The runtime's own sockets do the same.
    fn once(
        &self,
        interest: Interest,
        most: usize,
        work: impl FnOnce() -> io::Result<usize>,
    ) -> Option<io::Result<usize>> {
        let mut part = None;
        let done = self.0.try_io(interest, || {
            let bytes = work()?;
            match (1..most).contains(&bytes) {
                false => Ok(bytes),
                true => {
                    part = Some(bytes);
                    Err(io::ErrorKind::WouldBlock.into())
                }
            }
        });
        match (part, done) {
            (Some(bytes), _) => Some(Ok(bytes)),
            (None, Err(error)) if error.kind() == io::ErrorKind::WouldBlock => None,
            (None, done) => Some(done),
        }
    }

    /// Ends the stream of sent data.
    pub(crate) fn shut_down(&self) -> io::Result<()> {
        SockRef::from(&*self.0).shutdown(Shutdown::Write)
    }
}
