//! The state of a connection.

use crate::protocols::tcp::TcpSession;
use crate::protocols::tls::TlsSession;

/// The state of a message's connection.
///
/// Not `Clone` on purpose: two copies of one set of write keys would use a nonce twice.
#[derive(Debug, Default)]
pub struct Session {
    /// Addresses, ports and sequence numbers.
    pub tcp: Option<TcpSession>,
    /// Record keys and record sequence numbers.
    pub tls: Option<TlsSession>,
}
