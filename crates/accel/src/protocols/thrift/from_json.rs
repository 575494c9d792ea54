//! Converts JSON text to Thrift structs while the text is parsed, without building a tree of JSON
//! values.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::schema::{Schema, Struct, StructId, Ty};
use super::wire::{WireType, Writer};
use crate::budget::Budget;
use crate::error::AccelError;
use crate::json::float_of_text;
use crate::limits::Limits;

/// Writes the struct `id` that `json` describes.
pub(super) fn write<W: Writer>(
    schema: &Schema,
    id: StructId,
    writer: &mut W,
    json: &[u8],
    limits: &Limits,
) -> Result<(), AccelError> {
    let mut context = Context {
        schema,
        writer,
        limits,
        budget: Budget::new(limits),
        failure: None,
    };
    let mut parser = serde_json::Deserializer::from_slice(json);
    let ty = Ty::Struct(id);
    let seed = Value {
        context: &mut context,
        ty: &ty,
        name: "message",
        field: None,
        depth: 0,
    };
    let outcome = seed.deserialize(&mut parser).and_then(|_| parser.end());
    // The parser wraps our errors in its own: prefer the original.
    match (context.failure, outcome) {
        (Some(failure), _) => Err(failure),
        (None, Err(error)) => Err(AccelError::from_json(error)),
        (None, Ok(())) => Ok(()),
    }
}

struct Context<'c, W> {
    schema: &'c Schema,
    writer: &'c mut W,
    limits: &'c Limits,
    budget: Budget,
    failure: Option<AccelError>,
}

impl<W: Writer> Context<'_, W> {
    fn fail<E: Error>(&mut self, failure: AccelError) -> E {
        self.failure.get_or_insert(failure);
        E::custom("does not fit the schema")
    }

    fn enter<E: Error>(&mut self, depth: usize) -> Result<(), E> {
        let limit = self.limits.max_depth;
        if depth < limit {
            return Ok(());
        }
        let at = self.writer.len();
        Err(self.fail(AccelError::TooDeep { at, limit }))
    }

    /// Charges `more` fields or elements, and checks the size of the struct.
    fn count<E: Error>(&mut self, more: usize) -> Result<(), E> {
        let counted = self.budget.elements(more).and_then(|()| {
            self.limits
                .check_size("bytes of the Thrift struct", self.writer.len())
        });
        counted.map_err(|failure| self.fail(failure))
    }
}

/// A value of a known type, to be written at the end of the output. Deserializes to true if the
/// value is present; a `null` field is absent.
struct Value<'v, 'c, W> {
    context: &'v mut Context<'c, W>,
    ty: &'v Ty,
    /// Its name in errors.
    name: &'v str,
    /// The number of the value's field, whose header precedes the value.
    field: Option<i16>,
    depth: usize,
}

impl<W: Writer> Value<'_, '_, W> {
    fn header(&mut self) {
        if let Some(id) = self.field {
            self.context.writer.field(WireType::of(self.ty), id);
        }
    }

    fn mismatch<E: Error>(&mut self, found: impl fmt::Display) -> E {
        let (field, found, expected) = (self.name.to_owned(), found.to_string(), self.ty.name());
        self.context.fail(AccelError::WrongJsonType {
            field,
            found,
            expected,
        })
    }

    fn out_of_range<E: Error>(&mut self, found: impl fmt::Display, allowed: &'static str) -> E {
        let (field, found) = (self.name.to_owned(), found.to_string());
        self.context.fail(AccelError::OutOfRange {
            field,
            found,
            allowed,
        })
    }
}

