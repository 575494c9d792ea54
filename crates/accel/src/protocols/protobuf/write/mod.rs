//! A serde serializer that writes values of an application's own types as protobuf messages.
//!
//! The serializer writes the same bytes as [`super::message_from_json`] for the JSON of the value.
//! It refuses invalid values, and values that it cannot encode itself, such as a byte slice, which
//! is an array of numbers in JSON. The caller then encodes the refused value through JSON.

mod key;
mod serializer;
mod sink;
mod value;

use serde::Serialize;

use self::sink::Sink;
use self::value::{At, Value};
use super::scan;
use super::shape::{ShapeId, Shapes, Ty};
use crate::error::AccelError;
use crate::limits::Limits;

/// Writes one message, which replaces the content of `out`.
pub(super) fn whole_message<T: Serialize + ?Sized>(
    shapes: &Shapes,
    id: ShapeId,
    value: &T,
    limits: &Limits,
    out: &mut Vec<u8>,
) -> Result<(), AccelError> {
    out.clear();
    let mut sink = Sink {
        shapes,
        limits,
        out,
        parts: Vec::new(),
    };
    let whole = Value {
        sink: &mut sink,
        ty: Ty::Message(id),
        at: At::Root,
        depth: 0,
    };
    value.serialize(whole).map_err(|error| error.0)?;
    limits.check_size("bytes of the protobuf message", out.len())?;
    // A receiver with the same limits must be able to read the message. Most messages are too small
    // for too many elements.
    match out.len().saturating_mul(shapes.most_always()) > limits.max_elements {
        true => scan::check(shapes, id, out, limits),
        false => Ok(()),
    }
}
