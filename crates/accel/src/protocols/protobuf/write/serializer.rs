//! Writes values of all kinds to a protobuf message: scalars, lists, messages and maps.

use std::ops::Range;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple,
    SerializeTupleStruct, Serializer,
};

use super::key::{Key, KeyText, KeyWriter};
use super::sink::{Part, Sink};
use super::value::{At, Done, Value, refused};
use crate::error::ValueError;
use crate::protocols::protobuf::floats::widened;
use crate::protocols::protobuf::shape::{Field, Holds, Shape, ShapeId, Ty};
use crate::values::{elements, members, written_as_json};

/// Base64 as ProtoJSON's readers accept it.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl<'v, 'c> Value<'v, 'c> {
    fn array(self) -> Result<Array<'v, 'c>, ValueError> {
        match self.at {
            At::Member(field) if matches!(field.holds, Holds::List { .. }) => {
                Ok(Array::begin(self.sink, field, self.depth))
            }
            _ => Err(refused()),
        }
    }

    fn object(self) -> Result<Object<'v, 'c>, ValueError> {
        let (id, field) = match (self.ty, self.at) {
            (Ty::Message(_), At::Member(field)) if field.holds == Holds::Map => {
                return Object::map(self.sink, field, self.depth + 1);
            }
            (Ty::Message(_), At::Member(field)) if field.holds != Holds::One => {
                return Err(refused());
            }
            (Ty::Message(id), At::Root) => (id, None),
            (Ty::Message(id), At::Member(field) | At::Entry(field) | At::Element(field)) => {
                (id, Some(field))
            }
            _ => return Err(refused()),
        };
        self.sink.enter(self.depth)?;
        Ok(Object::message(self.sink, id, field, self.depth + 1))
    }
}

impl<'v, 'c> Serializer for Value<'v, 'c> {
    type Ok = bool;
    type Error = ValueError;
    type SerializeSeq = Array<'v, 'c>;
    type SerializeTuple = Array<'v, 'c>;
    type SerializeTupleStruct = Array<'v, 'c>;
    type SerializeTupleVariant = Impossible<bool, ValueError>;
    type SerializeMap = Object<'v, 'c>;
    type SerializeStruct = Object<'v, 'c>;
    type SerializeStructVariant = Impossible<bool, ValueError>;

    written_as_json!(Array<'v, 'c>, Object<'v, 'c>);

    fn serialize_bool(self, value: bool) -> Done {
        match self.ty {
            Ty::Bool => self.varint(value.into()),
            _ => Err(refused()),
        }
    }

    fn serialize_i64(self, value: i64) -> Done {
        self.integer(value.into())
    }

    fn serialize_u64(self, value: u64) -> Done {
        self.integer(value.into())
    }

    fn serialize_f64(self, value: f64) -> Done {
        match self.ty {
            Ty::Double if value.is_finite() => self.double(value),
            Ty::Float if value.abs() <= f32::MAX.into() => self.float(value as f32),
            _ => Err(refused()),
        }
    }

    fn serialize_f32(self, value: f32) -> Done {
        match self.ty {
            Ty::Double if value.abs() < f32::MAX => self.double(widened(value)),
            Ty::Float if value.abs() < f32::MAX => self.float(value),
            _ => Err(refused()),
        }
    }

    fn serialize_str(self, value: &str) -> Done {
        match self.ty {
            Ty::String => self.bytes(value.as_bytes()),
            Ty::Bytes => match LENIENT.decode(value) {
                Ok(bytes) => self.bytes(&bytes),
                Err(_) => Err(refused()),
            },
            Ty::Int32 | Ty::Sint32 | Ty::Sfixed32 => self.parsed::<i32>(value),
            Ty::Int64 | Ty::Sint64 | Ty::Sfixed64 => self.parsed::<i64>(value),
            Ty::Uint32 | Ty::Fixed32 => self.parsed::<u32>(value),
            Ty::Uint64 | Ty::Fixed64 => self.parsed::<u64>(value),
            Ty::Double => match value.parse() {
                Ok(value) => self.double(value),
                Err(_) => Err(refused()),
            },
            Ty::Float => match value.parse() {
                Ok(value) => self.float(value),
                Err(_) => Err(refused()),
            },
            Ty::Enum(id) => match self.sink.shapes.names(id).number(value) {
                Some(number) => self.integer(number.into()),
                None => Err(refused()),
            },
            Ty::Bool | Ty::Message(_) => Err(refused()),
        }
    }

