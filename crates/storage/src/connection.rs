//! One connection to a storage gateway: rustls performs the TLS handshake, then Encr and Decr
//! process the TLS records.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use accelflow_accel::tls::{self, CipherSuite, ContentType, RecordKeys, TlsSession};
use accelflow_accel::{AccelError, Call, Limits, Session};
use accelflow_runtime::trail::{Exchange, Exchanges};
use accelflow_runtime::{Peer, PeerError};
use accelflow_serve::TlsTrust;
use rustls::ConnectionTrafficSecrets;

/// The gateway's address, and the trust in its certificate.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    pub(crate) address: SocketAddr,
    pub(crate) trust: TlsTrust,
    pub(crate) limits: Limits,
}

/// The reason why a storage client cannot open a connection to the gateway.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The operating system reports an error, or the gateway does not answer in time.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The TLS handshake failed.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The TLS keys are invalid, which does not occur in practice.
    #[error(transparent)]
    Keys(#[from] AccelError),
}

/// A connection, and this end's keys while no trace has borrowed them.
struct Open {
    stream: TcpStream,
    session: Option<Session>,
    /// A copy of the read keys, to find the length of a message before Decr runs.
    peek: RecordKeys,
    /// The number of received records.
    records: u64,
    /// Whether the gateway has said that it closes the connection.
    is_closing: bool,
}

/// A connection to the gateway, opened when it is needed and again after it has failed.
pub(crate) struct GatewayConnection {
    destination: Destination,
    open: Option<Open>,
    deadline: Instant,
    /// The system calls since [`GatewayConnection::begin`], if they are noted.
    exchanges: Exchanges,
}

impl GatewayConnection {
    pub(crate) fn new(destination: Destination) -> GatewayConnection {
        GatewayConnection {
            destination,
            open: None,
            deadline: Instant::now(),
            exchanges: Exchanges::default(),
        }
    }

