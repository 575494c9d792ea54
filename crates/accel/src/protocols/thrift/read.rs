//! A serde deserializer that reads Thrift structs as values of an application's own types.
//!
//! The deserializer presents the same values as the JSON that [`super::struct_to_json`] writes for
//! the struct. Members are in the order of the wire form, followed by absent fields with default
//! values. `binary` is base64, and a map whose keys are not strings is a list of pairs.

use std::marker::PhantomData;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use simdutf8::compat::from_utf8;

use super::addresses::Addresses;
use super::schema::{Schema, Struct, StructId, Ty};
use super::wire::{Reader, WireType, skip};
use crate::error::{AccelError, ValueError};
use crate::limits::Limits;
use crate::values::read_as_present;

/// A struct that is the whole input of a reader.
pub(super) struct Whole<'s> {
    pub(super) schema: &'s Schema,
    pub(super) id: StructId,
    pub(super) limits: &'s Limits,
    /// The addresses of its containers and structs, if they are known.
    pub(super) addresses: Option<&'s Addresses>,
}

impl Whole<'_> {
    /// Reads the struct.
    pub(super) fn read<'a, R: Reader<'a>, S: DeserializeSeed<'a>>(
        &self,
        reader: R,
        seed: S,
    ) -> Result<S::Value, AccelError> {
        let mut source = Source {
            schema: self.schema,
            reader,
            limits: self.limits,
            addresses: self.addresses,
            next: 0,
            input: PhantomData,
        };
        let value = seed.deserialize(Value {
            source: &mut source,
            ty: &Ty::Struct(self.id),
            depth: 0,
        });
        let value = value.map_err(|error| error.0)?;
        source.reader.finish("struct")?;
        Ok(value)
    }
}

struct Source<'s, 'a, R> {
    schema: &'s Schema,
    reader: R,
    limits: &'s Limits,
    addresses: Option<&'s Addresses>,
    /// The number of the container or struct that comes next.
    next: usize,
    input: PhantomData<&'a [u8]>,
}

impl<'a, R: Reader<'a>> Source<'_, 'a, R> {
    fn text(&mut self) -> Result<&'a str, ValueError> {
        let bytes = self.reader.bytes()?;
        let start = self.reader.at() - bytes.len();
        let text = from_utf8(bytes).map_err(|error| AccelError::BadUtf8 {
            what: "text".to_owned(),
            at: start + error.valid_up_to(),
        });
        Ok(text?)
    }

    /// Begins to read a container or struct.
    fn enter(&mut self, depth: usize) -> Result<(), ValueError> {
        let (at, limit) = (self.reader.at(), self.limits.max_depth);
        self.next += 1;
        match depth < limit {
            true => Ok(()),
            false => Err(AccelError::TooDeep { at, limit }.into()),
        }
    }

    /// Skips a value: by a jump if its end is known, else by reading through it.
    fn pass(&mut self, wire: WireType, depth: usize) -> Result<(), ValueError> {
        if let Some(addresses) = self.addresses.filter(|_| wire.nests())
            && let Some((end, next)) = addresses.behind(self.next, self.reader.at())
            && self.reader.jump(end)
        {
            self.next = next;
            return Ok(());
        }
        let depth = self.limits.max_depth.saturating_sub(depth);
        Ok(skip(&mut self.reader, wire, depth, self.limits)?)
    }
}

/// Checks a type on the wire against the schema. Needed only for bytes that Dser has not checked.
fn check_type(wire: WireType, ty: &Ty) -> Result<(), ValueError> {
    match wire == WireType::of(ty) {
        true => Ok(()),
        false => Err(ValueError::custom(format_args!(
            "type in the message = {}: must be {}, as in the interface",
            wire.name(),
            ty.name()
        ))),
    }
}

/// The value of a known type at the position of the reader.
struct Value<'v, 't, 's, 'a, R> {
    source: &'v mut Source<'s, 'a, R>,
    ty: &'t Ty,
    depth: usize,
}

