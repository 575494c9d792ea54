//! TLS 1.3: rustls shakes hands, then the records are Decr's and Encr's.
//!
//! After the handshake the traffic keys are handed over as they would be to a kernel or a device
//! that protects records; rustls keeps what derives the keys of a key update.

use std::io::{self, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use accelflow_accel::Limits;
use accelflow_accel::tls::{CipherSuite, ContentType, RecordKeys, TlsSession, seal_as};
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{self, cipher_suite};
use rustls::kernel::KernelConnection;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{
    NoServerSessionStorage, ServerConnectionData, UnbufferedServerConnection, WebPkiClientVerifier,
};
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{
    CertificateError, ConnectionTrafficSecrets, ExtractedSecrets, RootCertStore, ServerConfig,
};
use webpki::EndEntityCert;
use zeroize::Zeroizing;

use crate::alerts;
use crate::error::{Close, ServeError};
use crate::inbound::Inbound;
use crate::key_updates::KeyUpdates;

/// Who the server is, and how it protects records: TLS 1.3 with TLS_AES_128_GCM_SHA256 or
/// TLS_AES_256_GCM_SHA384, nothing older and nothing else.
#[derive(Clone, Debug)]
pub struct TlsIdentity {
    config: Arc<ServerConfig>,
    /// Whether clients must prove who they are.
    pub(crate) asks_clients: bool,
}

impl TlsIdentity {
    /// Reads a certificate chain, the server's own certificate first, and its private key.
    ///
    /// # Errors
    /// [`ServeError::Certificate`] names the file and what is wrong with it.
    pub fn from_pem_files(certificates: &Path, key: &Path) -> Result<TlsIdentity, ServeError> {
        TlsIdentity::new(certificates, key, None)
    }

    /// As [`TlsIdentity::from_pem_files`], for clients that prove who they are by a certificate that
    /// one of those in `authorities`, a PEM file, has signed; others are refused. Connections are
    /// not resumed, so that each is checked; lists of revoked certificates are not read. The DNS
    /// names, in lower case, and URIs of the certificate are the request's
    /// [`peer_identities`](crate::Request::peer_identities).
    ///
    /// # Errors
    /// Those of [`TlsIdentity::from_pem_files`].
    pub fn for_known_clients(
        certificates: &Path,
        key: &Path,
        authorities: &Path,
    ) -> Result<TlsIdentity, ServeError> {
        TlsIdentity::new(certificates, key, Some(authorities))
    }

    fn new(
        certificates: &Path,
        key: &Path,
        authorities: Option<&Path>,
    ) -> Result<TlsIdentity, ServeError> {
        let chain = read_certificates(certificates)?;
        let private = read_key(key)?;
        let builder = ServerConfig::builder_with_provider(Arc::new(provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| refused(certificates, error.to_string()))?;
        let builder = match authorities {
            None => builder.with_no_client_auth(),
            Some(authorities) => builder.with_client_cert_verifier(verifier(authorities)?),
        };
        let config = builder.with_single_cert(chain, private);
        let mut config = config.map_err(|error| refused(key, error.to_string()))?;
        config.enable_secret_extraction = true;
        if authorities.is_some() {
            // A resumed connection is its client's without a look at the certificate, which may
            // have expired by then.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(TlsIdentity {
            config: Arc::new(config),
            asks_clients: authorities.is_some(),
        })
    }
}

impl TlsIdentity {
    /// The same, for HTTP/2 alone (RFC 9113, section 3.2).
    pub(crate) fn for_http2(&self) -> TlsIdentity {
        let mut config = ServerConfig::clone(&self.config);
        config.alpn_protocols = vec![b"h2".to_vec()];
        TlsIdentity {
            config: Arc::new(config),
            ..*self
        }
    }
}

/// What accepts clients that one of these authorities vouches for.
fn verifier(authorities: &Path) -> Result<Arc<dyn ClientCertVerifier>, ServeError> {
    let roots = Arc::new(read_roots(authorities)?);
    let built = WebPkiClientVerifier::builder_with_provider(roots, Arc::new(provider())).build();
    built.map_err(|error| refused(authorities, error))
}

/// What a client has proven to be called: the DNS names of its certificate in lower case, and its URIs.
fn identities(connection: &UnbufferedServerConnection) -> Result<Vec<String>, Close> {
    let Some([own, ..]) = connection.peer_certificates() else {
        return Ok(Vec::new());
    };
    let bad = |_| Close::Handshake(CertificateError::BadEncoding.into());
    let own = EndEntityCert::try_from(own).map_err(bad)?;
    let names = own.valid_dns_names().map(str::to_ascii_lowercase);
    let uris = own.valid_uri_names().filter(|it| has_scheme(it));
    Ok(names.chain(uris.map(str::to_owned)).collect())
}

/// Whether what a certificate has as a URI is none that a DNS name could be taken for (RFC 3986,
/// section 3.1): authorities that may vouch for certain names alone may still write any URI.
fn has_scheme(uri: &str) -> bool {
    let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(allowed)
}

/// A client that does not name the protocol that is asked for may mean any.
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

/// What either end offers and accepts: the suites that Encr and Decr know.
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![
            cipher_suite::TLS13_AES_128_GCM_SHA256,
            cipher_suite::TLS13_AES_256_GCM_SHA384,
        ],
        ..aws_lc_rs::default_provider()
    }
}

