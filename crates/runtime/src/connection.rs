//! Connections with fixed keys, for trying traces. The keys are public, so nothing is secure.

use std::net::{Ipv4Addr, SocketAddrV4};

use accelflow_accel::tcp::TcpSession;
use accelflow_accel::tls::{CipherSuite, TlsSession};
use accelflow_accel::{AccelError, Session};

/// Returns the TLS application traffic secrets of the [`connection`] with the number `number`:
/// first the client's, then the server's. With these secrets, another TLS implementation can read
/// and write packets of the connection.
pub fn secrets(number: u64) -> [[u8; 32]; 2] {
    [1, 2].map(|direction| {
        let mut secret = [direction; 32];
        secret[..8].copy_from_slice(&number.to_be_bytes());
        secret
    })
}

/// Creates both ends of a connection with fixed addresses and keys, for trying traces: first the
/// client's end, then the server's. `number` determines addresses, ports and keys. Different
/// numbers always give different keys ([`secrets`]). Different numbers below 57,344,000 also give
/// different addresses or ports.
///
/// The client's address is 10.0.x.y and the server's 10.1.x.y, where x and y are the two low bytes
/// of `number`: 258 gives 10.0.1.2. Both ends start at the TCP sequence number 1 and the TLS record
/// number 0.
///
/// # Errors
/// None in practice: the constructors fail only for invalid keys.
pub fn connection(number: u64) -> Result<(Session, Session), AccelError> {
    let [high, low] = (number as u16).to_be_bytes();
    let port = 32_768 + (number % 28_000) as u16;
    let client = SocketAddrV4::new(Ipv4Addr::new(10, 0, high, low), port);
    let server = SocketAddrV4::new(Ipv4Addr::new(10, 1, high, low), 9_090);
    let tcp = TcpSession::new(client, server, 1, 1);
    let [up, down] = secrets(number);
    let tls = |write, read| TlsSession::from_secrets(CipherSuite::Aes128GcmSha256, write, read);
    let ours = Session {
        tls: Some(tls(&up, &down)?),
        tcp: Some(tcp.clone()),
    };
    let theirs = Session {
        tls: Some(tls(&down, &up)?),
        tcp: Some(tcp.mirrored()),
    };
    Ok((ours, theirs))
}
