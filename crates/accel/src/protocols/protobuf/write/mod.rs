//! Values of an application's own types to protobuf by serde, without JSON text in between.
//!
//! What is written is what [`super::message_from_json`] makes of the JSON that the value is for
//! `serde_json`. What is not as simple as that, or an error, is left to it.

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

/// Writes one message in the place of what is in `out`.
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
    limits.check_size("message", out.len())?;
    // Whoever has the same limits can read it. Most messages are too small to have too many elements.
    match out.len().saturating_mul(shapes.most_always()) > limits.max_elements {
        true => scan::check(shapes, id, out, limits),
        false => Ok(()),
    }
}
