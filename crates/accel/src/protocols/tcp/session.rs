//! The state of a TCP connection.

use std::net::SocketAddrV4;

/// The state of one end of an established TCP connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpSession {
    /// The address of this end.
    pub local: SocketAddrV4,
    /// The address of the other end.
    pub peer: SocketAddrV4,
    /// Sequence number of the next byte sent.
    pub send_next: u32,
    /// Sequence number of the next byte expected.
    pub receive_next: u32,
    /// IPv4 identification of the next packet.
    pub identification: u16,
}

impl TcpSession {
    /// Creates the state of one end after the handshake.
    pub fn new(local: SocketAddrV4, peer: SocketAddrV4, send_next: u32, receive_next: u32) -> Self {
        TcpSession {
            local,
            peer,
            send_next,
            receive_next,
            identification: 0,
        }
    }

    /// Returns the session of the other end.
    pub fn mirrored(&self) -> TcpSession {
        TcpSession::new(self.peer, self.local, self.receive_next, self.send_next)
    }
}