impl<'v, 't, 's, 'a, R: Reader<'a>> Value<'v, 't, 's, 'a, R> {
    fn list<V: Visitor<'a>>(self, element: &Ty, visitor: V) -> Result<V::Value, ValueError> {
        self.source.enter(self.depth)?;
        let (wire, left) = self.source.reader.list()?;
        if left > 0 {
            check_type(wire, element)?;
        }
        let (source, depth) = (self.source, self.depth + 1);
        let mut items = Items {
            source,
            element,
            left,
            depth,
        };
        let value = visitor.visit_seq(&mut items)?;
        all_read(items.left)?;
        Ok(value)
    }

    fn map<V: Visitor<'a>>(self, types: &(Ty, Ty), visitor: V) -> Result<V::Value, ValueError> {
        self.source.enter(self.depth)?;
        let (wires, left) = self.source.reader.map()?;
        if let Some((key, value)) = wires.filter(|_| left > 0) {
            check_type(key, &types.0)?;
            check_type(value, &types.1)?;
        }
        let (source, depth) = (self.source, self.depth + 1);
        let mut entries = Entries {
            source,
            types,
            left,
            depth,
        };
        let value = match types.0 {
            Ty::String => visitor.visit_map(&mut entries)?,
            _ => visitor.visit_seq(&mut entries)?,
        };
        all_read(entries.left)?;
        Ok(value)
    }

    fn members(self, id: StructId) -> Result<Members<'v, 's, 'a, R>, ValueError> {
        self.source.enter(self.depth)?;
        let outer = self.source.reader.struct_begin();
        Ok(Members {
            structure: self.source.schema.get(id),
            source: self.source,
            outer,
            seen: 0,
            absent: None,
            next: None,
            depth: self.depth + 1,
        })
    }
}

fn all_read(left: usize) -> Result<(), ValueError> {
    match left {
        0 => Ok(()),
        left => Err(ValueError::custom(format_args!(
            "the list has {left} more elements than the application's type"
        ))),
    }
}

impl<'a, R: Reader<'a>> Deserializer<'a> for Value<'_, '_, '_, 'a, R> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let reader = &mut self.source.reader;
        match self.ty {
            Ty::Bool => visitor.visit_bool(reader.bool()?),
            Ty::I8 => visitor.visit_i64(reader.i8()?.into()),
            Ty::I16 => visitor.visit_i64(reader.i16()?.into()),
            Ty::I32 => visitor.visit_i64(reader.i32()?.into()),
            Ty::I64 => visitor.visit_i64(reader.i64()?),
            Ty::Double => visitor.visit_f64(reader.double()?),
            Ty::String => visitor.visit_borrowed_str(self.source.text()?),
            Ty::Binary => {
                let bytes = reader.bytes()?;
                reader.budget().base64(bytes)?;
                visitor.visit_string(STANDARD.encode(bytes))
            }
            Ty::List(element) | Ty::Set(element) => self.list(element, visitor),
            Ty::Map(types) => self.map(types, visitor),
            Ty::Struct(id) => {
                let mut members = self.members(*id)?;
                let value = visitor.visit_map(&mut members)?;
                members.finish()?;
                Ok(value)
            }
        }
    }

    read_as_present!();

    /// Reads enums as from JSON: a text is a variant without data, an object of one member, such as
    /// a union, a variant with data.
    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self.ty {
            Ty::String => {
                let text: StrDeserializer<'_, ValueError> = self.source.text()?.into_deserializer();
                text.deserialize_enum(name, variants, visitor)
            }
            Ty::Struct(id) => {
                let mut members = self.members(*id)?;
                let value = visitor.visit_enum(MapAccessDeserializer::new(&mut members))?;
                members.finish()?;
                Ok(value)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.source.pass(WireType::of(self.ty), self.depth)?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier
    }
}

/// The elements of a list or a set.
struct Items<'v, 't, 's, 'a, R> {
    source: &'v mut Source<'s, 'a, R>,
    element: &'t Ty,
    left: usize,
    depth: usize,
}

