//! The state of a TCP connection.

use std::net::SocketAddrV4;

/// The state of one end of an established TCP connection over IPv4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpSession {
    /// The IPv4 address and port of this end.
    pub local: SocketAddrV4,
    /// The IPv4 address and port of the other end.
    pub peer: SocketAddrV4,
    /// TCP sequence number of the next byte to send.
    pub send_next: u32,
    /// TCP sequence number of the next byte to receive.
    pub receive_next: u32,
    /// Identification field of the next IPv4 packet to send.
    pub identification: u16,
}

impl TcpSession {
    /// Creates the state of the end `local` of a connection to `peer`, after the TCP handshake.
    ///
    /// `send_next` and `receive_next` are the TCP sequence numbers of the first byte to send and of
    /// the first byte to receive. The identification field of the first IPv4 packet is 0.
    pub fn new(local: SocketAddrV4, peer: SocketAddrV4, send_next: u32, receive_next: u32) -> Self {
        TcpSession {
            local,
            peer,
            send_next,
            receive_next,
            identification: 0,
        }
    }

    /// Returns the state of the connection's other end: `local` and `peer` are swapped, as are
    /// `send_next` and `receive_next`. The identification field starts at 0.
    pub fn mirrored(&self) -> TcpSession {
        TcpSession::new(self.peer, self.local, self.receive_next, self.send_next)
    }
}