pub(crate) fn refused(path: &Path, why: impl ToString) -> ServeError {
    ServeError::Certificate {
        path: path.to_owned(),
        why: why.to_string(),
    }
}

/// The certificates in a PEM file: at least one.
pub(crate) fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ServeError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found = read.map_err(|error| refused(path, error))?;
    match found.is_empty() {
        true => Err(refused(path, "holds no certificate in PEM form")),
        false => Ok(found),
    }
}

/// The authorities in a PEM file: at least one.
pub(crate) fn read_roots(path: &Path) -> Result<RootCertStore, ServeError> {
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(path)? {
        roots
            .add(certificate)
            .map_err(|error| refused(path, error))?;
    }
    Ok(roots)
}

pub(crate) fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, ServeError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| refused(path, error))
}

/// What remains of the handshake: the source of the keys after these.
pub(crate) struct Control<D = ServerConnectionData> {
    pub(crate) kernel: KernelConnection<D>,
    updates: KeyUpdates,
}

/// Either end of a handshake.
pub(crate) trait Handshake {
    type Data;

    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8])
    -> UnbufferedStatus<'c, 'i, Self::Data>;
}

impl Handshake for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        records: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(records)
    }
}

impl Handshake for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        records: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(records)
    }
}

/// Shakes hands with a client, and tells what it has proven to be called. `inbound` then holds what
/// came after the handshake.
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

/// The record keys that a handshake has agreed on.
pub(crate) fn session(secrets: ExtractedSecrets) -> Result<TlsSession, Close> {
    Ok(TlsSession {
        write: keys(secrets.tx)?,
        read: keys(secrets.rx)?,
        ahead: Vec::new(),
    })
}

/// Carries a handshake to its end, or says in an alert why not.
pub(crate) fn shake<C: Handshake>(
    connection: &mut C,
    stream: &TcpStream,
    inbound: &mut Inbound,
    deadline: Instant,
) -> Result<(), Close> {
    // One record at a time: what follows the other end's Finished is for Decr.
    let mut window = 0;
    let mut outgoing = Vec::new();
    loop {
        let mut records = Zeroizing::new(inbound.bytes()[..window].to_vec());
        let status = connection.process(&mut records);
        let (discard, blocked) = (status.discard, is_blocked(&status.state));
        let done = match status.state {
            Ok(state) => advance(state, &mut outgoing, stream, deadline)?,
            Err(error) => {
                if !matches!(error, rustls::Error::AlertReceived(_)) {
                    let rest = discard.min(records.len());
                    let _ = say_why(connection, &mut records[rest..], stream, deadline);
                }
                return Err(Close::Handshake(error));
            }
        };
        inbound.consume(discard);
        window -= discard.min(window);
        if done {
            return Ok(());
        }
        if blocked {
            window += next_record(inbound, window, stream, deadline)?;
        }
    }
}

