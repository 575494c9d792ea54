//! What has parts, one after the other: lists, messages, maps.

use std::ops::Range;

use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple,
    SerializeTupleStruct, Serializer,
};

use super::shape::{Field, Holds, Shape, ShapeId, Ty};
use super::write::{At, Done, Part, Sink, Value, refused};
use crate::error::ValueError;
use crate::values::{elements, members};

/// A list that is being written.
pub(super) struct Array<'v, 'c> {
    sink: &'v mut Sink<'c>,
    field: &'c Field,
    /// Where the list begins, and if it is packed, its elements.
    begin: usize,
    packed: Option<usize>,
    depth: usize,
}

impl<'v, 'c> Array<'v, 'c> {
    pub(super) fn begin(sink: &'v mut Sink<'c>, field: &'c Field, depth: usize) -> Array<'v, 'c> {
        let begin = sink.out.len();
        let packed = field.holds == (Holds::List { packed: true });
        let packed = packed.then(|| sink.open(field.number));
        Array {
            sink,
            field,
            begin,
            packed,
            depth,
        }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        let element = Value {
            sink: self.sink,
            ty: self.field.ty,
            at: At::Element(self.field),
            depth: self.depth,
        };
        value.serialize(element)?;
        self.sink.check_room(0)
    }

    fn finish(self) -> Done {
        match self.packed {
            // An empty list is an absent one.
            Some(start) if start == self.sink.out.len() => self.sink.out.truncate(self.begin),
            Some(start) => self.sink.close(start),
            None => {}
        }
        Ok(true)
    }
}

elements!([] Array<'_, '_>);

/// A message or a map that is being written.
pub(super) struct Object<'v, 'c> {
    sink: &'v mut Sink<'c>,
    of: Of<'c>,
    /// Where its content begins, and whether its length goes before that.
    start: usize,
    has_length: bool,
    /// Where its members are in the sink's list of parts.
    base: usize,
    /// Whether they have come in the order in which they are sent.
    sorted: bool,
    key: Option<KeyText>,
    depth: usize,
}

enum Of<'c> {
    Message(&'c Shape),
    Map(Entries<'c>),
}

struct Entries<'c> {
    number: u32,
    key: &'c Field,
    value: &'c Field,
    /// The keys of the entries so far.
    keys: Vec<Key>,
}

/// A key in the order of a map.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Number(i128),
    Text(String),
}

impl<'v, 'c> Object<'v, 'c> {
    pub(super) fn message(
        sink: &'v mut Sink<'c>,
        id: ShapeId,
        field: Option<&Field>,
        depth: usize,
    ) -> Object<'v, 'c> {
        let of = Of::Message(sink.shapes.message(id));
        let start = match field {
            Some(field) => sink.open(field.number),
            None => sink.out.len(),
        };
        Object::begin(sink, of, start, field.is_some(), depth)
    }

    pub(super) fn map(
        sink: &'v mut Sink<'c>,
        field: &Field,
        depth: usize,
    ) -> Result<Object<'v, 'c>, ValueError> {
        let (key, value) = sink.shapes.entry(field.ty).ok_or_else(refused)?;
        let of = Of::Map(Entries {
            number: field.number,
            key,
            value,
            keys: Vec::new(),
        });
        let start = sink.out.len();
        Ok(Object::begin(sink, of, start, false, depth))
    }

    fn begin(
        sink: &'v mut Sink<'c>,
        of: Of<'c>,
        start: usize,
        has_length: bool,
        depth: usize,
    ) -> Object<'v, 'c> {
        Object {
            base: sink.parts.len(),
            sink,
            of,
            start,
            has_length,
            sorted: true,
            key: None,
            depth,
        }
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), ValueError> {
        match &self.of {
            Of::Message(shape) => {
                let field = shape.named(name).ok_or_else(refused)?;
                self.field(field, value)
            }
            Of::Map(_) => self.entry(KeyText::Text(name.to_owned()), value),
        }
    }

    fn field<T: Serialize + ?Sized>(
        &mut self,
        field: &'c Field,
        value: &T,
    ) -> Result<(), ValueError> {
        let begin = self.sink.out.len();
        let member = Value {
            sink: self.sink,
            ty: field.ty,
            at: At::Member(field),
            depth: self.depth,
        };
        if value.serialize(member)? {
            let last = self.sink.parts[self.base..].last();
            self.sorted &= last.is_none_or(|last| last.number < field.number);
            self.part(field.number, begin);
        }
        Ok(())
    }

