//! Converts protobuf messages to JSON text and back.

use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use prost_reflect::prost::Message;
use prost_reflect::{
    DeserializeOptions, DynamicMessage, MessageDescriptor, ReflectMessage, SerializeOptions,
};
use serde::Serialize;
use serde::de::DeserializeSeed;
use serde_json::ser::{CompactFormatter, Formatter};

use super::shape::{Builder, ShapeId, Shapes};
use super::{any, fields, read, scan, sorted, write};
use crate::budget::Budget;
use crate::error::{AccelError, ValueError};
use crate::json::check_bounds;
use crate::limits::Limits;

/// Converts `bytes`, one protobuf message of type `kind`, to JSON text (ProtoJSON). Unknown fields
/// are skipped.
///
/// # Errors
/// An [`AccelError`] if `bytes` are not one message of type `kind` within the limits. Most of these
/// errors state the byte offset of the fault in `bytes`.
pub fn message_to_json(
    kind: &MessageDescriptor,
    bytes: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    to_json(&MessageKind::new(kind.clone()), bytes, limits)
}

/// Converts JSON text (ProtoJSON) to one protobuf message of type `kind`.
///
/// # Errors
/// `bad_json` for text that is not JSON or does not fit the type `kind`; `bad_frame` for a
/// `DoubleValue` or `FloatValue` that is not finite; `too_deep`; `too_large`.
pub fn message_from_json(
    kind: &MessageDescriptor,
    json: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    from_json(&MessageKind::new(kind.clone()), json, limits)
}

/// A message type, with properties that are expensive to compute.
#[derive(Clone, Debug)]
pub(crate) struct MessageKind {
    kind: MessageDescriptor,
    /// Whether such a message can contain a map at any depth.
    maps: bool,
    /// Whether the library's writer is lossless and deterministic for this type. In general it is
    /// not: it omits -0.0 where the default value is 0.0, and writes maps in any order.
    exact: bool,
    shapes: Arc<Shapes>,
    id: ShapeId,
    plain: bool,
}

impl MessageKind {
    /// The type.
    pub(crate) fn descriptor(&self) -> &MessageDescriptor {
        &self.kind
    }

    pub(super) fn new(kind: MessageDescriptor) -> MessageKind {
        let mut builder = Builder::default();
        let id = builder.add(&kind);
        let (shapes, _) = builder.finish();
        MessageKind::at(kind, shapes, id)
    }

    /// Creates a type whose shape may be among `shapes`. `places` has their indices by name.
    pub(super) fn known(
        kind: MessageDescriptor,
        shapes: &Arc<Shapes>,
        places: &HashMap<String, ShapeId>,
    ) -> MessageKind {
        match places.get(kind.full_name()) {
            Some(id) => MessageKind::at(kind, shapes.clone(), *id),
            None => MessageKind::new(kind),
        }
    }

    fn at(kind: MessageDescriptor, shapes: Arc<Shapes>, id: ShapeId) -> MessageKind {
        let [maps, floats] = sorted::find(&kind);
        MessageKind {
            maps,
            exact: !maps && !floats,
            plain: shapes.is_plain(id),
            kind,
            shapes,
            id,
        }
    }

    /// Whether messages can be read and written as records, without JSON.
    pub(super) fn is_plain(&self) -> bool {
        self.plain
    }

    pub(super) fn read<'a, S: DeserializeSeed<'a>>(
        &self,
        bytes: &'a [u8],
        limits: &Limits,
        seed: S,
    ) -> Result<S::Value, AccelError> {
        read::whole_message(&self.shapes, self.id, bytes, limits, seed)
    }

    pub(super) fn write<T: Serialize + ?Sized>(
        &self,
        value: &T,
        limits: &Limits,
        out: &mut Vec<u8>,
    ) -> Result<(), AccelError> {
        write::whole_message(&self.shapes, self.id, value, limits, out)
    }
}

/// Like [`message_from_json`].
pub(crate) fn from_json(
    kind: &MessageKind,
    json: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    // Lists and maps of messages are a nesting level only in JSON.
    let brackets = Limits {
        max_depth: limits.max_depth.saturating_mul(2),
        ..*limits
    };
    check_bounds(json, &brackets)?;
    let holds_any = kind.shapes.message(kind.id).may_hold_any;
    let marked = match holds_any && has_empty_object(json) {
        // Text of another form is refused below.
        true => sorted::json(&kind.kind, json, (any::EMPTY, any::MARKED)).ok(),
        false => None,
    };
    let mut text = serde_json::Deserializer::from_slice(marked.as_deref().unwrap_or(json));
    // The depth has been checked against the limit in `limits`.
    text.disable_recursion_limit();
    let options = DeserializeOptions::new().deny_unknown_fields(true);
    let read = DynamicMessage::deserialize_with_options(kind.kind.clone(), &mut text, &options);
    let mut message = read.map_err(AccelError::from_json)?;
    if holds_any {
        any::unmark(&mut message);
    }
    text.end().map_err(AccelError::from_json)?;
    limits.check_size("bytes of the protobuf message", message.encoded_len())?;
    let bytes = match kind.exact {
        true => message.encode_to_vec(),
        false => sorted::encode(&message),
    };
    // A receiver with the same limits must be able to read the message.
    scan::check(&kind.shapes, kind.id, &bytes, limits)?;
    Ok(bytes)
}