    /// Prepares for a trace that must end by `deadline`; opens the connection if there is none.
    pub(crate) fn begin(&mut self, deadline: Instant, measured: bool) -> Result<(), ConnectError> {
        self.deadline = deadline;
        self.exchanges.note(measured);
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.is_closing || is_stale(&open.stream))
        {
            self.open = None;
        }
        if self.open.is_none() {
            self.open = Some(self.connect()?);
        }
        Ok(())
    }

    pub(crate) fn take_exchanges(&mut self) -> Vec<Exchange> {
        self.exchanges.take()
    }

    fn connect(&self) -> Result<Open, ConnectError> {
        let Destination { address, trust, .. } = &self.destination;
        let mut stream = TcpStream::connect_timeout(address, left(self.deadline))?;
        stream.set_nodelay(true)?;
        let mut shaking = trust.handshake()?;
        while shaking.is_handshaking() {
            let left = Some(self.left()?);
            stream.set_read_timeout(left)?;
            stream.set_write_timeout(left)?;
            shaking.complete_io(&mut stream)?;
        }
        while shaking.wants_write() {
            shaking.write_tls(&mut stream)?;
        }
        let secrets = shaking.dangerous_extract_secrets()?;
        let (records, incoming) = secrets.rx;
        let session = TlsSession {
            write: keys(secrets.tx.0, &secrets.tx.1)?,
            read: keys(records, &incoming)?,
            ahead: Vec::new(),
        };
        let session = Session {
            tcp: None,
            tls: Some(session),
        };
        Ok(Open {
            stream,
            session: Some(session),
            peek: keys(records, &incoming)?,
            records,
            is_closing: false,
        })
    }

    fn left(&self) -> io::Result<Duration> {
        match left(self.deadline) {
            left if left > SHORTEST => Ok(left),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        let mut stream = self.stream()?;
        while !bytes.is_empty() {
            stream.set_write_timeout(Some(self.left()?))?;
            match stream.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads the records of one message.
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; RESTING_BYTES];
        let (mut used, mut whole, mut last) = (0, 0, 0);
        let mut text = Text::default();
        loop {
            while let Some((length, full)) =
                tls::record_length(&bytes[whole..used]).map_err(io::Error::other)?
            {
                if whole + length > used {
                    break;
                }
                if text.records == 0 && full {
                    text.expected = self.message_length(&bytes[..length])?;
                }
                text.records += 1;
                last = whole;
                text.bytes += length.saturating_sub(PROTECTION);
                whole += length;
            }
            if text.records > 0 && text.bytes >= text.expected {
                let (end, records) =
                    self.without_close_notify(&bytes[..used], (last, whole), text.records);
                if let Some(open) = &mut self.open {
                    open.records += records;
                }
                bytes.truncate(end);
                return Ok(bytes);
            }
            if used == bytes.len() {
                bytes.resize(2 * used, 0);
            }
            let left = Some(self.left()?);
            let mut stream = self.stream()?;
            stream.set_read_timeout(left)?;
            match stream.read(&mut bytes[used..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => used += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The end of a message in `bytes`, and the number of its records, without the alert
    /// close_notify that the gateway may have sent right after it: the message is valid, and the
    /// next one needs another connection. `last` is the place of the last whole one of `records`
    /// records.
    fn without_close_notify(
        &mut self,
        bytes: &[u8],
        last: (usize, usize),
        records: u64,
    ) -> (usize, u64) {
        let rest = &bytes[last.1..];
        let begun = rest.len().min(ALERT_HEAD.len());
        let Some(open) = &mut self.open else {
            return (bytes.len(), records);
        };
        if begun > 0 && rest.len() < ALERT && rest[..begun] == ALERT_HEAD[..begun] {
            open.is_closing = true;
            return (last.1, records);
        }
        // Other bytes beyond the message are unsolicited: Decr refuses them.
        if begun > 0 || records < 2 || last.1 - last.0 != ALERT {
            return (bytes.len(), records);
        }
        open.peek.resume_at(open.records + records - 1);
        let mut text = Vec::new();
        let opened = tls::open_first(&mut open.peek, &bytes[last.0..], &mut text);
        let says = opened.is_ok_and(|(content, _)| content == ContentType::Alert);
        match says && text.last() == Some(&CLOSE_NOTIFY) {
            true => {
                open.is_closing = true;
                (last.0, records - 1)
            }
            false => (bytes.len(), records),
        }
    }

    /// The length of the message that begins in a record. Called only for messages that may need
    /// several records; Decr decrypts the record a second time.
    fn message_length(&mut self, record: &[u8]) -> io::Result<usize> {
        const HEAD: usize = 4;
        let open = self.open.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        open.peek.resume_at(open.records);
        let mut text = Vec::new();
        tls::open_first(&mut open.peek, record, &mut text).map_err(io::Error::other)?;
        let head = text.first_chunk::<HEAD>();
        let head = head
            .ok_or_else(|| io::Error::other("a TLS record ends within the length of a message"))?;
        let length = u32::from_be_bytes(*head) as usize;
        let most = self.destination.limits.max_message_bytes;
        match length > most {
            true => Err(io::Error::other(format!(
                "bytes of the response = {length}: must be at most {most}"
            ))),
            false => Ok(HEAD + length),
        }
    }

    fn stream(&self) -> io::Result<&TcpStream> {
        let open = self.open.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        Ok(&open.stream)
    }
}

const RESTING_BYTES: usize = 16 * 1024;

/// The overhead of a record: header, content type and tag.
const PROTECTION: usize = 5 + 1 + 16;

/// The length of a record with an alert, which has two bytes, and the record's header.
const ALERT: usize = PROTECTION + 2;
const ALERT_HEAD: [u8; 5] = [23, 3, 3, 0, (ALERT - 5) as u8];

/// The description of an alert that ends a connection without an error (RFC 8446, section 6.1).
const CLOSE_NOTIFY: u8 = 0;

/// The state of a message while its records arrive.
#[derive(Default)]
struct Text {
    records: u64,
    bytes: usize,
    /// The length of the message; 0 if one record holds it.
    expected: usize,
}

/// The shortest timeout: sockets do not accept zero.
const SHORTEST: Duration = Duration::from_micros(1);

fn left(deadline: Instant) -> Duration {
    let left = deadline.saturating_duration_since(Instant::now());
    left.max(SHORTEST)
}

/// Whether the gateway has closed a connection, or sent unsolicited data.
fn is_stale(stream: &TcpStream) -> bool {
    let looked = stream
        .set_nonblocking(true)
        .and_then(|()| stream.peek(&mut [0]));
    let waits = matches!(&looked, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
    !waits || stream.set_nonblocking(false).is_err()
}

/// Record keys from rustls' secrets, at the number of the next record.
fn keys(sequence: u64, secrets: &ConnectionTrafficSecrets) -> Result<RecordKeys, ConnectError> {
    let (suite, key, iv) = match secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (CipherSuite::Aes128GcmSha256, key, iv),
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (CipherSuite::Aes256GcmSha384, key, iv),
        _ => {
            return Err(rustls::Error::General(
                "the handshake chose a cipher suite that was not offered".to_owned(),
            )
            .into());
        }
    };
    let mut nonce = [0; 12];
    nonce.copy_from_slice(iv.as_ref());
    let mut keys = RecordKeys::from_key(suite, key.as_ref(), nonce)?;
    keys.resume_at(sequence);
    Ok(keys)
}

impl Peer for GatewayConnection {
    fn lend(&mut self, _: &Call) -> Result<Session, PeerError> {
        let party = self.destination.address.to_string();
        let open = self.open.as_mut();
        let open = open.ok_or_else(|| PeerError::NoPeer(party.clone()))?;
        open.session.take().ok_or(PeerError::Busy(party))
    }

    fn take_back(&mut self, _: &Call, session: Option<Session>) {
        match (&mut self.open, session) {
            (Some(open), Some(session)) => open.session = Some(session),
            _ => self.open = None,
        }
    }

    fn exchange(&mut self, _: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError> {
        let mut exchanges = std::mem::take(&mut self.exchanges);
        let answered = exchanges.measure(
            self,
            |connection| connection.write(packets),
            GatewayConnection::read,
        );
        self.exchanges = exchanges;
        answered.map_err(|error| {
            let party = format!("the gateway at {}", self.destination.address);
            match error.kind() {
                io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => PeerError::Timeout(party),
                _ => PeerError::NoPeer(format!("{party}: {error}")),
            }
        })
    }
}