    /// Notes what has been written since `begin`, be it nothing.
    fn part(&mut self, number: u32, begin: usize) {
        let place = begin..self.sink.out.len();
        self.sink.parts.push(Part { number, place });
    }

    fn entry<T: Serialize + ?Sized>(&mut self, text: KeyText, value: &T) -> Result<(), ValueError> {
        let Of::Map(entries) = &mut self.of else {
            return Err(refused());
        };
        let (key_field, value_field) = (entries.key, entries.value);
        let key = text.into_key(key_field.ty)?;
        self.sink.enter(self.depth - 1)?;
        let begin = self.sink.out.len();
        let start = self.sink.open(entries.number);
        let of_key = of_entry(self.sink, key_field, self.depth);
        match &key {
            Key::Number(number) if key_field.ty == Ty::Bool => {
                of_key.serialize_bool(*number != 0)?;
            }
            Key::Number(number) => {
                of_key.integer(*number)?;
            }
            Key::Text(text) => {
                of_key.serialize_str(text)?;
            }
        }
        value.serialize(of_entry(self.sink, value_field, self.depth))?;
        self.sink.close(start);
        self.sorted &= entries.keys.last().is_none_or(|last| *last < key);
        entries.keys.push(key);
        self.part(0, begin);
        Ok(())
    }

    fn finish(self) -> Done {
        if let Of::Message(shape) = self.of
            && shape.oneofs > 0
        {
            check_oneofs(shape, &self.sink.parts[self.base..])?;
        }
        if !self.sorted {
            let parts = self.sink.parts.split_off(self.base);
            let places = parts.iter().map(|part| part.place.clone());
            let order = match &self.of {
                Of::Message(_) => ordered(parts.iter().map(|part| part.number).zip(places))?,
                Of::Map(entries) => ordered(entries.keys.iter().zip(places))?,
            };
            self.sink.reorder(self.start, &order);
        }
        self.sink.parts.truncate(self.base);
        if self.has_length {
            self.sink.close(self.start);
        }
        Ok(true)
    }
}

/// Where parts are, in the order of their keys. What comes twice is left to JSON's reader.
fn ordered<K: Ord>(
    parts: impl Iterator<Item = (K, Range<usize>)>,
) -> Result<Vec<Range<usize>>, ValueError> {
    let mut parts: Vec<(K, Range<usize>)> = parts.collect();
    parts.sort_by(|(a, _), (b, _)| a.cmp(b));
    match parts.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        true => Err(refused()),
        false => Ok(parts.into_iter().map(|(_, place)| place).collect()),
    }
}

fn of_entry<'v, 'c>(sink: &'v mut Sink<'c>, field: &'c Field, depth: usize) -> Value<'v, 'c> {
    Value {
        sink,
        ty: field.ty,
        at: At::Entry(field),
        depth,
    }
}

/// Of a oneof one field can be set.
fn check_oneofs(shape: &Shape, parts: &[Part]) -> Result<(), ValueError> {
    let mut set = vec![false; shape.oneofs];
    for part in parts {
        let field = shape.place(part.number).map(|place| &shape.fields[place]);
        if let Some(oneof) = field.and_then(|field| field.oneof)
            && std::mem::replace(&mut set[oneof], true)
        {
            return Err(refused());
        }
    }
    Ok(())
}

impl Sink<'_> {
    /// Puts the parts that all is from `start` on into another order.
    fn reorder(&mut self, start: usize, order: &[Range<usize>]) {
        let content = self.out.split_off(start);
        for place in order {
            let part = &content[place.start - start..place.end - start];
            self.out.extend_from_slice(part);
        }
    }
}

members!([] Object<'_, '_>);

