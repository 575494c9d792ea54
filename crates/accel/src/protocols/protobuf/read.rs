//! A serde deserializer that reads protobuf messages as values of an application's own types.
//!
//! The deserializer presents the same values as the JSON that [`super::message_to_json`] writes for
//! the message. Fields are in the order of their numbers. Absent fields without presence (proto3
//! scalars that are not `optional`, lists and maps) are included. 64-bit integers are text, `bytes`
//! are base64, enums are names, and maps are in the order of their keys.
//!
//! A type can borrow (as `&str`) the text of a `string` field, since the message contains that
//! text. It cannot borrow the text of a 64-bit integer, `bytes` or an enum, which only JSON
//! contains.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use simdutf8::compat::from_utf8;

use super::fields::{Found, Malformed, Raw, Wire, integer, is_packed};
use super::floats::widened;
use super::keys::{Entry, KeyText, entries};
use super::shape::{Field, Holds, Shape, ShapeId, Shapes, Ty};
use crate::error::{AccelError, ValueError};
use crate::limits::Limits;
use crate::values::read_as_present;

impl From<Malformed> for ValueError {
    fn from(_: Malformed) -> ValueError {
        ValueError::custom("the bytes are not a message of this type")
    }
}

/// Reads `bytes` as one message.
pub(super) fn whole_message<'a, S: DeserializeSeed<'a>>(
    shapes: &Shapes,
    id: ShapeId,
    bytes: &'a [u8],
    limits: &Limits,
    seed: S,
) -> Result<S::Value, AccelError> {
    let whole = [(0, Raw::Bytes(bytes))];
    let value = seed.deserialize(Value {
        source: Source { shapes, limits },
        ty: Ty::Message(id),
        form: Form::One,
        values: &whole,
        depth: 0,
    });
    value.map_err(|error| error.0)
}

#[derive(Clone, Copy)]
struct Source<'s> {
    shapes: &'s Shapes,
    limits: &'s Limits,
}

/// The part of a field that is read.
#[derive(Clone, Copy)]
enum Form<'s> {
    /// A single value: of the field, of an element, or of a map's entry.
    One,
    /// The whole list in this field.
    List(&'s Field),
    /// The whole map.
    Map,
}

/// A value of a known type: all occurrences of its field on the wire.
struct Value<'s, 'v, 'a> {
    source: Source<'s>,
    ty: Ty,
    form: Form<'s>,
    /// The occurrences on the wire. The last one is the value, but messages are merged from all.
    /// Without any, the value is the default.
    values: &'v [(usize, Raw<'a>)],
    depth: usize,
}

/// The JSON type of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Bool,
    Number,
    Text,
    Array,
    Object,
}

impl<'s, 'a> Value<'s, '_, 'a> {
    fn last(&self) -> Option<Raw<'a>> {
        self.values.last().map(|(_, raw)| *raw)
    }

    fn float(&self) -> Result<f64, ValueError> {
        match (self.ty, self.last()) {
            (_, None) => Ok(0.0),
            (Ty::Double, Some(Raw::Fixed64(bits))) => Ok(f64::from_bits(bits)),
            (Ty::Float, Some(Raw::Fixed32(bits))) => Ok(widened(f32::from_bits(bits))),
            _ => Err(Malformed.into()),
        }
    }

    fn integer(&self) -> Result<i128, ValueError> {
        match (self.ty, self.last()) {
            (Ty::Enum(id), None) => Ok(self.source.shapes.names(id).default.into()),
            (_, None) => Ok(0),
            (ty, Some(raw)) => Ok(integer(ty, raw).ok_or(Malformed)?),
        }
    }

    fn bytes(&self) -> Result<&'a [u8], ValueError> {
        match self.last() {
            None => Ok(&[]),
            Some(Raw::Bytes(bytes)) => Ok(bytes),
            Some(_) => Err(Malformed.into()),
        }
    }

    fn text(&self) -> Result<&'a str, ValueError> {
        let text = from_utf8(self.bytes()?);
        text.map_err(|_| Malformed.into())
    }

    /// The name of an enum value, if it has one.
    fn name(&self) -> Result<Option<&'s str>, ValueError> {
        let Ty::Enum(id) = self.ty else {
            return Ok(None);
        };
        let number = i32::try_from(self.integer()?).map_err(|_| Malformed)?;
        Ok(self.source.shapes.names(id).name(number))
    }

    fn class(&self) -> Result<Class, ValueError> {
        Ok(match (self.form, self.ty) {
            (Form::List(_), _) => Class::Array,
            (Form::Map, _) | (_, Ty::Message(_)) => Class::Object,
            (_, Ty::Bool) => Class::Bool,
            (_, Ty::Double | Ty::Float) => match self.float()?.is_finite() {
                true => Class::Number,
                false => Class::Text,
            },
            (_, Ty::Enum(_)) => match self.name()? {
                Some(_) => Class::Text,
                None => Class::Number,
            },
            (_, Ty::String | Ty::Bytes) => Class::Text,
            (_, Ty::Int64 | Ty::Uint64 | Ty::Sint64 | Ty::Fixed64 | Ty::Sfixed64) => Class::Text,
            _ => Class::Number,
        })
    }

    /// Checks that the value has one of the requested JSON types, as a JSON parser would.
    fn expect(self, classes: &[Class]) -> Result<Self, ValueError> {
        match classes.contains(&self.class()?) {
            true => Ok(self),
            false => Err(ValueError::custom(
                "the value's JSON type is not that of the application's type",
            )),
        }
    }

    fn members(self) -> Result<Members<'s, 'a>, ValueError> {
        let Ty::Message(id) = self.ty else {
            return Err(Malformed.into());
        };
        self.source.enter(self.depth)?;
        let shape = self.source.shapes.message(id);
        let parts = self.values.iter().filter_map(|(_, raw)| match raw {
            Raw::Bytes(part) => Some(*part),
            _ => None,
        });
        Ok(Members {
            source: self.source,
            shape,
            found: Found::new(shape, parts)?,
            at: 0,
            place: 0,
            next: None,
            depth: self.depth + 1,
        })
    }

    fn list<V: Visitor<'a>>(self, field: &'s Field, visitor: V) -> Result<V::Value, ValueError> {
        self.source.enter(self.depth)?;
        let mut items = Items {
            source: self.source,
            field,
            values: self.values,
            packed: Wire::new(&[]),
            depth: self.depth + 1,
        };
        let value = visitor.visit_seq(&mut items)?;
        match items.next()? {
            None => Ok(value),
            Some(_) => Err(ValueError::custom(
                "the list has more elements than the application's type",
            )),
        }
    }

    fn map<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.source.enter(self.depth)?;
        let (key, value) = self.source.shapes.entry(self.ty).ok_or(Malformed)?;
        let mut map = Entries {
            source: self.source,
            value,
            entries: entries(key, value, self.values)?.into_iter(),
            next: Vec::new(),
            depth: self.depth + 1,
        };
        let value = visitor.visit_map(&mut map)?;
        match map.entries.next() {
            None => Ok(value),
            Some(_) => Err(ValueError::custom(
                "the map has more entries than the application's type",
            )),
        }
    }
}

