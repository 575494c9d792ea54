//! The TLS 1.3 handshake, which rustls performs. Afterwards Decr and Encr process the records.
//!
//! After the handshake, rustls exports the traffic keys, as it does for TLS in the operating
//! system's kernel. rustls keeps the secrets from which a key update derives new keys.

use std::io::{self};
use std::net::TcpStream;
use std::time::Instant;

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

use crate::transport::close::Close;
use crate::transport::inbound::Inbound;
use crate::transport::socket::{is_timeout, write_all};

/// An end of a handshake: a client or a server.
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

/// Carries out a handshake. If it fails, sends the alert with the reason.
pub(crate) fn shake<C: Handshake>(
    connection: &mut C,
    stream: &TcpStream,
    inbound: &mut Inbound,
    deadline: Instant,
) -> Result<(), Close> {
    // One record at a time: the records after the peer's Finished are for Decr. rustls keeps its
    // intermediate results in the records, such as the joined parts of a message, so each call gets
    // the same bytes again until they are discarded.
    let mut window = 0;
    let mut outgoing = Vec::new();
    loop {
        let records = &mut inbound.bytes_mut()[..window];
        let status = connection.process(records);
        let (discard, blocked) = (status.discard, is_blocked(&status.state));
        let done = match status.state {
            Ok(state) => advance(state, &mut outgoing, stream, deadline)?,
            Err(error) => {
                if !matches!(error, rustls::Error::AlertReceived(_)) {
                    let rest = discard.min(window);
                    let _ = send_alert(connection, &mut records[rest..], stream, deadline);
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

/// Takes one step of the handshake; returns whether it is complete.
fn advance<D>(
    state: ConnectionState<'_, '_, D>,
    outgoing: &mut Vec<u8>,
    stream: &TcpStream,
    deadline: Instant,
) -> Result<bool, Close> {
    match state {
        ConnectionState::EncodeTlsData(mut data) => {
            let start = outgoing.len();
            // If this is too small, the encoder returns the required size. A handshake message has
            // at most 2^24 bytes.
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
        _ => Err(Close::Failed(
            "TLS: data before the end of the handshake".to_owned(),
        )),
    }
}

/// Sends rustls' alert for its error, if there is one. Until then rustls needs the rest of the same
/// bytes, since it remembers its position in them. After the alert it is not called again.
fn send_alert<C: Handshake>(
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

/// Whether a record of a handshake is an alert. An unencrypted record states its type. An encrypted
/// alert is smaller than every other message.
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

/// Waits for one more whole record after the first `window` bytes; returns its length.
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
            // Malformed data, such as an HTTP request instead of a ClientHello, is passed to
            // rustls, which refuses it.
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