impl SerializeMap for Object<'_, '_> {
    type Ok = bool;
    type Error = ValueError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ValueError> {
        self.key = Some(key.serialize(KeyWriter)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        let key = self.key.take().ok_or_else(refused)?;
        match (&self.of, key) {
            (Of::Map(_), key) => self.entry(key, value),
            (Of::Message(_), KeyText::Text(name)) => self.member(&name, value),
            _ => Err(refused()),
        }
    }

    fn end(self) -> Done {
        self.finish()
    }
}

/// A key as JSON has it.
enum KeyText {
    Text(String),
    Number(i128),
    Bool(bool),
}

impl KeyText {
    fn into_key(self, ty: Ty) -> Result<Key, ValueError> {
        let parsed = |text: &str| match ty {
            Ty::Bool => text.parse().ok().map(|it: bool| it.into()),
            Ty::Int32 | Ty::Sint32 | Ty::Sfixed32 => text.parse().ok().map(|it: i32| it.into()),
            Ty::Int64 | Ty::Sint64 | Ty::Sfixed64 => text.parse().ok().map(|it: i64| it.into()),
            Ty::Uint32 | Ty::Fixed32 => text.parse().ok().map(|it: u32| it.into()),
            _ => text.parse().ok().map(|it: u64| it.into()),
        };
        match (self, ty) {
            (KeyText::Text(text), Ty::String) => Ok(Key::Text(text)),
            (KeyText::Number(number), Ty::String) => Ok(Key::Text(number.to_string())),
            (KeyText::Bool(value), Ty::String) => Ok(Key::Text(value.to_string())),
            (KeyText::Text(text), _) => parsed(&text).map(Key::Number).ok_or_else(refused),
            (KeyText::Bool(value), Ty::Bool) => Ok(Key::Number(value.into())),
            (KeyText::Number(_), Ty::Bool) | (KeyText::Bool(_), _) => Err(refused()),
            (KeyText::Number(number), _) => Ok(Key::Number(number)),
        }
    }
}

/// Takes a key.
struct KeyWriter;

macro_rules! numbers {
    ($($method:ident: $ty:ty;)+) => {$(
        fn $method(self, value: $ty) -> Result<KeyText, ValueError> {
            Ok(KeyText::Number(value.into()))
        }
    )+};
}

impl Serializer for KeyWriter {
    type Ok = KeyText;
    type Error = ValueError;
    type SerializeSeq = Impossible<KeyText, ValueError>;
    type SerializeTuple = Impossible<KeyText, ValueError>;
    type SerializeTupleStruct = Impossible<KeyText, ValueError>;
    type SerializeTupleVariant = Impossible<KeyText, ValueError>;
    type SerializeMap = Impossible<KeyText, ValueError>;
    type SerializeStruct = Impossible<KeyText, ValueError>;
    type SerializeStructVariant = Impossible<KeyText, ValueError>;

    numbers! {
        serialize_i8: i8; serialize_i16: i16; serialize_i32: i32; serialize_i64: i64;
        serialize_u8: u8; serialize_u16: u16; serialize_u32: u32; serialize_u64: u64;
    }

    fn serialize_bool(self, value: bool) -> Result<KeyText, ValueError> {
        Ok(KeyText::Bool(value))
    }

    fn serialize_str(self, value: &str) -> Result<KeyText, ValueError> {
        Ok(KeyText::Text(value.to_owned()))
    }

    fn serialize_char(self, value: char) -> Result<KeyText, ValueError> {
        Ok(KeyText::Text(value.into()))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<KeyText, ValueError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<KeyText, ValueError> {
        value.serialize(self)
    }

    fn serialize_f32(self, _: f32) -> Result<KeyText, ValueError> {
        Err(refused())
    }

    fn serialize_f64(self, _: f64) -> Result<KeyText, ValueError> {
        Err(refused())
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<KeyText, ValueError> {
        Err(refused())
    }

    fn serialize_none(self) -> Result<KeyText, ValueError> {
        Err(refused())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<KeyText, ValueError> {
        Err(refused())
    }

    fn serialize_unit(self) -> Result<KeyText, ValueError> {
        Err(refused())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<KeyText, ValueError> {
        Err(refused())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<KeyText, ValueError> {
        Err(refused())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, ValueError> {
        Err(refused())
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, ValueError> {
        Err(refused())
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, ValueError> {
        Err(refused())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, ValueError> {
        Err(refused())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, ValueError> {
        Err(refused())
    }

    fn serialize_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, ValueError> {
        Err(refused())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, ValueError> {
        Err(refused())
    }
}