impl Source<'_> {
    /// Checks the depth. Needed only for bytes that Dser has not checked.
    fn enter(&self, depth: usize) -> Result<(), ValueError> {
        // Lists and maps add no level on the wire, and are always inside a message.
        let limit = self.limits.max_depth;
        match depth <= limit.saturating_mul(2) {
            true => Ok(()),
            false => Err(ValueError(AccelError::TooDeep { at: 0, limit })),
        }
    }
}

/// Methods that request values of one JSON type.
macro_rules! expecting {
    ($($class:ident: $($method:ident)+;)+) => {$($(
        fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ValueError> {
            self.expect(&[Class::$class])?.deserialize_any(visitor)
        }
    )+)+};
}

impl<'a> Deserializer<'a> for Value<'_, '_, 'a> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.form {
            Form::List(field) => return self.list(field, visitor),
            Form::Map => return self.map(visitor),
            Form::One => {}
        }
        match self.ty {
            Ty::String => visitor.visit_borrowed_str(self.text()?),
            Ty::Bytes => visitor.visit_string(STANDARD.encode(self.bytes()?)),
            Ty::Bool => visitor.visit_bool(self.integer()? != 0),
            Ty::Double | Ty::Float => match self.float()? {
                value if value.is_finite() => visitor.visit_f64(value),
                value if value.is_nan() => visitor.visit_borrowed_str("NaN"),
                value if value > 0.0 => visitor.visit_borrowed_str("Infinity"),
                _ => visitor.visit_borrowed_str("-Infinity"),
            },
            Ty::Int64 | Ty::Uint64 | Ty::Sint64 | Ty::Fixed64 | Ty::Sfixed64 => {
                visitor.visit_str(itoa::Buffer::new().format(self.integer()?))
            }
            Ty::Message(_) => {
                let mut members = self.members()?;
                let value = visitor.visit_map(&mut members)?;
                members.finish()?;
                Ok(value)
            }
            Ty::Enum(_) if self.name()?.is_some() => {
                visitor.visit_str(self.name()?.unwrap_or_default())
            }
            _ => {
                let value = self.integer()?;
                match u64::try_from(value) {
                    Ok(value) => visitor.visit_u64(value),
                    Err(_) => visitor.visit_i64(i64::try_from(value).map_err(|_| Malformed)?),
                }
            }
        }
    }

    read_as_present!();

    /// Reads enums as from JSON: a text is a variant without data, an object of one member a
    /// variant with data.
    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let text = match (self.form, self.ty) {
            (Form::One, Ty::String) => Some(self.text()?),
            (Form::One, Ty::Enum(_)) => self.name()?,
            (Form::One, Ty::Message(_)) => {
                let mut members = self.members()?;
                let value = visitor.visit_enum(MapAccessDeserializer::new(&mut members))?;
                members.finish()?;
                return Ok(value);
            }
            _ => None,
        };
        let text = text.ok_or_else(|| {
            ValueError::custom(
                "the application's type is an enum, but the value is neither text nor object",
            )
        })?;
        let text: StrDeserializer<'_, ValueError> = text.into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_bytes<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match (self.form, self.ty) {
            (Form::One, Ty::String) => visitor.visit_borrowed_bytes(self.text()?.as_bytes()),
            _ => self.expect(&[Class::Array])?.deserialize_any(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_unit()
    }

    fn deserialize_unit<V: Visitor<'a>>(self, _: V) -> Result<V::Value, ValueError> {
        Err(ValueError::custom(
            "the application's type is (), but the value is not null",
        ))
    }

    fn deserialize_unit_struct<V: Visitor<'a>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_tuple<V: Visitor<'a>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'a>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let object = self.expect(&[Class::Object, Class::Array])?;
        object.deserialize_any(visitor)
    }

    expecting! {
        Bool: deserialize_bool;
        Number: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8
            deserialize_u16 deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
            deserialize_i128 deserialize_u128;
        Text: deserialize_char deserialize_str deserialize_string deserialize_identifier;
        Array: deserialize_seq;
        Object: deserialize_map;
    }
}