    fn serialize_none(self) -> Done {
        match self.at {
            At::Member(_) => Ok(false),
            _ => Err(refused()),
        }
    }

    /// In JSON they are an array of numbers.
    fn serialize_bytes(self, _: &[u8]) -> Done {
        Err(refused())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<bool, ValueError>, ValueError> {
        Err(refused())
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Object<'v, 'c>, ValueError> {
        // serde_json's marker for raw JSON text or numbers.
        match name.starts_with("$serde_json") {
            true => Err(refused()),
            false => self.object(),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<bool, ValueError>, ValueError> {
        Err(refused())
    }
}

/// A list that is being written.
pub(super) struct Array<'v, 'c> {
    sink: &'v mut Sink<'c>,
    field: &'c Field,
    /// The offset of the list, and of its elements if it is packed.
    begin: usize,
    packed: Option<usize>,
    depth: usize,
}

impl<'v, 'c> Array<'v, 'c> {
    fn begin(sink: &'v mut Sink<'c>, field: &'c Field, depth: usize) -> Array<'v, 'c> {
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
            // An empty list is absent.
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
    kind: Kind<'c>,
    /// The offset of its content, and whether a length precedes it.
    start: usize,
    has_length: bool,
    /// The index of its first member in the sink's parts.
    base: usize,
    /// Whether the members were written in the order of the wire form.
    sorted: bool,
    key: Option<KeyText>,
    depth: usize,
}

enum Kind<'c> {
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

impl<'v, 'c> Object<'v, 'c> {
    fn message(
        sink: &'v mut Sink<'c>,
        id: ShapeId,
        field: Option<&Field>,
        depth: usize,
    ) -> Object<'v, 'c> {
        let kind = Kind::Message(sink.shapes.message(id));
        let start = match field {
            Some(field) => sink.open(field.number),
            None => sink.out.len(),
        };
        Object::begin(sink, kind, start, field.is_some(), depth)
    }

    fn map(
        sink: &'v mut Sink<'c>,
        field: &Field,
        depth: usize,
    ) -> Result<Object<'v, 'c>, ValueError> {
        let (key, value) = sink.shapes.entry(field.ty).ok_or_else(refused)?;
        let kind = Kind::Map(Entries {
            number: field.number,
            key,
            value,
            keys: Vec::new(),
        });
        let start = sink.out.len();
        Ok(Object::begin(sink, kind, start, false, depth))
    }

    fn begin(
        sink: &'v mut Sink<'c>,
        kind: Kind<'c>,
        start: usize,
        has_length: bool,
        depth: usize,
    ) -> Object<'v, 'c> {
        Object {
            base: sink.parts.len(),
            sink,
            kind,
            start,
            has_length,
            sorted: true,
            key: None,
            depth,
        }
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), ValueError> {
        match &self.kind {
            Kind::Message(shape) => {
                let field = shape.named(name).ok_or_else(refused)?;
                self.field(field, value)
            }
            Kind::Map(_) => self.entry(KeyText::Text(name.to_owned()), value),
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

    /// Notes the output since `begin`, which may be empty, as a part.
    fn part(&mut self, number: u32, begin: usize) {
        let place = begin..self.sink.out.len();
        self.sink.parts.push(Part { number, place });
    }

    fn entry<T: Serialize + ?Sized>(&mut self, text: KeyText, value: &T) -> Result<(), ValueError> {
        let Kind::Map(entries) = &mut self.kind else {
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
        if let Kind::Message(shape) = self.kind
            && shape.oneofs > 0
        {
            check_oneofs(shape, &self.sink.parts[self.base..])?;
        }
        if !self.sorted {
            let parts = self.sink.parts.split_off(self.base);
            let places = parts.iter().map(|part| part.place.clone());
            let order = match &self.kind {
                Kind::Message(_) => ordered(parts.iter().map(|part| part.number).zip(places))?,
                Kind::Map(entries) => ordered(entries.keys.iter().zip(places))?,
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

/// The places of parts in the order of their keys. Refuses duplicate keys.
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

/// Checks that at most one field of each oneof is set.
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
        match (&self.kind, key) {
            (Kind::Map(_), key) => self.entry(key, value),
            (Kind::Message(_), KeyText::Text(name)) => self.member(&name, value),
            _ => Err(refused()),
        }
    }

    fn end(self) -> Done {
        self.finish()
    }
}