impl<'de, W: Writer> DeserializeSeed<'de> for Value<'_, '_, W> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, W: Writer> Visitor<'de> for Value<'_, '_, W> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}'", self.ty.name(), self.name)
    }

    fn visit_unit<E: Error>(mut self) -> Result<bool, E> {
        if self.field.is_some() {
            Ok(false)
        } else {
            Err(self.mismatch("null"))
        }
    }

    fn visit_bool<E: Error>(mut self, value: bool) -> Result<bool, E> {
        match (self.ty, self.field) {
            (Ty::Bool, Some(id)) => self.context.writer.bool_field(id, value),
            (Ty::Bool, None) => self.context.writer.bool(value),
            _ => return Err(self.mismatch(value)),
        }
        Ok(true)
    }

    fn visit_i64<E: Error>(mut self, value: i64) -> Result<bool, E> {
        let fits = match self.ty {
            Ty::I8 => i8::try_from(value).is_ok(),
            Ty::I16 => i16::try_from(value).is_ok(),
            Ty::I32 => i32::try_from(value).is_ok(),
            Ty::I64 | Ty::Double => true,
            _ => return Err(self.mismatch(value)),
        };
        if !fits {
            let allowed = match self.ty {
                Ty::I8 => "-128 to 127",
                Ty::I16 => "-32768 to 32767",
                _ => "-2147483648 to 2147483647",
            };
            return Err(self.out_of_range(value, allowed));
        }
        self.header();
        match self.ty {
            Ty::I8 => self.context.writer.i8(value as i8),
            Ty::I16 => self.context.writer.i16(value as i16),
            Ty::I32 => self.context.writer.i32(value as i32),
            Ty::Double => self.context.writer.double(value as f64),
            _ => self.context.writer.i64(value),
        }
        Ok(true)
    }

    fn visit_u64<E: Error>(mut self, value: u64) -> Result<bool, E> {
        match (i64::try_from(value), self.ty) {
            (Ok(value), _) => self.visit_i64(value),
            (Err(_), Ty::Double) => self.visit_f64(value as f64),
            (Err(_), Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64) => {
                Err(self.out_of_range(value, "at most 9223372036854775807"))
            }
            (Err(_), _) => Err(self.mismatch(value)),
        }
    }

    fn visit_f64<E: Error>(mut self, value: f64) -> Result<bool, E> {
        if *self.ty != Ty::Double {
            // As 1.0, which is no integer, and not as 1.
            return Err(self.mismatch(format_args!("{value:?}")));
        }
        self.header();
        self.context.writer.double(value);
        Ok(true)
    }

    fn visit_str<E: Error>(mut self, value: &str) -> Result<bool, E> {
        match self.ty {
            Ty::String => {
                self.header();
                self.context.writer.bytes(value.as_bytes());
            }
            Ty::Binary => {
                let bytes = STANDARD.decode(value).map_err(|error| {
                    let (field, why) = (self.name.to_owned(), error.to_string());
                    self.context.fail(AccelError::BadBase64 { field, why })
                })?;
                self.header();
                self.context.writer.bytes(&bytes);
            }
            Ty::Double => match float_of_text(value) {
                Some(number) => return self.visit_f64(number),
                None => return Err(self.mismatch("a string")),
            },
            _ => return Err(self.mismatch("a string")),
        }
        Ok(true)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<bool, A::Error> {
        self.context.enter(self.depth)?;
        self.header();
        let (ty, name, depth) = (self.ty, self.name, self.depth + 1);
        let mut count = 0;
        match ty {
            Ty::List(element) | Ty::Set(element) => {
                let wire = WireType::of(element);
                let mark = self.context.writer.list_begin(wire);
                while items
                    .next_element_seed(Value {
                        context: self.context,
                        ty: element,
                        name,
                        field: None,
                        depth,
                    })?
                    .is_some()
                {
                    count += 1;
                    self.context.count(1)?;
                }
                self.context.writer.list_end(mark, wire, count);
            }
            Ty::Map(types) if types.0 != Ty::String => {
                let (key, value) = (WireType::of(&types.0), WireType::of(&types.1));
                let mark = self.context.writer.map_begin(key, value);
                while items
                    .next_element_seed(Pair {
                        context: self.context,
                        types,
                        name,
                        depth,
                    })?
                    .is_some()
                {
                    count += 1;
                    self.context.count(2)?;
                }
                self.context.writer.map_end(mark, key, value, count);
            }
            _ => return Err(self.mismatch("an array")),
        }
        Ok(true)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<bool, A::Error> {
        match self.ty {
            Ty::Struct(id) => {
                self.context.enter(self.depth)?;
                self.header();
                let structure = self.context.schema.get(*id);
                write_struct(self.context, structure, members, self.depth)?;
            }
            Ty::Map(types) if types.0 == Ty::String => {
                self.context.enter(self.depth)?;
                self.header();
                let (name, depth) = (self.name, self.depth + 1);
                let (key, value) = (WireType::of(&types.0), WireType::of(&types.1));
                let mark = self.context.writer.map_begin(key, value);
                let mut count = 0;
                while members
                    .next_key_seed(TextKey {
                        context: self.context,
                    })?
                    .is_some()
                {
                    let ty = &types.1;
                    members.next_value_seed(Value {
                        context: self.context,
                        ty,
                        name,
                        field: None,
                        depth,
                    })?;
                    count += 1;
                    self.context.count(2)?;
                }
                self.context.writer.map_end(mark, key, value, count);
            }
            _ => return Err(self.mismatch("an object")),
        }
        Ok(true)
    }
}

fn write_struct<'de, W: Writer, A: MapAccess<'de>>(
    context: &mut Context<'_, W>,
    structure: &Struct,
    mut members: A,
    depth: usize,
) -> Result<(), A::Error> {
    let outer = context.writer.struct_begin();
    let mut seen = 0u128;
    let mut present = 0u128;
    while let Some(place) = members.next_key_seed(FieldKey { context, structure })? {
        let field = &structure.fields[place];
        if seen >> place & 1 == 1 {
            let (container, field) = (structure.name.to_string(), field.name.to_string());
            return Err(context.fail(AccelError::DuplicateField { container, field }));
        }
        seen |= 1 << place;
        let (ty, name, id) = (&field.ty, &*field.name, Some(field.id));
        let seed = Value {
            context,
            ty,
            name,
            field: id,
            depth: depth + 1,
        };
        if members.next_value_seed(seed)? {
            present |= 1 << place;
            context.count(1)?;
        }
    }
    for (place, field, default) in structure.absent_defaults(seen) {
        let (ty, name, id) = (&field.ty, &*field.name, Some(field.id));
        let seed = Value {
            context,
            ty,
            name,
            field: id,
            depth: depth + 1,
        };
        let mut value = serde_json::Deserializer::from_slice(&default.json);
        // Our own errors, such as those of depth, are stored separately from the parser's.
        seed.deserialize(&mut value).map_err(A::Error::custom)?;
        present |= 1 << place;
        context.count(1)?;
    }
    if let Err(failure) = structure.check_presence(present) {
        return Err(context.fail(failure));
    }
    context.writer.struct_end(outer);
    context.count(0)
}

/// The name of a member. Deserializes to the field's place in its struct.
struct FieldKey<'v, 'c, W> {
    context: &'v mut Context<'c, W>,
    structure: &'v Struct,
}

impl<'de, W: Writer> DeserializeSeed<'de> for FieldKey<'_, '_, W> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<W: Writer> Visitor<'_> for FieldKey<'_, '_, W> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a field of {}", self.structure.name)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        match self.structure.field_by_name(name) {
            Some((place, _)) => Ok(place),
            None => {
                let container = self.structure.name.to_string();
                let (field, known) = (name.to_owned(), self.structure.field_names());
                Err(self.context.fail(AccelError::UnknownField {
                    container,
                    field,
                    known,
                }))
            }
        }
    }
}

