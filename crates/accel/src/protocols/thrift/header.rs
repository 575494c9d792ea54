//! Frames and message headers: a 4-byte big-endian length, and a header in the strict binary
//! (`0x8001`) or compact (`0x82`, version 1) protocol.

use super::protocol::Protocol;
use super::wire::{Cursor, MAX_VARINT32, write_varint};
use crate::error::AccelError;
use crate::limits::Limits;

const FRAME_HEADER: usize = 4;
const BINARY_VERSION: u16 = 0x8001;
const COMPACT_MAGIC: u8 = 0x82;
const COMPACT_VERSION: u8 = 1;

/// The type of a Thrift message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MessageType {
    /// A request that expects a reply.
    Call = 1,
    /// A reply: a result, or an exception that the interface declares.
    Reply = 2,
    /// A reply that is a `TApplicationException`.
    Exception = 3,
    /// A request without a reply.
    Oneway = 4,
}

impl MessageType {
    fn from_code(code: u8, at: usize) -> Result<MessageType, AccelError> {
        Ok(match code {
            1 => MessageType::Call,
            2 => MessageType::Reply,
            3 => MessageType::Exception,
            4 => MessageType::Oneway,
            found => return Err(AccelError::BadMessageType { at, found }),
        })
    }
}

/// The header of a Thrift message, read without knowledge of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHeader<'a> {
    /// The Thrift protocol of the message.
    pub protocol: Protocol,
    /// The message's type: call, reply, exception or oneway.
    pub message_type: MessageType,
    /// The sequence identifier, equal in a request and its reply.
    pub sequence: i32,
    /// The name of the method, or `service:method` as in Thrift's multiplexed protocol.
    pub name: &'a str,
    /// The offset in bytes of the message's body, from the start of the frame length.
    pub body: usize,
}

/// Reads the frame length and the header of a Thrift message, without knowledge of the interface.
///
/// # Errors
/// `truncated`, `trailing_bytes`, `negative_length`, `too_large`, `bad_magic_or_version`,
/// `bad_message_type`, `bad_utf8`, `bad_varint`.
pub fn read_header<'a>(
    message: &'a [u8],
    limits: &Limits,
) -> Result<MessageHeader<'a>, AccelError> {
    let mut cursor = read_frame(message, limits)?;
    let start = cursor.at();
    let [first, second] = cursor.array("message header")?;
    let (protocol, message_type, sequence, name);
    if u16::from_be_bytes([first, second]) == BINARY_VERSION {
        let [_, code] = cursor.array("message header")?;
        message_type = MessageType::from_code(code, start + 3)?;
        let at = cursor.at();
        let length = i32::from_be_bytes(cursor.array("method name length")?);
        name = read_name(&mut cursor, at, length.into(), limits)?;
        sequence = i32::from_be_bytes(cursor.array("sequence identifier")?);
        protocol = Protocol::Binary;
    } else if first == COMPACT_MAGIC && second & 0x1f == COMPACT_VERSION {
        message_type = MessageType::from_code(second >> 5, start + 1)?;
        // The 32 bits of an i32: longer varints are malformed.
        sequence = cursor.varint(MAX_VARINT32)? as u32 as i32;
        let at = cursor.at();
        let length = cursor.length("method name length")?;
        name = read_name(&mut cursor, at, length, limits)?;
        protocol = Protocol::Compact;
    } else {
        let mut found = [first, second, 0, 0];
        let rest = &message[cursor.at()..];
        found[2..2 + rest.len().min(2)].copy_from_slice(&rest[..rest.len().min(2)]);
        let found = u32::from_be_bytes(found);
        return Err(AccelError::BadMagicOrVersion { at: start, found });
    }
    let body = cursor.at();
    Ok(MessageHeader {
        protocol,
        message_type,
        sequence,
        name,
        body,
    })
}

/// Checks that `message` is exactly one frame. Returns a cursor after its length.
pub(crate) fn read_frame<'a>(message: &'a [u8], limits: &Limits) -> Result<Cursor<'a>, AccelError> {
    let mut cursor = Cursor::new(message, limits);
    let length = i32::from_be_bytes(cursor.array("frame length")?);
    let found = i64::from(length);
    let length = usize::try_from(length).map_err(|_| AccelError::NegativeLength {
        what: "frame length",
        at: 0,
        found,
    })?;
    limits.check_size("bytes of the Thrift frame", length)?;
    let have = cursor.remaining();
    if length > have {
        return Err(AccelError::Truncated {
            what: "frame",
            at: FRAME_HEADER,
            need: length,
            have,
        });
    }
    if length < have {
        let (at, extra) = (FRAME_HEADER + length, have - length);
        return Err(AccelError::TrailingBytes {
            what: "frame",
            at,
            extra,
        });
    }
    Ok(cursor)
}

/// Reads a method name of `length` bytes. The length was read at byte `at`.
fn read_name<'a>(
    cursor: &mut Cursor<'a>,
    at: usize,
    length: i64,
    limits: &Limits,
) -> Result<&'a str, AccelError> {
    let what = "method name length";
    let size = usize::try_from(length).map_err(|_| AccelError::NegativeLength {
        what,
        at,
        found: length,
    })?;
    let limit = limits.max_name_bytes;
    if size > limit {
        return Err(AccelError::TooLarge {
            what: "bytes of the method name",
            size,
            limit,
        });
    }
    let start = cursor.at();
    let bytes = cursor.take("method name", size)?;
    std::str::from_utf8(bytes).map_err(|error| AccelError::BadUtf8 {
        what: "the method name".to_owned(),
        at: start + error.valid_up_to(),
    })
}

/// Writes the frame length and the header of a message whose body has `body_bytes`. With a
/// `service`, the header names the method as `service:method`; `header.name` is the method alone.
///
/// # Errors
/// `too_large`.
pub(super) fn write_header(
    header: &MessageHeader<'_>,
    service: Option<&str>,
    body_bytes: usize,
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    let name_bytes = header.name.len() + service.map_or(0, |service| service.len() + 1);
    let mut out = Vec::with_capacity(FRAME_HEADER + 12 + name_bytes);
    out.extend_from_slice(&[0; FRAME_HEADER]);
    let code = header.message_type as u8;
    let write_name = |out: &mut Vec<u8>| {
        if let Some(service) = service {
            out.extend_from_slice(service.as_bytes());
            out.push(b':');
        }
        out.extend_from_slice(header.name.as_bytes());
    };
    match header.protocol {
        Protocol::Binary => {
            out.extend_from_slice(&BINARY_VERSION.to_be_bytes());
            out.extend_from_slice(&[0, code]);
            out.extend_from_slice(&(name_bytes as u32).to_be_bytes());
            write_name(&mut out);
            out.extend_from_slice(&header.sequence.to_be_bytes());
        }
        Protocol::Compact => {
            out.extend_from_slice(&[COMPACT_MAGIC, code << 5 | COMPACT_VERSION]);
            write_varint(&mut out, u64::from(header.sequence as u32));
            write_varint(&mut out, name_bytes as u64);
            write_name(&mut out);
        }
    }
    let length = out.len() - FRAME_HEADER + body_bytes;
    limits.check_size("bytes of the Thrift frame", length)?;
    out[..FRAME_HEADER].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(out)
}
