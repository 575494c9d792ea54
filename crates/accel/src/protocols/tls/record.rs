//! Protects and decrypts TLS 1.3 records: TLSInnerPlaintext in TLSCiphertext (RFC 8446, section
//! 5.2).

use std::ops::Range;

use aws_lc_rs::aead::{Aad, MAX_TAG_LEN};

use super::keys::RecordKeys;
use crate::error::AccelError;
use crate::limits::Limits;

/// The largest plaintext of a TLS record, in bytes: 2^14.
pub const MAX_PLAINTEXT: usize = 1 << 14;

/// Most ciphertext bytes in a record: 2^14 + 256 (section 5.2).
const MAX_CIPHERTEXT: usize = MAX_PLAINTEXT + 256;
const HEADER: usize = 5;
const TAG: usize = MAX_TAG_LEN;
const APPLICATION_DATA: u8 = 23;

/// The content type of a protected TLS record, with its number (RFC 8446, section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ContentType {
    /// An alert: `close_notify` or an error.
    Alert = 21,
    /// A handshake message: a key update or a session ticket.
    Handshake = 22,
    /// The data that the accelerators read and write.
    ApplicationData = APPLICATION_DATA,
}

/// Alerts for malformed records (RFC 8446, sections 5, 5.2, 5.4 and 6).
const UNEXPECTED_MESSAGE: u8 = 10;
const BAD_RECORD_MAC: u8 = 20;
const DECODE_ERROR: u8 = 50;

/// The frozen version of every record header (section 5.1).
const LEGACY_VERSION: [u8; 2] = [3, 3];

/// Encrypts `plaintext` into one or more TLS records of application data without padding. An empty
/// plaintext is one record.
///
/// On success the sequence number of `keys` advances by the number of records.
///
/// # Errors
/// `too_large`, `sequence_exhausted`.
pub fn seal(
    keys: &mut RecordKeys,
    plaintext: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    seal_as(keys, ContentType::ApplicationData, plaintext, limits)
}

/// Encrypts `plaintext` like [`seal`], as content of the type `content`, such as an alert.
///
/// # Errors
/// The errors of [`seal`].
pub fn seal_as(
    keys: &mut RecordKeys,
    content: ContentType,
    plaintext: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    limits.check_size("bytes of the plaintext for TLS", plaintext.len())?;
    let records = plaintext.len().div_ceil(MAX_PLAINTEXT).max(1);
    let mut out = Vec::with_capacity(plaintext.len() + records * (HEADER + 1 + TAG));
    let mut sequence = keys.sequence();
    let mut rest = plaintext;
    for _ in 0..records {
        let (fragment, tail) = rest.split_at(rest.len().min(MAX_PLAINTEXT));
        rest = tail;
        let header = header(fragment.len() + 1 + TAG);
        out.extend_from_slice(&header);
        let start = out.len();
        out.extend_from_slice(fragment);
        out.push(content as u8);
        let next = next_sequence(sequence)?;
        let tag = keys
            .aead()
            .seal_in_place_separate_tag(keys.nonce(sequence), Aad::from(header), &mut out[start..])
            .map_err(|_| AccelError::SequenceExhausted { sequence })?;
        out.extend_from_slice(tag.as_ref());
        sequence = next;
    }
    keys.resume_at(sequence);
    Ok(out)
}

/// Decrypts all TLS records in `records` and returns their application data.
///
/// On success the sequence number of `keys` advances by the number of records; on an error it is
/// unchanged.
///
/// # Errors
/// `truncated`, `bad_record`, `record_overflow`, `bad_tag`, `unexpected_content_type`,
/// `sequence_exhausted`, `too_large`.
pub fn open(keys: &mut RecordKeys, records: &[u8], limits: &Limits) -> Result<Vec<u8>, AccelError> {
    let overhead = records.len().div_ceil(MAX_CIPHERTEXT).max(1) * (HEADER + 1 + TAG);
    limits.check_size(
        "bytes of the TLS records",
        records.len().saturating_sub(overhead),
    )?;
    let mut out = Vec::with_capacity(records.len());
    let mut sequence = keys.sequence();
    let mut at = 0;
    while at < records.len() || at == 0 {
        let opened = open_at(keys, sequence, records, at, &mut out)?;
        if opened.content != ContentType::ApplicationData {
            let found = opened.content as u8;
            return Err(AccelError::UnexpectedContentType { at, found });
        }
        sequence = next_sequence(sequence)?;
        at = opened.end;
    }
    keys.resume_at(sequence);
    Ok(out)
}

/// Decrypts the first TLS record in `records`, of any [`ContentType`], and appends its content to
/// `out`. Returns the content type and the offset of the record's end in bytes. The sequence number
/// of `keys` advances by 1.
///
/// This function is for records that the Decr accelerator does not process: alerts and key updates.
///
/// # Errors
/// The errors of [`open`] except `too_large`. `out` and `keys` are then unchanged.
pub fn open_first(
    keys: &mut RecordKeys,
    records: &[u8],
    out: &mut Vec<u8>,
) -> Result<(ContentType, usize), AccelError> {
    let (sequence, before) = (keys.sequence(), out.len());
    let next = next_sequence(sequence)?;
    match open_at(keys, sequence, records, 0, out) {
        Ok(opened) => {
            keys.resume_at(next);
            Ok((opened.content, opened.end))
        }
        Err(error) => {
            out.truncate(before);
            Err(error)
        }
    }
}