impl<'a, R: Reader<'a>> SeqAccess<'a> for &mut Items<'_, '_, '_, 'a, R> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let (source, ty, depth) = (&mut *self.source, self.element, self.depth);
        seed.deserialize(Value { source, ty, depth }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// The entries of a map: members if the keys are strings, else pairs.
struct Entries<'v, 't, 's, 'a, R> {
    source: &'v mut Source<'s, 'a, R>,
    types: &'t (Ty, Ty),
    left: usize,
    depth: usize,
}

impl<'a, R: Reader<'a>> MapAccess<'a> for &mut Entries<'_, '_, '_, 'a, R> {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ValueError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let (source, ty, depth) = (&mut *self.source, &self.types.0, self.depth);
        seed.deserialize(Value { source, ty, depth }).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, ValueError> {
        let (source, ty, depth) = (&mut *self.source, &self.types.1, self.depth);
        seed.deserialize(Value { source, ty, depth })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'a, R: Reader<'a>> SeqAccess<'a> for &mut Entries<'_, '_, '_, 'a, R> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let mut pair = Pair {
            source: self.source,
            types: self.types,
            depth: self.depth,
            read: 0,
        };
        let value = seed.deserialize(&mut pair)?;
        all_read(2 - pair.read)?;
        Ok(Some(value))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// A `[key, value]` pair.
struct Pair<'v, 't, 's, 'a, R> {
    source: &'v mut Source<'s, 'a, R>,
    types: &'t (Ty, Ty),
    depth: usize,
    read: usize,
}

impl<'a, R: Reader<'a>> Deserializer<'a> for &mut Pair<'_, '_, '_, 'a, R> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_seq(self)
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl<'a, R: Reader<'a>> SeqAccess<'a> for &mut Pair<'_, '_, '_, 'a, R> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        let ty = match self.read {
            0 => &self.types.0,
            1 => &self.types.1,
            _ => return Ok(None),
        };
        self.read += 1;
        let (source, depth) = (&mut *self.source, self.depth);
        seed.deserialize(Value { source, ty, depth }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(2 - self.read)
    }
}

/// The members of a struct: its fields on the wire, then its absent fields with default values.
struct Members<'v, 's, 'a, R> {
    source: &'v mut Source<'s, 'a, R>,
    structure: &'s Struct,
    outer: i16,
    /// The fields that were on the wire, as bits by place.
    seen: u128,
    /// After the end of the struct: the next place to search for a default value.
    absent: Option<usize>,
    /// The place of the member whose value is read next.
    next: Option<usize>,
    depth: usize,
}

impl<'a, R: Reader<'a>> Members<'_, '_, 'a, R> {
    /// The place of the next member; `None` after the last one.
    fn advance(&mut self) -> Result<Option<usize>, ValueError> {
        while self.absent.is_none() {
            let source = &mut *self.source;
            let Some((wire, id)) = source.reader.field()? else {
                source.reader.struct_end(self.outer);
                let budget = source.reader.budget();
                self.structure.charge_defaults(self.seen, budget)?;
                self.absent = Some(0);
                break;
            };
            let Some((place, field)) = self.structure.field_by_id(id) else {
                source.pass(wire, self.depth)?;
                continue;
            };
            check_type(wire, &field.ty)?;
            self.seen |= 1 << place;
            return Ok(Some(place));
        }
        let from = self.absent.unwrap_or_default();
        let mut absent = self.structure.absent_defaults(self.seen);
        let place = absent.find_map(|(place, ..)| (place >= from).then_some(place));
        self.absent = Some(place.map_or(self.structure.fields.len(), |place| place + 1));
        Ok(place)
    }

    /// Skips to the end of the struct. Any unread member is an error.
    fn finish(mut self) -> Result<(), ValueError> {
        match (&mut self).next_key_seed(PhantomData::<serde::de::IgnoredAny>)? {
            None => Ok(()),
            Some(_) => Err(ValueError::custom(
                "the struct has more members than the application's type",
            )),
        }
    }
}

impl<'a, R: Reader<'a>> MapAccess<'a> for &mut Members<'_, '_, 'a, R> {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ValueError> {
        self.next = self.advance()?;
        let Some(place) = self.next else {
            return Ok(None);
        };
        let name: StrDeserializer<'_, ValueError> =
            (*self.structure.fields[place].name).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, ValueError> {
        let field = self.next.take().map(|place| &self.structure.fields[place]);
        let Some(field) = field else {
            return Err(ValueError::custom("a value was read before its name"));
        };
        let depth = self.depth;
        let Some(default) = field.default.as_ref().filter(|_| self.absent.is_some()) else {
            let (source, ty) = (&mut *self.source, &field.ty);
            return seed.deserialize(Value { source, ty, depth });
        };
        let value: serde_json::Value =
            serde_json::from_slice(&default.json).map_err(AccelError::from_json)?;
        seed.deserialize(value).map_err(ValueError::custom)
    }
}