/// The elements of a list.
struct Items<'s, 'v, 'a> {
    source: Source<'s>,
    field: &'s Field,
    /// The occurrences after the one in `packed`.
    values: &'v [(usize, Raw<'a>)],
    packed: Wire<'a>,
    depth: usize,
}

impl<'a> Items<'_, '_, 'a> {
    fn next(&mut self) -> Result<Option<Raw<'a>>, Malformed> {
        loop {
            if !self.packed.is_empty() {
                return self.packed.element(self.field.ty).map(Some);
            }
            let Some(((_, raw), rest)) = self.values.split_first() else {
                return Ok(None);
            };
            self.values = rest;
            match *raw {
                Raw::Bytes(elements) if is_packed(self.field, *raw) => {
                    self.packed = Wire::new(elements);
                }
                raw => return Ok(Some(raw)),
            }
        }
    }
}

impl<'a> SeqAccess<'a> for &mut Items<'_, '_, 'a> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        let Some(raw) = self.next()? else {
            return Ok(None);
        };
        let element = Value {
            source: self.source,
            ty: self.field.ty,
            form: Form::One,
            values: &[(0, raw)],
            depth: self.depth,
        };
        seed.deserialize(element).map(Some)
    }
}

/// The entries of a map.
struct Entries<'s, 'a> {
    source: Source<'s>,
    value: &'s Field,
    entries: std::vec::IntoIter<Entry<'a>>,
    next: Vec<(usize, Raw<'a>)>,
    depth: usize,
}

impl<'a> MapAccess<'a> for &mut Entries<'_, 'a> {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ValueError> {
        let Some((key, value)) = self.entries.next() else {
            return Ok(None);
        };
        self.next = value;
        seed.deserialize(KeyText(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, ValueError> {
        seed.deserialize(Value {
            source: self.source,
            ty: self.value.ty,
            form: Form::One,
            values: &std::mem::take(&mut self.next),
            depth: self.depth,
        })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// The members of a message.
struct Members<'s, 'a> {
    source: Source<'s>,
    shape: &'s Shape,
    found: Found<'a>,
    /// The index of the first unread value.
    at: usize,
    /// The place of the first unread field.
    place: usize,
    /// The field whose name was read last, and its values.
    next: Option<(&'s Field, Range<usize>)>,
    depth: usize,
}

impl<'s> Members<'s, '_> {
    fn advance(&mut self) -> Option<(&'s Field, Range<usize>)> {
        while let Some(field) = self.shape.fields.get(self.place) {
            let values = self.found.of(self.place, self.at);
            self.place += 1;
            self.at = values.end;
            if !values.is_empty() || !field.presence {
                return Some((field, values));
            }
        }
        None
    }

    fn finish(&mut self) -> Result<(), ValueError> {
        match self.advance() {
            None => Ok(()),
            Some(_) => Err(ValueError::custom(
                "the message has more members than the application's type",
            )),
        }
    }
}

impl<'a> MapAccess<'a> for &mut Members<'_, 'a> {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ValueError> {
        self.next = self.advance();
        let Some((field, _)) = &self.next else {
            return Ok(None);
        };
        let name: StrDeserializer<'_, ValueError> = (*field.json_name).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, ValueError> {
        let Some((field, range)) = self.next.take() else {
            return Err(ValueError::custom("a value was read before its name"));
        };
        seed.deserialize(Value {
            source: self.source,
            ty: field.ty,
            form: match field.holds {
                Holds::List { .. } | Holds::Groups => Form::List(field),
                Holds::Map => Form::Map,
                Holds::One | Holds::Group => Form::One,
            },
            values: self.found.values(range),
            depth: self.depth,
        })
    }
}
