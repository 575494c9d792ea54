//! The other ends of the connections: who answers what a trace sends.

mod answers;
mod loopback;
mod parties;

use accelflow_accel::{AccelError, Call, Session};

pub use answers::{Answers, CacheAnswer, DatabaseAnswer, HttpAnswer, RpcAnswer};
pub use loopback::LoopbackPeer;
pub use parties::Party;

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

    /// Takes a connection back; `None` if it is of no use any more, after an error on it.
    fn take_back(&mut self, call: &Call, session: Option<Session>);

    /// Takes the packets of a message of kind `call` and returns those of its response.
    ///
    /// # Errors
    /// [`PeerError`] if no response comes.
    fn exchange(&mut self, call: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError>;
}

/// Why a peer gives no connection or no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// Nobody is there.
    #[error("there is no peer for {0}")]
    NoPeer(String),
    /// The one connection to a party is in use.
    #[error("the connection to {0} is in use")]
    Busy(String),
    /// No response came in time.
    #[error("no response from {0} in time")]
    Timeout(String),
    /// The peer could not read the message, or could not write its response.
    #[error("{party} cannot answer: {error}")]
    Refused {
        /// The peer.
        party: String,
        /// What it could not do.
        error: AccelError,
    },
}

impl PeerError {
    /// A stable machine-readable name, for counters and tests.
    pub fn reason(&self) -> &'static str {
        match self {
            PeerError::NoPeer(_) => "no_peer",
            PeerError::Busy(_) => "peer_busy",
            PeerError::Timeout(_) => "peer_timeout",
            PeerError::Refused { .. } => "peer_refused",
        }
    }
}

/// For traces that wait for nobody.
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
