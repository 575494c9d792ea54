//! The interface of peers to executions.

use std::sync::{Arc, Mutex, PoisonError};

use accelflow_accel::{Call, Session};

use super::error::PeerError;
use super::parties::Party;
use super::reply::Reply;

/// Supplies connections and the packets that come back over them.
///
/// Contract: [`Peer::lend`] gives this end's session of a connection over which messages of that
/// kind travel; one execution uses it until [`Peer::take_back`]. A call names the same connection
/// before and after the message is sent.
pub trait Peer {
    /// Lends this end of a connection for a message of kind `call`.
    ///
    /// # Errors
    /// [`PeerError`] if there is no such connection.
    fn lend(&mut self, call: &Call) -> Result<Session, PeerError>;

    /// Takes a connection back; `None` if an error made it unusable.
    fn take_back(&mut self, call: &Call, session: Option<Session>);

    /// Takes the packets of a message of kind `call` and returns those of its response.
    ///
    /// # Errors
    /// [`PeerError`] if no response comes.
    fn exchange(&mut self, call: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError>;

    /// Whether [`Peer::exchange`] blocks on another party. If so, the ensemble calls it on the
    /// thread that began the run, when that thread waits anyway, and not on an accelerator's
    /// thread. Default true.
    fn waits(&self) -> bool {
        true
    }

    /// Sends the packets of a message of kind `call`, and gives those of its response to `reply`
    /// when they come. The trace waits without a thread meanwhile. By default this calls
    /// [`Peer::exchange`], which blocks the output dispatcher of TCP: peers that wait for others
    /// should return at once instead.
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

/// A peer that stays with its owner while runs use it.
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

/// The peer of traces that wait for no response: it has no connections.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPeer;

impl Peer for NoPeer {
    fn lend(&mut self, call: &Call) -> Result<Session, PeerError> {
        Err(PeerError::NoPeer(Party::of(call).to_string()))
    }

    fn take_back(&mut self, _: &Call, _: Option<Session>) {}

    fn exchange(&mut self, call: &Call, _: &[u8]) -> Result<Vec<u8>, PeerError> {
        Err(PeerError::NoPeer(Party::of(call).to_string()))
    }
}