/// A key of a map with string keys. Deserializing writes it.
struct TextKey<'v, 'c, W> {
    context: &'v mut Context<'c, W>,
}

impl<'de, W: Writer> DeserializeSeed<'de> for TextKey<'_, '_, W> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<W: Writer> Visitor<'_> for TextKey<'_, '_, W> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<(), E> {
        self.context.writer.bytes(key.as_bytes());
        Ok(())
    }
}

/// A `[key, value]` pair of a map whose keys are not strings.
struct Pair<'v, 'c, W> {
    context: &'v mut Context<'c, W>,
    types: &'v (Ty, Ty),
    name: &'v str,
    depth: usize,
}

impl<'de, W: Writer> DeserializeSeed<'de> for Pair<'_, '_, W> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, W: Writer> Visitor<'de> for Pair<'_, '_, W> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a [key, value] pair of '{}'", self.name)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Pair {
            context,
            types,
            name,
            depth,
        } = self;
        for (index, ty) in [&types.0, &types.1].into_iter().enumerate() {
            let seed = Value {
                context,
                ty,
                name,
                field: None,
                depth,
            };
            if items.next_element_seed(seed)?.is_none() {
                return Err(A::Error::invalid_length(index, &"a [key, value] pair"));
            }
        }
        match items.next_element::<serde::de::IgnoredAny>()? {
            None => Ok(()),
            Some(_) => Err(A::Error::invalid_length(3, &"a [key, value] pair")),
        }
    }
}