/// Whether `{}` is in JSON text. It may be in a string.
fn has_empty_object(json: &[u8]) -> bool {
    let mut opens = false;
    json.iter().any(|byte| {
        let closes = opens && *byte == b'}';
        opens = *byte == b'{' || (opens && byte.is_ascii_whitespace());
        closes
    })
}

/// Like [`message_to_json`].
pub(super) fn to_json(
    kind: &MessageKind,
    bytes: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    // The library's tree can be many times as large as the bytes.
    scan::check(&kind.shapes, kind.id, bytes, limits)?;
    let message = DynamicMessage::decode(kind.kind.clone(), bytes);
    let mut message = message.map_err(|error| AccelError::BadFrame {
        what: "protobuf message",
        at: 0,
        why: error.to_string(),
    })?;
    if kind.shapes.message(kind.id).may_hold_any {
        any::mark(&mut message);
    }
    write_json(&message, kind, bytes.len(), limits)
}

/// Converts a message to JSON, and calls `fact` with its integers, enums and bools and their names
/// in the interface.
pub(crate) fn message_with_facts(
    kind: &MessageKind,
    bytes: &[u8],
    limits: &Limits,
    fact: impl FnMut(&Arc<str>, i64),
) -> Result<Vec<u8>, AccelError> {
    let json = to_json(kind, bytes, limits)?;
    report_facts(kind, bytes, fact)?;
    Ok(json)
}

/// Checks a message, and calls `fact` as [`message_with_facts`] does.
pub(crate) fn check(
    kind: &MessageKind,
    bytes: &[u8],
    limits: &Limits,
    fact: impl FnMut(&Arc<str>, i64),
) -> Result<(), AccelError> {
    scan::check(&kind.shapes, kind.id, bytes, limits)?;
    report_facts(kind, bytes, fact)
}

fn report_facts(
    kind: &MessageKind,
    bytes: &[u8],
    mut fact: impl FnMut(&Arc<str>, i64),
) -> Result<(), AccelError> {
    let shape = kind.shapes.message(kind.id);
    let reported = fields::facts(shape, bytes, |field, value| fact(&field.name, value));
    reported.map_err(|error| ValueError::from(error).0)
}

fn write_json(
    message: &DynamicMessage,
    kind: &MessageKind,
    size: usize,
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    let mut out = Bounded {
        bytes: Vec::with_capacity((size + size / 2).min(limits.max_message_bytes)),
        limit: limits.max_message_bytes,
        full: false,
    };
    let options = SerializeOptions::new().skip_default_fields(false);
    let refused = Cell::new(None);
    let form = Form {
        // The elements of plain messages were counted on the wire.
        budget: (!kind.plain).then(|| Budget::new(limits)),
        refused: &refused,
    };
    let mut text = serde_json::Serializer::with_formatter(&mut out, form);
    let failed = |error: serde_json::Error| AccelError::BadFrame {
        what: "protobuf message",
        at: 0,
        why: error.to_string(),
    };
    let written = message.serialize_with_options(&mut text, &options);
    if let Some(error) = refused.take() {
        return Err(error);
    }
    match written {
        Ok(()) => match kind.maps {
            true => sorted::json(&message.descriptor(), &out.bytes, (any::MARKED, any::EMPTY))
                .map_err(failed),
            false => Ok(out.bytes),
        },
        Err(_) if out.full => Err(AccelError::TooLarge {
            what: "bytes of the JSON text",
            size: out.limit + 1,
            limit: out.limit,
        }),
        Err(error) => Err(failed(error)),
    }
}

/// A formatter of compact JSON in which every `float` can be read again. The shortest decimals of
/// the largest float would be out of its range when read as a 64-bit number. Charges members and
/// elements to the budget, if there is one.
struct Form<'f> {
    budget: Option<Budget>,
    /// The error that ended the output.
    refused: &'f Cell<Option<AccelError>>,
}

impl Form<'_> {
    fn count(&mut self) -> io::Result<()> {
        let Some(Err(error)) = self.budget.as_mut().map(|budget| budget.elements(1)) else {
            return Ok(());
        };
        self.refused.set(Some(error));
        Err(io::Error::other("too many elements"))
    }
}

impl Formatter for Form<'_> {
    fn begin_array_value<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.count()?;
        CompactFormatter.begin_array_value(out, first)
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.count()?;
        CompactFormatter.begin_object_key(out, first)
    }

    fn write_f32<W: io::Write + ?Sized>(&mut self, out: &mut W, value: f32) -> io::Result<()> {
        match value.abs() == f32::MAX {
            true => CompactFormatter.write_f64(out, value.into()),
            false => CompactFormatter.write_f32(out, value),
        }
    }
}

/// A buffer that refuses to grow beyond a limit.
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
