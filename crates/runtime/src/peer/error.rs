//! Failures of a peer to provide a connection or a response.

use accelflow_accel::AccelError;

/// The failure of a peer (the other end of a service's connection, such as a database) to provide a
/// connection or a response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The run has no peer for messages of this kind. Holds the party that would receive them, and
    /// the reason if it is known.
    #[error("no connection to {0}")]
    NoPeer(String),
    /// The only connection to the peer is in use. Holds the name of the peer.
    #[error("the only connection to {0} is in use")]
    Busy(String),
    /// No response arrived in time, or before the ensemble was shut down. Holds the peer in words.
    #[error("no response in time from {0}")]
    Timeout(String),
    /// The peer's [`Reply`](super::Reply) was dropped without a response.
    #[error("the peer dropped the request without a response")]
    Dropped,
    /// The peer could not read the message, or could not write its response.
    #[error("{party} cannot answer: {error}")]
    Refused {
        /// The name of the peer.
        party: String,
        /// The error of the accelerator that read or wrote the message.
        error: AccelError,
    },
}

impl PeerError {
    /// Returns the stable name of the failure for counters and tests, such as `peer_timeout`.
    pub fn reason(&self) -> &'static str {
        match self {
            PeerError::NoPeer(_) => "no_peer",
            PeerError::Busy(_) => "peer_busy",
            PeerError::Timeout(_) => "peer_timeout",
            PeerError::Dropped => "peer_dropped",
            PeerError::Refused { .. } => "peer_refused",
        }
    }
}
