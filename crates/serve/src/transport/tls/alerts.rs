//! What an end of a TLS connection says last: that it has said all, or what is wrong.
//!
//! A stream that was tampered with must not look like one that has ended (RFC 8446, sections 5.2
//! and 6.2), so errors of TLS are told by fatal alerts, and everything else ends with `close_notify`.

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

/// Why a connection ends whose other end has sent this alert.
pub(crate) fn received(description: u8) -> Close {
    match description {
        CLOSE_NOTIFY | USER_CANCELED => Close::Done,
        description => Close::Alert(description),
    }
}

/// What is wrong with a message of TLS that cannot be handled.
pub(crate) fn out_of_place(content: ContentType, message: &[u8]) -> AccelError {
    let bad = |why: &str, alert| AccelError::BadRecord {
        at: 0,
        why: why.to_owned(),
        alert,
    };
    match (content, message) {
        (ContentType::Alert, _) => bad("an alert has two bytes", DECODE_ERROR),
        (ContentType::Handshake, [KEY_UPDATE, 0, 0, 1, _]) => {
            bad("a key update asks for one with 0 or 1", ILLEGAL_PARAMETER)
        }
        (ContentType::Handshake, [KEY_UPDATE, ..]) => bad(
            "a key update has one byte, and a record of its own",
            DECODE_ERROR,
        ),
        _ => AccelError::UnexpectedContentType {
            at: 0,
            found: content as u8,
        },
    }
}

/// The alert that a record which cannot be opened calls for; none for an error that is not TLS's.
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

/// The fatal alert that an end calls for.
fn of_close(close: &Close) -> Option<u8> {
    match close {
        Close::Malformed(error) => of_record(error),
        Close::KeyUpdates => Some(UNEXPECTED_MESSAGE),
        // After the handshake, which tells its errors itself: new keys could not be made.
        Close::Handshake(_) => Some(INTERNAL_ERROR),
        _ => None,
    }
}

/// Whether an end calls for a fatal alert.
pub(crate) fn is_fatal(close: &Close) -> bool {
    of_close(close).is_some()
}

/// The record that is sent last on a connection that ends so. An alert is not answered.
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

/// How long, and for how many bytes, a connection is kept open behind a fatal alert.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_BYTES: usize = 1 << 20;

/// Lets the other end read an alert: closing a connection from which not everything was read resets
/// it, and what it had sent last may then be lost on the way.
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
