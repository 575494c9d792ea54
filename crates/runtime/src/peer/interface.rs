//! The trait `Peer`: the caches, databases and services to which a run of traces sends requests.

use std::sync::{Arc, Mutex, PoisonError};

use accelflow_accel::{Call, Session};

use super::error::PeerError;
use super::parties::Party;
use super::reply::Reply;

/// The other ends of the connections over which traces send messages, such as a cache, a database
/// and other services. A peer lends connections to runs of traces, and supplies the responses.
///
/// [`Peer::lend`] returns a [`Session`], the service's end of a connection. The run encrypts its
/// message with the session, gives the packets to [`Peer::exchange`], and returns the session with
/// [`Peer::take_back`]. Each of the three methods gets `call`, the kind and header of the message.
/// All three must select the same connection for the same `call`.
pub trait Peer {
    /// Lends the service's end of the connection over which messages of kind `call` are sent.
    ///
    /// # Errors
    /// [`PeerError`] if there is no such connection, or it is in use.
    fn lend(&mut self, call: &Call) -> Result<Session, PeerError>;

    /// Takes back the connection that was lent for messages of kind `call`. `session` is `None` if
    /// an error has made the connection unusable.
    fn take_back(&mut self, call: &Call, session: Option<Session>);

    /// Sends the packets of a message of kind `call`, waits, and returns the packets of the
    /// response.
    ///
    /// # Errors
    /// [`PeerError`] if no response arrives.
    fn exchange(&mut self, call: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError>;

    /// Whether [`Peer::exchange`] waits for another party and so blocks its thread. In a
    /// [`PooledExecutor`](crate::PooledExecutor), if true, the thread that waits for the run calls
    /// the peer; if false, threads of the ensemble do. Default true.
    fn waits(&self) -> bool {
        true
    }

    /// Sends the packets of a message of kind `call`, and passes the packets of the response to
    /// `reply` later. The trace waits without blocking a thread. The default implementation calls
    /// [`Peer::exchange`], which blocks the output dispatcher of TCP. Peers whose `exchange` waits
    /// for another party should override this method and return at once.
    fn begin_exchange(&mut self, call: &Call, packets: &[u8], reply: Reply) {
        reply.give(self.exchange(call, packets));
    }
}

impl<P: Peer + ?Sized> Peer for &mut P {
    fn lend(&mut self, call: &Call) -> Result<Session, PeerError> {
        (**self).lend(call)
    }

    fn take_back(&mut self, call: &Call, session: Option<Session>) {
        (**self).take_back(call, session);
    }

    fn exchange(&mut self, call: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError> {
        (**self).exchange(call, packets)
    }

    fn waits(&self) -> bool {
        (**self).waits()
    }

    fn begin_exchange(&mut self, call: &Call, packets: &[u8], reply: Reply) {
        (**self).begin_exchange(call, packets, reply);
    }
}

impl<P: Peer + ?Sized> Peer for Box<P> {
    fn lend(&mut self, call: &Call) -> Result<Session, PeerError> {
        (**self).lend(call)
    }

    fn take_back(&mut self, call: &Call, session: Option<Session>) {
        (**self).take_back(call, session);
    }

    fn exchange(&mut self, call: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError> {
        (**self).exchange(call, packets)
    }

    fn waits(&self) -> bool {
        (**self).waits()
    }

    fn begin_exchange(&mut self, call: &Call, packets: &[u8], reply: Reply) {
        (**self).begin_exchange(call, packets, reply);
    }
}

/// A shared peer, which its owner keeps while runs use it.
impl<P: Peer> Peer for Arc<Mutex<P>> {
    fn lend(&mut self, call: &Call) -> Result<Session, PeerError> {
        let mut peer = self.lock().unwrap_or_else(PoisonError::into_inner);
        peer.lend(call)
    }

    fn take_back(&mut self, call: &Call, session: Option<Session>) {
        let mut peer = self.lock().unwrap_or_else(PoisonError::into_inner);
        peer.take_back(call, session);
    }

    fn exchange(&mut self, call: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError> {
        let mut peer = self.lock().unwrap_or_else(PoisonError::into_inner);
        peer.exchange(call, packets)
    }

    fn waits(&self) -> bool {
        let peer = self.lock().unwrap_or_else(PoisonError::into_inner);
        peer.waits()
    }

    fn begin_exchange(&mut self, call: &Call, packets: &[u8], reply: Reply) {
        let mut peer = self.lock().unwrap_or_else(PoisonError::into_inner);
        peer.begin_exchange(call, packets, reply);
    }
}

/// A peer without connections, for traces that send no requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPeer;

impl Peer for NoPeer {
    fn lend(&mut self, call: &Call) -> Result<Session, PeerError> {
        Err(PeerError::NoPeer(format!(
            "{}: this run has no peer for such messages",
            Party::of(call)
        )))
    }

    fn take_back(&mut self, _: &Call, _: Option<Session>) {}

    fn exchange(&mut self, call: &Call, _: &[u8]) -> Result<Vec<u8>, PeerError> {
        Err(PeerError::NoPeer(format!(
            "{}: this run has no peer for such messages",
            Party::of(call)
        )))
    }
}