fn is_blocked<D>(state: &Result<ConnectionState<'_, '_, D>, rustls::Error>) -> bool {
    matches!(state, Ok(ConnectionState::BlockedHandshake))
}

/// Does what the handshake asks for; whether it is over.
fn advance<D>(
    state: ConnectionState<'_, '_, D>,
    outgoing: &mut Vec<u8>,
    stream: &TcpStream,
    deadline: Instant,
) -> Result<bool, Close> {
    match state {
        ConnectionState::EncodeTlsData(mut data) => {
            let start = outgoing.len();
            // A handshake message of the server, with its certificates, fits into 2^24 bytes; the
            // encoder says how much it needs when this is too little.
            let mut room = 4 * 1024;
            loop {
                outgoing.resize(start + room, 0);
                match data.encode(&mut outgoing[start..]) {
                    Ok(written) => {
                        outgoing.truncate(start + written);
                        return Ok(false);
                    }
                    Err(rustls::unbuffered::EncodeError::InsufficientSize(need)) => {
                        room = need.required_size;
                    }
                    Err(error) => return Err(Close::Failed(error.to_string())),
                }
            }
        }
        ConnectionState::TransmitTlsData(data) => {
            write_all(stream, outgoing, deadline, "handshake")?;
            outgoing.clear();
            data.done();
            Ok(false)
        }
        ConnectionState::BlockedHandshake => Ok(false),
        ConnectionState::WriteTraffic(_) => Ok(true),
        ConnectionState::PeerClosed | ConnectionState::Closed => Err(Close::Done),
        other => Err(Close::Failed(format!("{other:?} during the handshake"))),
    }
}

/// Sends the alert that rustls has made of its error, if it has. Until then it must be shown the
/// rest of what it has seen, since it remembers how far it got in that; after the alert it is not
/// asked for anything.
fn say_why<C: Handshake>(
    connection: &mut C,
    rest: &mut [u8],
    stream: &TcpStream,
    deadline: Instant,
) -> Result<(), Close> {
    let (mut outgoing, mut used) = (Vec::new(), 0);
    loop {
        let status = connection.process(&mut rest[used..]);
        let discard = status.discard;
        let Ok(ConnectionState::EncodeTlsData(data)) = status.state else {
            break;
        };
        let start = outgoing.len();
        let state = ConnectionState::EncodeTlsData(data);
        advance(state, &mut outgoing, stream, deadline)?;
        if is_alert(&outgoing[start..]) {
            break;
        }
        used = (used + discard).min(rest.len());
    }
    write_all(stream, &outgoing, deadline, "handshake")
}

/// Whether a record of a handshake is an alert: in the clear, or by its size, which is less than
/// that of any other message under protection.
fn is_alert(record: &[u8]) -> bool {
    const HEADER: usize = 5;
    const ALERT: usize = 2;
    const TYPE_AND_TAG: usize = 17;
    match record.first() {
        Some(21) => true,
        Some(23) => record.len() == HEADER + ALERT + TYPE_AND_TAG,
        _ => false,
    }
}

/// Makes sure that one more record than `window` bytes is there; its length.
fn next_record(
    inbound: &mut Inbound,
    window: usize,
    stream: &TcpStream,
    deadline: Instant,
) -> Result<usize, Close> {
    const HEADER: usize = 5;
    loop {
        let rest = &inbound.bytes()[window..];
        if let Some(head) = rest.first_chunk::<HEADER>() {
            // Whatever rustls refuses it must get to see: an HTTP request in the place of a
            // ClientHello, for instance, is no record at all.
            let length = HEADER + usize::from(u16::from_be_bytes([head[3], head[4]]));
            if !(20..=23).contains(&head[0]) || length > (1 << 14) + 256 + HEADER {
                return Ok(HEADER);
            }
            if rest.len() >= length {
                return Ok(length);
            }
        }
        read_some(inbound, stream, deadline)?;
    }
}

