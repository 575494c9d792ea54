//! The state of the connection that a message belongs to.

use crate::protocols::tcp::TcpSession;
use crate::protocols::tls::TlsSession;

/// The state of the connection that a message belongs to, for TCP and for TLS.
///
/// The type is not `Clone` on purpose: two copies of the same TLS keys would encrypt different
/// records with the same nonce.
#[derive(Debug, Default)]
pub struct Session {
    /// The addresses, ports and sequence numbers of TCP; `None` if no accelerator handles TCP.
    pub tcp: Option<TcpSession>,
    /// The record keys and record sequence numbers of TLS; `None` if no accelerator handles TLS.
    pub tls: Option<TlsSession>,
}
