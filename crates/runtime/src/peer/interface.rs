//! The interface of peers to executions.

use accelflow_accel::{Call, Session};

use super::error::PeerError;
use super::parties::Party;

/// Supplies connections and the packets that come back over them.
///
/// Contract: [`Peer::lend`] gives this end's session of a connection over which messages of that
/// kind travel; it is used by one execution until [`Peer::take_back`]. A call names the same
/// connection before and after the message was sent.
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
