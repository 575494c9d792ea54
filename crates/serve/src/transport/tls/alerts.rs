//! TLS alerts, with which a peer announces the end of a connection or an error.
//!
//! A manipulated stream must not look like one that has ended (RFC 8446, sections 5.2 and 6.2). So
//! a TLS error causes a fatal alert, and all other connections end with `close_notify`.

use std::io::Read;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use accelflow_accel::tls::{ContentType, TlsSession, seal_as};
use accelflow_accel::{AccelError, Limits};

use crate::transport::close::Close;

/// Descriptions of alerts (RFC 8446, section 6).
const CLOSE_NOTIFY: u8 = 0;
const UNEXPECTED_MESSAGE: u8 = 10;
const BAD_RECORD_MAC: u8 = 20;
const RECORD_OVERFLOW: u8 = 22;
const ILLEGAL_PARAMETER: u8 = 47;
const DECODE_ERROR: u8 = 50;
const INTERNAL_ERROR: u8 = 80;
const USER_CANCELED: u8 = 90;

const WARNING: u8 = 1;
const FATAL: u8 = 2;

const KEY_UPDATE: u8 = 24;

/// The reason of a connection's end after the peer has sent this alert.
pub(crate) fn received(description: u8) -> Close {
    match description {
        CLOSE_NOTIFY | USER_CANCELED => Close::Done,
        description => Close::Alert(description),
    }
}

/// The error of a TLS control message that is not allowed.
pub(crate) fn out_of_place(content: ContentType, message: &[u8]) -> AccelError {
    let bad = |why: &str, alert| AccelError::BadRecord {
        at: 0,
        why: why.to_owned(),
        alert,
    };
    match (content, message) {
        (ContentType::Alert, _) => bad("an alert must have two bytes", DECODE_ERROR),
        (ContentType::Handshake, [KEY_UPDATE, 0, 0, 1, _]) => bad(
            "the request flag of a key update must be 0 or 1",
            ILLEGAL_PARAMETER,
        ),
        (ContentType::Handshake, [KEY_UPDATE, ..]) => bad(
            "a key update must have one byte and be alone in its record",
            DECODE_ERROR,
        ),
        _ => AccelError::UnexpectedContentType {
            at: 0,
            found: content as u8,
        },
    }
}

/// Returns the alert for a record that cannot be decrypted; `None` for errors outside TLS.
pub(crate) fn of_record(error: &AccelError) -> Option<u8> {
    match error {
        AccelError::BadTag { .. } => Some(BAD_RECORD_MAC),
        AccelError::RecordOverflow { .. } => Some(RECORD_OVERFLOW),
        AccelError::UnexpectedContentType { .. } => Some(UNEXPECTED_MESSAGE),
        AccelError::BadRecord { alert, .. } => Some(*alert),
        AccelError::SequenceExhausted { .. } => Some(INTERNAL_ERROR),
        _ => None,
    }
}

/// Returns the fatal alert for the end of a connection, if the reason requires one.
fn of_close(close: &Close) -> Option<u8> {
    match close {
        Close::Malformed(error) => of_record(error),
        Close::KeyUpdates => Some(UNEXPECTED_MESSAGE),
        // New keys could not be derived. The handshake itself sends its own alerts.
        Close::Handshake(_) => Some(INTERNAL_ERROR),
        _ => None,
    }
}

/// Whether the reason for the end of a connection requires a fatal alert.
pub(crate) fn is_fatal(close: &Close) -> bool {
    of_close(close).is_some()
}

/// The last record of a connection that ends for this reason. An alert is not answered.
pub(crate) fn farewell(
    session: &mut TlsSession,
    close: &Close,
    limits: &Limits,
) -> Option<Vec<u8>> {
    match (close, of_close(close)) {
        (Close::Alert(_), _) => None,
        (_, Some(description)) => fatal(session, description, limits),
        (_, None) => sealed(session, [WARNING, CLOSE_NOTIFY], limits),
    }
}

/// The time for which a connection stays open after a fatal alert.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_BYTES: usize = 1 << 20;

/// Waits for the peer to read an alert. Closing a socket with unread data resets the connection,
/// and the alert may then be lost on the way.
pub(crate) fn linger(mut stream: &TcpStream) {
    let (end, mut left) = (Instant::now() + LINGER, LINGER_BYTES);
    let mut thrown_away = [0; 4096];
    let _ = stream.shutdown(Shutdown::Write);
    while left > 0 {
        let patience = end.saturating_duration_since(Instant::now());
        if patience.is_zero() || stream.set_read_timeout(Some(patience)).is_err() {
            return;
        }
        match stream.read(&mut thrown_away) {
            Ok(0) | Err(_) => return,
            Ok(read) => left = left.saturating_sub(read),
        }
    }
}

/// A fatal alert.
pub(crate) fn fatal(session: &mut TlsSession, description: u8, limits: &Limits) -> Option<Vec<u8>> {
    sealed(session, [FATAL, description], limits)
}

fn sealed(session: &mut TlsSession, alert: [u8; 2], limits: &Limits) -> Option<Vec<u8>> {
    seal_as(&mut session.write, ContentType::Alert, &alert, limits).ok()
}
