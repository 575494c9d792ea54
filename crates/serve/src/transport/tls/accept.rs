//! The server's side of a TLS handshake.

use std::net::TcpStream;
use std::time::Instant;

use accelflow_accel::tls::TlsSession;
use rustls::CertificateError;
use rustls::server::UnbufferedServerConnection;
use webpki::EndEntityCert;

use super::control::Control;
use super::handshake::shake;
use super::identity::TlsIdentity;
use super::keys::session;
use crate::transport::close::Close;
use crate::transport::inbound::Inbound;

/// The identities that a client has proven: the DNS names of its certificate in lower case, and its
/// URIs.
fn identities(connection: &UnbufferedServerConnection) -> Result<Vec<String>, Close> {
    let Some([own, ..]) = connection.peer_certificates() else {
        return Ok(Vec::new());
    };
    let bad = |_| Close::Handshake(CertificateError::BadEncoding.into());
    let own = EndEntityCert::try_from(own).map_err(bad)?;
    let names = own.valid_dns_names().map(str::to_ascii_lowercase);
    let uris = own.valid_uri_names().filter(|uri| has_scheme(uri));
    Ok(names.chain(uris.map(str::to_owned)).collect())
}

/// Whether a certificate's URI has a scheme, so that it cannot be mistaken for a DNS name (RFC
/// 3986, section 3.1). Authorities that are restricted to certain names may still write any URI.
fn has_scheme(uri: &str) -> bool {
    let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(allowed)
}

/// Refuses a client that does not name the required application protocol.
fn check_protocol(
    identity: &TlsIdentity,
    connection: &UnbufferedServerConnection,
) -> Result<(), Close> {
    match connection.alpn_protocol() {
        None if !identity.config.alpn_protocols.is_empty() => {
            Err(Close::Handshake(rustls::Error::NoApplicationProtocol))
        }
        _ => Ok(()),
    }
}

/// Performs the handshake with a client. Returns its keys, its control path and its proven
/// identities. `inbound` then has the bytes received after the handshake.
pub(crate) fn accept(
    identity: &TlsIdentity,
    stream: &TcpStream,
    inbound: &mut Inbound,
    deadline: Instant,
) -> Result<(TlsSession, Control, Vec<String>), Close> {
    let connection = UnbufferedServerConnection::new(identity.config.clone());
    let mut connection = connection.map_err(Close::Handshake)?;
    shake(&mut connection, stream, inbound, deadline)?;
    check_protocol(identity, &connection)?;
    let names = identities(&connection)?;
    let (secrets, kernel) = connection
        .dangerous_into_kernel_connection()
        .map_err(Close::Handshake)?;
    Ok((session(secrets)?, Control::new(kernel), names))
}