/// Decrypts the first TLS record in `records` in place, without a copy of its content. The sequence
/// number of `keys` advances by 1.
///
/// Returns the content type, the range of the content in `records` (after the record header), and
/// the offset of the record's end in bytes.
///
/// # Errors
/// The errors of [`open_first`]. The record's bytes are then unspecified, and `keys` are unchanged.
pub fn open_first_in_place(
    keys: &mut RecordKeys,
    records: &mut [u8],
) -> Result<(ContentType, Range<usize>, usize), AccelError> {
    let sequence = keys.sequence();
    let next = next_sequence(sequence)?;
    let length = read_header(records, 0)?;
    let (header, rest) = records.split_at_mut(HEADER);
    let (inside, content) = open_body(keys, sequence, header, &mut rest[..length], 0)?;
    keys.resume_at(next);
    Ok((content, HEADER..HEADER + inside, HEADER + length))
}

/// Returns the length of the TLS record at the start of `bytes`, in bytes including the header, and
/// whether the record is full: its ciphertext is longer than 2^14 bytes, so that the next record
/// may continue the message. `bytes` need not contain the whole record. `None` if `bytes` ends
/// within the header.
///
/// # Errors
/// `bad_record` or `record_overflow` for a header that is invalid for a protected record.
pub fn record_length(bytes: &[u8]) -> Result<Option<(usize, bool)>, AccelError> {
    if bytes.len() < HEADER {
        return Ok(None);
    }
    let length = check_header(bytes, 0)?;
    Ok(Some((HEADER + length, length > MAX_PLAINTEXT)))
}

struct Opened {
    content: ContentType,
    end: usize,
}

fn open_at(
    keys: &RecordKeys,
    sequence: u64,
    records: &[u8],
    at: usize,
    out: &mut Vec<u8>,
) -> Result<Opened, AccelError> {
    let length = read_header(records, at)?;
    let (body, start) = (at + HEADER, out.len());
    let end = body + length;
    out.extend_from_slice(&records[body..end]);
    let header = &records[at..body];
    let (length_inside, content) = open_body(keys, sequence, header, &mut out[start..], at)?;
    out.truncate(start + length_inside);
    Ok(Opened { content, end })
}

/// Decrypts the ciphertext of a record in place. Returns the length of its content, and its type.
fn open_body(
    keys: &RecordKeys,
    sequence: u64,
    header: &[u8],
    body: &mut [u8],
    at: usize,
) -> Result<(usize, ContentType), AccelError> {
    let opened = keys
        .aead()
        .open_in_place(keys.nonce(sequence), Aad::from(header), body)
        .map_err(|_| AccelError::BadTag { at, sequence })?;
    strip_padding(opened, at)
}

fn header(length: usize) -> [u8; HEADER] {
    let [high, low] = (length as u16).to_be_bytes();
    [
        APPLICATION_DATA,
        LEGACY_VERSION[0],
        LEGACY_VERSION[1],
        high,
        low,
    ]
}

fn next_sequence(sequence: u64) -> Result<u64, AccelError> {
    sequence
        .checked_add(1)
        .ok_or(AccelError::SequenceExhausted { sequence })
}

/// Checks a record's header and returns the length of its ciphertext.
fn read_header(records: &[u8], at: usize) -> Result<usize, AccelError> {
    let have = records.len() - at;
    if have < HEADER {
        return Err(AccelError::Truncated {
            what: "TLS record header",
            at,
            need: HEADER,
            have,
        });
    }
    let length = check_header(records, at)?;
    if have < HEADER + length {
        return Err(AccelError::Truncated {
            what: "TLS record",
            at,
            need: HEADER + length,
            have,
        });
    }
    Ok(length)
}

/// Checks a complete header and returns the length in it.
fn check_header(records: &[u8], at: usize) -> Result<usize, AccelError> {
    let head = &records[at..at + HEADER];
    if head[0] != APPLICATION_DATA {
        let why = format!(
            "outer content type = {}: must be 23 (application data)",
            head[0]
        );
        return Err(bad_record(at, why, UNEXPECTED_MESSAGE));
    }
    if head[1..3] != LEGACY_VERSION {
        let why = format!("version = {:#04x}{:02x}: must be 0x0303", head[1], head[2]);
        return Err(bad_record(at + 1, why, DECODE_ERROR));
    }
    let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
    if length > MAX_CIPHERTEXT {
        return Err(AccelError::RecordOverflow {
            at,
            size: length,
            limit: MAX_CIPHERTEXT,
        });
    }
    if length < TAG + 1 {
        let why = format!(
            "length = {length}: must be at least {}, the size of a tag and a content type",
            TAG + 1
        );
        // A record without room for a tag fails authentication.
        return Err(bad_record(at + 3, why, BAD_RECORD_MAC));
    }
    Ok(length)
}

fn bad_record(at: usize, why: String, alert: u8) -> AccelError {
    AccelError::BadRecord { at, why, alert }
}

/// Returns the length of a decrypted record's content, without padding and content type, and its
/// type.
fn strip_padding(opened: &[u8], at: usize) -> Result<(usize, ContentType), AccelError> {
    if opened.len() > MAX_PLAINTEXT + 1 {
        return Err(AccelError::RecordOverflow {
            at,
            size: opened.len() - 1,
            limit: MAX_PLAINTEXT,
        });
    }
    let Some(end) = opened.iter().rposition(|byte| *byte != 0) else {
        let why = "the decrypted plaintext has only zeros: must have a content type".to_owned();
        return Err(bad_record(at, why, UNEXPECTED_MESSAGE));
    };
    match opened[end] {
        21 => Ok((end, ContentType::Alert)),
        22 => Ok((end, ContentType::Handshake)),
        APPLICATION_DATA => Ok((end, ContentType::ApplicationData)),
        found => Err(AccelError::UnexpectedContentType { at, found }),
    }
}
