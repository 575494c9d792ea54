//! Deterministic and lossless output of protobuf messages, for two cases that the library
//! `prost-reflect` gets wrong. The library stores maps in hash tables, whose order varies, but
//! equal input must produce equal bytes. The library also omits -0.0, as if -0.0 were the default
//! value 0.0.
//!
//! This module writes only messages whose type contains a map, or a floating-point number without
//! presence, at any depth.

use std::collections::BTreeMap;
use std::fmt;

use prost_reflect::prost::Message;
use prost_reflect::prost::encoding::{WireType, encode_key, encode_varint};
use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage, Value,
};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::any::ANY;

/// Returns whether a message of this type can contain a map, and whether it can contain a
/// floating-point number without presence, at any depth. `google.protobuf.Any` can contain any
/// message, so both are true for it.
pub(super) fn find(kind: &MessageDescriptor) -> [bool; 2] {
    let mut seen = vec![kind.clone()];
    let (mut next, mut maps, mut floats) = (0, false, false);
    while let Some(kind) = seen.get(next).cloned() {
        next += 1;
        let any = kind.full_name() == "google.protobuf.Any";
        maps |= any || kind.fields().any(|field| field.is_map());
        floats |= any || kind.fields().any(|field| may_lose_sign(&field));
        if maps && floats {
            break;
        }
        for field in kind.fields() {
            if let Kind::Message(inner) = field.kind()
                && !seen.contains(&inner)
            {
                seen.push(inner);
            }
        }
    }
    [maps, floats]
}

fn may_lose_sign(field: &FieldDescriptor) -> bool {
    let float = matches!(field.kind(), Kind::Double | Kind::Float);
    float && !field.is_list() && !field.supports_presence()
}

/// Writes -0.0 without presence, which the library omits.
fn encode_negative_zero(field: &FieldDescriptor, value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::F64(value) if value.to_bits() == (-0.0f64).to_bits() => {
            prost_reflect::prost::encoding::double::encode(field.number(), value, out);
        }
        Value::F32(value) if value.to_bits() == (-0.0f32).to_bits() => {
            prost_reflect::prost::encoding::float::encode(field.number(), value, out);
        }
        _ => {}
    }
}

/// The wire form of a message.
pub(super) fn encode(message: &DynamicMessage) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.encoded_len());
    for field in message.descriptor().fields() {
        let value = message.get_field(&field);
        match message.has_field(&field) {
            true => encode_field(message, &field, &value, &mut out),
            false if may_lose_sign(&field) => encode_negative_zero(&field, &value, &mut out),
            false => {}
        }
    }
    for (extension, value) in message.extensions() {
        let mut alone = DynamicMessage::new(message.descriptor());
        alone.set_extension(&extension, value.clone());
        out.extend_from_slice(&alone.encode_to_vec());
    }
    out
}

fn encode_field(of: &DynamicMessage, field: &FieldDescriptor, value: &Value, out: &mut Vec<u8>) {
    match (value, field.kind()) {
        (Value::Map(entries), Kind::Message(entry)) => {
            let mut sorted: Vec<_> = entries.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            for (key, value) in sorted {
                let mut single = DynamicMessage::new(entry.clone());
                single.set_field(&entry.map_entry_key_field(), Value::from(key.clone()));
                single.set_field(&entry.map_entry_value_field(), value.clone());
                encode_message(field, &single, out);
            }
        }
        (Value::List(values), Kind::Message(_)) => {
            for value in values {
                if let Value::Message(inner) = value {
                    encode_message(field, inner, out);
                }
            }
        }
        (Value::Message(inner), _) => encode_message(field, inner, out),
        _ => {
            let mut alone = DynamicMessage::new(of.descriptor());
            alone.set_field(field, value.clone());
            out.extend_from_slice(&alone.encode_to_vec());
        }
    }
}

fn encode_message(field: &FieldDescriptor, message: &DynamicMessage, out: &mut Vec<u8>) {
    let inner = encode(message);
    if field.is_group() {
        encode_key(field.number(), WireType::StartGroup, out);
        out.extend_from_slice(&inner);
        encode_key(field.number(), WireType::EndGroup, out);
    } else {
        encode_key(field.number(), WireType::LengthDelimited, out);
        encode_varint(inner.len() as u64, out);
        out.extend_from_slice(&inner);
    }
}

