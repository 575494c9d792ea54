//! The field types of the messages of an interface, and example messages with these types and a
//! given size.

use accelflow_accel::thrift::{Schema, StructId, Ty};
use prost_reflect::{Kind, MessageDescriptor};

use crate::schema::{Message, Type, Value};

/// Structures nested beyond this depth are left out: a type may contain itself.
const DEEPEST: usize = 4;
/// A number that takes half of its bytes on the wire.
const NUMBER: i64 = 1 << 27;
/// The largest number of elements of a list that fills up a message.
const MOST_ELEMENTS: u64 = 1_000_000;

/// The type of a field; strings and lists have no size yet.
pub(crate) type Shape = Type;

/// The arguments of a Thrift function.
pub(crate) fn thrift_arguments(schema: &Schema, id: StructId) -> Vec<Shape> {
    thrift_fields(schema, id, 0)
}

/// The result of a Thrift function, if it has one; declared exceptions are left out.
pub(crate) fn thrift_result(schema: &Schema, id: StructId) -> Vec<Shape> {
    let fields = schema.get(id).fields.iter();
    let value = fields.filter(|field| field.id == 0);
    value.map(|field| of_thrift(schema, &field.ty, 0)).collect()
}

/// The fields of a structure; of a union only the first.
fn thrift_fields(schema: &Schema, id: StructId, depth: usize) -> Vec<Shape> {
    if depth > DEEPEST {
        return Vec::new();
    }
    let found = schema.get(id);
    let count = if found.is_union {
        1
    } else {
        found.fields.len()
    };
    let fields = found.fields.iter().take(count);
    fields
        .map(|field| of_thrift(schema, &field.ty, depth))
        .collect()
}

fn of_thrift(schema: &Schema, ty: &Ty, depth: usize) -> Shape {
    match ty {
        Ty::Bool => Type::Bool,
        Ty::I8 | Ty::I16 | Ty::I32 => Type::I32,
        Ty::I64 => Type::I64,
        Ty::Double => Type::Double,
        Ty::String | Ty::Binary => Type::Text,
        Ty::List(element) | Ty::Set(element) => {
            Type::List(Box::new(of_thrift(schema, element, depth + 1)))
        }
        Ty::Map(pair) => {
            let (key, value) = &**pair;
            let of = |ty| Box::new(of_thrift(schema, ty, depth + 1));
            Type::Map(of(key), of(value))
        }
        Ty::Struct(id) => Type::Struct(thrift_fields(schema, *id, depth + 1)),
    }
}

/// The fields of a message of Protocol Buffers; of alternatives (`oneof`) only the first.
pub(crate) fn proto_shape(message: MessageDescriptor) -> Vec<Shape> {
    proto_fields(&message, 0)
}

fn proto_fields(message: &MessageDescriptor, depth: usize) -> Vec<Shape> {
    if depth > DEEPEST {
        return Vec::new();
    }
    let taken = message.fields().filter(|field| {
        let choice = field.containing_oneof();
        choice.is_none_or(|choice| choice.fields().next().as_ref() == Some(field))
    });
    let shape = |field: prost_reflect::FieldDescriptor| {
        let kind = of_proto(&field.kind(), depth);
        match (field.is_map(), field.is_list(), kind) {
            (true, _, Type::Struct(mut pair)) if pair.len() == 2 => {
                let value = Box::new(pair.remove(1));
                Type::Map(Box::new(pair.remove(0)), value)
            }
            (_, true, kind) => Type::List(Box::new(kind)),
            (_, _, kind) => kind,
        }
    };
    taken.map(shape).collect()
}

fn of_proto(kind: &Kind, depth: usize) -> Shape {
    match kind {
        Kind::Bool => Type::Bool,
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => Type::Double,
        Kind::Int64 | Kind::Uint64 | Kind::Sint64 => Type::I64,
        Kind::String | Kind::Bytes => Type::Text,
        Kind::Message(message) => Type::Struct(proto_fields(message, depth + 1)),
        _ => Type::I32,
    }
}

/// A message with fields of these types and about `bytes` bytes on the wire. If even the smallest
/// such message is larger, it is returned.
///
/// # Errors
/// The largest allowed size in bytes, if lists and maps would have to fill a larger message.
pub(crate) fn filled(shapes: &[Shape], bytes: u64) -> Result<Message, u64> {
    let make = |text: u64, elements: u64| {
        Message::new(
            shapes
                .iter()
                .map(|shape| value(shape, text, elements))
                .collect(),
        )
    };
    let least = make(0, 1);
    let missing = bytes.saturating_sub(least.wire().get());
    if let Some(text) = missing.checked_div(least.texts()) {
        return Ok(make(text, 1));
    }
    let each = make(0, 2).wire().get() - least.wire().get();
    match missing.checked_div(each) {
        Some(more) if more >= MOST_ELEMENTS => Err(least.wire().get() + (MOST_ELEMENTS - 1) * each),
        Some(more) => Ok(make(0, 1 + more)),
        None => Ok(least),
    }
}

/// A message of unknown type with a given size: a 64-bit integer and a string.
pub(crate) fn opaque(bytes: u64) -> Message {
    match bytes {
        0 => Message::default(),
        // A string takes any size.
        _ => filled(&[Type::I64, Type::Text], bytes).unwrap_or_default(),
    }
}

fn value(shape: &Shape, text: u64, elements: u64) -> Value {
    match shape {
        Type::Bool => Value::Bool(true),
        Type::I32 => Value::I32(NUMBER as i32),
        Type::I64 => Value::I64(NUMBER),
        Type::Double => Value::Double(1.0),
        Type::Text => Value::Text(text),
        Type::List(element) => {
            let one = value(element, text, 1);
            Value::List((**element).clone(), vec![one; elements as usize])
        }
        Type::Map(key, of) => {
            let pair = (value(key, text, 1), value(of, text, 1));
            Value::Map(
                (**key).clone(),
                (**of).clone(),
                vec![pair; elements as usize],
            )
        }
        Type::Struct(fields) => Value::Struct(
            fields
                .iter()
                .map(|field| value(field, text, elements))
                .collect(),
        ),
    }
}
