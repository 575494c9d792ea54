//! Messages to JSON text and back.

use std::io;

use prost_reflect::prost::Message;
use prost_reflect::{
    DeserializeOptions, DynamicMessage, Kind, MessageDescriptor, SerializeOptions, Value,
};

use super::scan;
use crate::error::AccelError;
use crate::limits::Limits;

/// Turns one message on the wire into JSON text. Fields that the interface does not know are
/// skipped.
///
/// # Errors
/// Every way in which the bytes are not a message of that type within the limits; the place is a
/// byte of the message.
pub fn message_to_json(
    kind: &MessageDescriptor,
    bytes: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    decode(kind, bytes, limits).and_then(|message| write(&message, bytes.len(), limits))
}

/// Turns JSON text into one message on the wire.
///
/// # Errors
/// `bad_json`, which also is what does not fit the type; `too_deep`; `too_large`.
pub fn message_from_json(
    kind: &MessageDescriptor,
    json: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    crate::transform::check_json_depth(json, limits)?;
    let mut text = serde_json::Deserializer::from_slice(json);
    let options = DeserializeOptions::new().deny_unknown_fields(true);
    let read = DynamicMessage::deserialize_with_options(kind.clone(), &mut text, &options);
    let message = read.map_err(AccelError::from_json)?;
    text.end().map_err(AccelError::from_json)?;
    AccelError::check_size("message", message.encoded_len(), limits)?;
    Ok(message.encode_to_vec())
}

/// A message as JSON; `fact` is told its integers, enums and bools by the names in the interface.
pub(crate) fn message_with_facts(
    kind: &MessageDescriptor,
    bytes: &[u8],
    limits: &Limits,
    mut fact: impl FnMut(&str, i64),
) -> Result<Vec<u8>, AccelError> {
    let message = decode(kind, bytes, limits)?;
    let json = write(&message, bytes.len(), limits)?;
    for field in kind.fields() {
        if field.is_list() || field.is_map() || !has_number(&field.kind()) {
            continue;
        }
        if let Some(value) = number(&message.get_field(&field)) {
            fact(field.name(), value);
        }
    }
    Ok(json)
}

fn has_number(kind: &Kind) -> bool {
    !matches!(
        kind,
        Kind::Message(_) | Kind::String | Kind::Bytes | Kind::Double | Kind::Float
    )
}

fn number(value: &Value) -> Option<i64> {
    Some(match value {
        Value::Bool(value) => (*value).into(),
        Value::I32(value) | Value::EnumNumber(value) => (*value).into(),
        Value::U32(value) => (*value).into(),
        Value::I64(value) => *value,
        Value::U64(value) => i64::try_from(*value).ok()?,
        _ => return None,
    })
}

fn decode(
    kind: &MessageDescriptor,
    bytes: &[u8],
    limits: &Limits,
) -> Result<DynamicMessage, AccelError> {
    // The tree that the library makes can be many times as large as the bytes.
    scan::check(kind, bytes, limits)?;
    DynamicMessage::decode(kind.clone(), bytes).map_err(|error| AccelError::BadFrame {
        what: "protobuf message",
        at: 0,
        why: error.to_string(),
    })
}

fn write(message: &DynamicMessage, size: usize, limits: &Limits) -> Result<Vec<u8>, AccelError> {
    let mut out = Bounded {
        bytes: Vec::with_capacity(size + size / 2),
        limit: limits.max_message_bytes,
        full: false,
    };
    let options = SerializeOptions::new().skip_default_fields(false);
    let mut text = serde_json::Serializer::new(&mut out);
    match message.serialize_with_options(&mut text, &options) {
        Ok(()) => Ok(out.bytes),
        Err(_) if out.full => Err(AccelError::TooLarge {
            what: "JSON",
            size: out.limit + 1,
            limit: out.limit,
        }),
        Err(error) => Err(AccelError::BadFrame {
            what: "protobuf message",
            at: 0,
            why: error.to_string(),
        }),
    }
}

/// Refuses to grow beyond a limit.
struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
    full: bool,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.limit {
            self.full = true;
            return Err(io::Error::other("too large"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
