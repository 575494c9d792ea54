//! The servers that a client trusts, and the client's side of the TLS handshake.

use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use accelflow_accel::tls::{ContentType, TlsSession};
use accelflow_accel::{AccelError, Limits};
use accelflow_parameters::{Refusal, quoted};
use rustls::client::{ClientConnectionData, Resumption, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use crate::error::ServeError;
use crate::transport::close::Close;
use crate::transport::inbound::Inbound;
use crate::transport::tls::control::Control;
use crate::transport::tls::files::{provider, read_certificates, read_key, read_roots, refused};
use crate::transport::tls::handshake::shake;
use crate::transport::tls::keys::session;

/// The TLS settings of a client: the authorities that the client trusts, the name that the server
/// must prove, and optionally the client's own certificate. Connections use only TLS 1.3 with
/// TLS_AES_128_GCM_SHA256 or TLS_AES_256_GCM_SHA384.
#[derive(Clone, Debug)]
pub struct TlsTrust {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    /// Whether the server must confirm the offered application protocol.
    must_agree: bool,
}

impl TlsTrust {
    /// Creates TLS settings that trust a server with the identity `server_name` (a DNS name or an
    /// IP address). A certificate signed by one of the authorities in the PEM file `authorities`
    /// must prove the identity. Self-signed server certificates in this file are also trusted,
    /// unless they are CA certificates (basicConstraints CA:TRUE). Debian has the public
    /// authorities in `/etc/ssl/certs/ca-certificates.crt`.
    ///
    /// # Errors
    /// [`ServeError::Certificate`] with the file and its defect; [`ServeError::Setting`] for an
    /// invalid `server_name`.
    pub fn from_pem_file(authorities: &Path, server_name: &str) -> Result<TlsTrust, ServeError> {
        TlsTrust::new(authorities, server_name, None)
    }

    /// Like [`TlsTrust::from_pem_file`], and also proves the client's identity to the server. The
    /// PEM file `certificates` has the certificate chain, which begins with the client's own
    /// certificate, and `key` has the private key.
    ///
    /// # Errors
    /// The errors of [`TlsTrust::from_pem_file`], also for the files `certificates` and `key`.
    pub fn with_identity(
        authorities: &Path,
        server_name: &str,
        certificates: &Path,
        key: &Path,
    ) -> Result<TlsTrust, ServeError> {
        TlsTrust::new(authorities, server_name, Some((certificates, key)))
    }

    fn new(
        authorities: &Path,
        server_name: &str,
        identity: Option<(&Path, &Path)>,
    ) -> Result<TlsTrust, ServeError> {
        let parsed = ServerName::try_from(server_name.to_owned());
        let name = parsed.map_err(|_| {
            let allowed = "must be a DNS name or an IP address";
            Refusal::new("server_name", quoted(server_name), allowed)
        })?;
        let roots = read_roots(authorities)?;
        let builder = ClientConfig::builder_with_provider(Arc::new(provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| refused(authorities, error))?
            .with_root_certificates(roots);
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some((certificates, key)) => builder
                .with_client_auth_cert(read_certificates(certificates)?, read_key(key)?)
                .map_err(|error| refused(key, error))?,
        };
        config.enable_secret_extraction = true;
        let config = Arc::new(config);
        Ok(TlsTrust {
            config,
            name,
            must_agree: false,
        })
    }
}

impl TlsTrust {
    /// Returns the same TLS settings, but with a full handshake for every connection: the client
    /// uses no session tickets. This is for servers that send no tickets, such as a storage
    /// gateway.
    #[must_use]
    pub fn without_resumption(&self) -> TlsTrust {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = Resumption::disabled();
        TlsTrust {
            config: Arc::new(config),
            name: self.name.clone(),
            must_agree: self.must_agree,
        }
    }

    /// Creates the client's side of a TLS handshake, as rustls' state machine. The caller must pass
    /// bytes between the state machine and the server. After the handshake, the caller can extract
    /// from the state machine the keys for the accelerators Encr and Decr, which encrypt and
    /// decrypt messages.
    ///
    /// # Errors
    /// rustls' error for invalid settings; none in practice.
    pub fn handshake(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(self.config.clone(), self.name.clone())
    }

    /// Returns the settings with one application protocol (RFC 7301).
    pub(super) fn speaking(&self, protocol: &[u8]) -> TlsTrust {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = vec![protocol.to_vec()];
        TlsTrust {
            config: Arc::new(config),
            name: self.name.clone(),
            must_agree: false,
        }
    }

    /// Returns the settings for HTTP/2 only (RFC 9113, section 3.2).
    pub(super) fn for_http2(&self) -> TlsTrust {
        TlsTrust {
            must_agree: true,
            ..self.speaking(b"h2")
        }
    }
}

/// Performs the handshake with a server. `inbound` then has the bytes received after the handshake.
pub(super) fn connect(
    trust: &TlsTrust,
    stream: &TcpStream,
    inbound: &mut Inbound,
    deadline: Instant,
) -> Result<(TlsSession, ClientControl), Close> {
    let connection = UnbufferedClientConnection::new(trust.config.clone(), trust.name.clone());
    let mut connection = connection.map_err(Close::Handshake)?;
    shake(&mut connection, stream, inbound, deadline)?;
    if trust.must_agree && connection.alpn_protocol().is_none() {
        return Err(Close::Handshake(rustls::Error::NoApplicationProtocol));
    }
    let (secrets, kernel) = connection
        .dangerous_into_kernel_connection()
        .map_err(Close::Handshake)?;
    let control = ClientControl {
        control: Control::new(kernel),
        unfinished: Vec::new(),
    };
    Ok((session(secrets)?, control))
}

/// The control path of a client's connection. A server may also send session tickets. A record may
/// have several handshake messages, and a message may span several records.
pub(super) struct ClientControl {
    control: Control<ClientConnectionData>,
    /// The beginning of an incomplete handshake message.
    unfinished: Vec<u8>,
}

/// The largest handshake message that a server may send after the handshake, in bytes. A session
/// ticket has at most 2^16 bytes and as many bytes of extensions (RFC 8446, section 4.6.1).
const MAX_HANDSHAKE_MESSAGE: usize = 1 << 18;
const NEW_SESSION_TICKET: u8 = 4;

impl ClientControl {
    /// Handles a TLS control record. Returns the bytes to send.
    pub(super) fn handle_control(
        &mut self,
        session: &mut TlsSession,
        content: ContentType,
        record: &[u8],
        limits: &Limits,
    ) -> Result<Vec<u8>, Close> {
        if content != ContentType::Handshake {
            return self
                .control
                .handle_control(session, content, record, limits);
        }
        self.unfinished.extend_from_slice(record);
        let pending = std::mem::take(&mut self.unfinished);
        let mut rest = &pending[..];
        let mut reply = Vec::new();
        while let Some(([kind, high, middle, low], behind)) = rest.split_first_chunk::<4>() {
            let length = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
            if length > MAX_HANDSHAKE_MESSAGE {
                return Err(Close::Malformed(AccelError::TooLarge {
                    what: "bytes of the TLS handshake message",
                    size: length,
                    limit: MAX_HANDSHAKE_MESSAGE,
                }));
            }
            let Some((body, behind)) = behind.split_at_checked(length) else {
                break;
            };
            match *kind {
                NEW_SESSION_TICKET => {
                    let kept = self.control.kernel.handle_new_session_ticket(body);
                    kept.map_err(Close::Handshake)?;
                }
                _ => {
                    let message = &rest[..4 + length];
                    reply.extend(
                        self.control
                            .handle_control(session, content, message, limits)?,
                    );
                }
            }
            rest = behind;
        }
        self.unfinished = rest.to_vec();
        Ok(reply)
    }

    /// Renews the write keys if they have protected enough records. Returns the bytes to send.
    pub(super) fn refresh(
        &mut self,
        session: &mut TlsSession,
        limits: &Limits,
    ) -> Result<Vec<u8>, Close> {
        self.control.refresh(session, limits)
    }
}