/// The JSON `text` of a message of type `kind`, with the members of its maps in the order of their
/// names. In well-known types for arbitrary JSON, all members are in that order. Each
/// `google.protobuf.Any` whose text is the first one of `any` gets the second one.
pub(super) fn json(
    kind: &MessageDescriptor,
    text: &[u8],
    any: (&str, &str),
) -> Result<Vec<u8>, serde_json::Error> {
    let text: &RawValue = serde_json::from_slice(text)?;
    let mut out = Vec::with_capacity(text.get().len());
    write_message(kind, text, any, &mut out)?;
    Ok(out)
}

/// Whether `text` is `known`, but for white space.
fn is_text(text: &str, known: &str) -> bool {
    let mut bytes = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    text.len() < known.len() + 64
        && known.bytes().all(|byte| bytes.next() == Some(byte))
        && bytes.next().is_none()
}

fn write_message(
    kind: &MessageDescriptor,
    text: &RawValue,
    any: (&str, &str),
    out: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    if kind.full_name() == ANY && is_text(text.get(), any.0) {
        out.extend_from_slice(any.1.as_bytes());
        return Ok(());
    }
    if kind.full_name().starts_with("google.protobuf.") {
        return write_any(text, out);
    }
    let Members(members) = serde_json::from_str(text.get())?;
    write_object(members, out, |name, value, out| {
        let field = kind.get_field_by_json_name(name);
        let field = field.or_else(|| kind.get_field_by_name(name));
        match field.as_ref().map(|field| (field, field.kind())) {
            Some((field, Kind::Message(inner))) => write_field(field, &inner, value, any, out),
            _ => {
                out.extend_from_slice(value.get().as_bytes());
                Ok(())
            }
        }
    })
}

fn write_field(
    field: &FieldDescriptor,
    inner: &MessageDescriptor,
    value: &RawValue,
    any: (&str, &str),
    out: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    if value.get() == "null" {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    if field.is_map() {
        let Members(mut members) = serde_json::from_str(value.get())?;
        members.sort_by(|(a, _), (b, _)| a.cmp(b));
        let values = inner.map_entry_value_field().kind();
        return write_object(members, out, |_, value, out| match &values {
            Kind::Message(inner) => write_message(inner, value, any, out),
            _ => {
                out.extend_from_slice(value.get().as_bytes());
                Ok(())
            }
        });
    }
    match field.is_list() {
        true => write_list(value, out, |value, out| {
            write_message(inner, value, any, out)
        }),
        false => write_message(inner, value, any, out),
    }
}

/// Writes arbitrary JSON with the members of all objects in order.
fn write_any(text: &RawValue, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    match text.get().as_bytes().first() {
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(text.get())?;
            let members = members.into_iter().collect();
            write_object(members, out, |_, value, out| write_any(value, out))
        }
        Some(b'[') => write_list(text, out, write_any),
        _ => {
            out.extend_from_slice(text.get().as_bytes());
            Ok(())
        }
    }
}

fn write_object(
    members: Vec<(String, &RawValue)>,
    out: &mut Vec<u8>,
    mut value: impl FnMut(&str, &RawValue, &mut Vec<u8>) -> Result<(), serde_json::Error>,
) -> Result<(), serde_json::Error> {
    out.push(b'{');
    for (place, (name, text)) in members.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        serde_json::to_writer(&mut *out, &name)?;
        out.push(b':');
        value(&name, text, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_list(
    text: &RawValue,
    out: &mut Vec<u8>,
    mut value: impl FnMut(&RawValue, &mut Vec<u8>) -> Result<(), serde_json::Error>,
) -> Result<(), serde_json::Error> {
    let elements: Vec<&RawValue> = serde_json::from_str(text.get())?;
    out.push(b'[');
    for (place, element) in elements.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        value(element, out)?;
    }
    out.push(b']');
    Ok(())
}

/// The members of an object in their order.
struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'t> Deserialize<'t> for Members<'t> {
    fn deserialize<D: Deserializer<'t>>(text: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'t> Visitor<'t> for Each {
            type Value = Members<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        text.deserialize_map(Each)
    }
}