fn read_some(
    inbound: &mut Inbound,
    mut stream: &TcpStream,
    deadline: Instant,
) -> Result<(), Close> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Close::Slow("handshake"));
    }
    stream.set_read_timeout(Some(left)).map_err(Close::Io)?;
    match inbound.fill(&mut stream) {
        Ok(0) if inbound.is_empty() => Err(Close::Done),
        Ok(0) => Err(Close::Cut),
        Ok(_) => Ok(()),
        Err(error) if is_timeout(&error) => Err(Close::Slow("handshake")),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        Err(error) => Err(Close::Io(error)),
    }
}

pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

/// Writes everything, or fails at `deadline`; a client that reads a byte now and then gains no
/// time by it.
pub(crate) fn write_all(
    mut stream: &TcpStream,
    mut bytes: &[u8],
    deadline: Instant,
    what: &'static str,
) -> Result<(), Close> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(Close::Cut),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_timeout(&error) => return Err(Close::Slow(what)),
            Err(error) => return Err(Close::Io(error)),
        }
        if !bytes.is_empty() && Instant::now() >= deadline {
            return Err(Close::Slow(what));
        }
    }
    Ok(())
}

/// The record keys behind rustls' own, with the number of the next record.
fn keys((sequence, secrets): (u64, ConnectionTrafficSecrets)) -> Result<RecordKeys, Close> {
    let (suite, key, iv) = match &secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (CipherSuite::Aes128GcmSha256, key, iv),
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (CipherSuite::Aes256GcmSha384, key, iv),
        _ => {
            let why = "the handshake agreed on a cipher suite that was not offered";
            return Err(Close::Failed(why.to_owned()));
        }
    };
    let mut nonce = [0; 12];
    nonce.copy_from_slice(iv.as_ref());
    let mut keys = RecordKeys::from_key(suite, key.as_ref(), nonce)?;
    keys.resume_at(sequence);
    Ok(keys)
}

/// After how many records the write keys are renewed: half of what AES-GCM allows under one key
/// (RFC 8446, section 5.5: 2^24.5 records of full size).
const RECORDS_PER_KEY: u64 = 1 << 23;

const KEY_UPDATE: u8 = 24;

impl<D> Control<D> {
    pub(crate) fn new(kernel: KernelConnection<D>) -> Control<D> {
        Control {
            kernel,
            updates: KeyUpdates::new(Instant::now()),
        }
    }

    /// Obeys what came in a record that is no application data. Returns what must be sent.
    pub(crate) fn obey(
        &mut self,
        session: &mut TlsSession,
        content: ContentType,
        message: &[u8],
        limits: &Limits,
    ) -> Result<Vec<u8>, Close> {
        match (content, message) {
            (ContentType::Alert, [_, description]) => Err(alerts::received(*description)),
            (ContentType::Handshake, [KEY_UPDATE, 0, 0, 1, request @ (0 | 1)]) => {
                self.updates.take(Instant::now())?;
                session.read = keys(self.kernel.update_rx_secret().map_err(Close::Handshake)?)?;
                match request {
                    1 => self.renew(session, limits),
                    _ => Ok(Vec::new()),
                }
            }
            _ => Err(Close::Malformed(alerts::out_of_place(content, message))),
        }
    }

    /// Renews the write keys if it is time to. Returns what must be sent.
    pub(crate) fn refresh(
        &mut self,
        session: &mut TlsSession,
        limits: &Limits,
    ) -> Result<Vec<u8>, Close> {
        match session.write.sequence() >= RECORDS_PER_KEY {
            true => self.renew(session, limits),
            false => Ok(Vec::new()),
        }
    }

    fn renew(&mut self, session: &mut TlsSession, limits: &Limits) -> Result<Vec<u8>, Close> {
        let update = [KEY_UPDATE, 0, 0, 1, 0];
        let sealed = seal_as(&mut session.write, ContentType::Handshake, &update, limits)?;
        session.write = keys(self.kernel.update_tx_secret().map_err(Close::Handshake)?)?;
        Ok(sealed)
    }
}
