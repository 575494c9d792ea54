//! A serde serializer that writes values of an application's own types as Thrift structs.
//!
//! The serializer writes the same bytes as [`super::struct_from_json`] for the JSON of the value,
//! with the same checks.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{
    Error as _, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple,
    SerializeTupleStruct, Serializer,
};
use serde_json::Value as Json;

use super::schema::{Schema, Struct, Ty};
use super::wire::{WireType, Writer};
use crate::budget::Budget;
use crate::error::{AccelError, ValueError};
use crate::json::float_of_text;
use crate::limits::Limits;
use crate::values::{elements, members, written_as_json};

type Done = Result<bool, ValueError>;

const NO_PAIR: &str = "an entry of a map is not a [key, value] pair";

/// The output and its limits.
pub(super) struct Sink<'c, W> {
    pub(super) schema: &'c Schema,
    pub(super) writer: &'c mut W,
    pub(super) limits: &'c Limits,
    pub(super) budget: Budget,
}

impl<W: Writer> Sink<'_, W> {
    fn enter(&self, depth: usize) -> Result<(), ValueError> {
        let (at, limit) = (self.writer.len(), self.limits.max_depth);
        match depth < limit {
            true => Ok(()),
            false => Err(AccelError::TooDeep { at, limit }.into()),
        }
    }

    /// Charges `more` fields or elements, and checks the size of the struct.
    fn count(&mut self, more: usize) -> Result<(), ValueError> {
        self.budget.elements(more)?;
        Ok(self
            .limits
            .check_size("bytes of the Thrift struct", self.writer.len())?)
    }
}

/// A value of a known type, to be written at the end of the output. Serializes to true if the value
/// is present; a `None` field is absent.
pub(super) struct Value<'v, 'c, 't, W> {
    pub(super) sink: &'v mut Sink<'c, W>,
    pub(super) ty: &'t Ty,
    /// Its name in errors.
    pub(super) name: &'t str,
    /// The number of the value's field, whose header precedes the value.
    pub(super) field: Option<i16>,
    pub(super) depth: usize,
    /// Whether the value is a `[key, value]` pair of the map `ty`.
    pub(super) is_pair: bool,
}

impl<'v, 'c, 't, W: Writer> Value<'v, 'c, 't, W> {
    fn header(&mut self) {
        if let Some(id) = self.field {
            self.sink.writer.field(WireType::of(self.ty), id);
        }
    }

    fn mismatch(&self, found: impl fmt::Display) -> ValueError {
        if self.is_pair {
            return ValueError::custom(NO_PAIR);
        }
        let (field, found, expected) = (self.name.to_owned(), found.to_string(), self.ty.name());
        let error = AccelError::WrongJsonType {
            field,
            found,
            expected,
        };
        error.into()
    }

    fn out_of_range(&self, found: impl fmt::Display, allowed: &'static str) -> ValueError {
        let (field, found) = (self.name.to_owned(), found.to_string());
        let error = AccelError::OutOfRange {
            field,
            found,
            allowed,
        };
        error.into()
    }

    fn array(mut self) -> Result<Array<'v, 'c, 't, W>, ValueError> {
        if self.is_pair {
            return Ok(Array::pair(self));
        }
        self.sink.enter(self.depth)?;
        let is_array = match self.ty {
            Ty::List(_) | Ty::Set(_) => true,
            Ty::Map(types) => types.0 != Ty::String,
            _ => false,
        };
        if !is_array {
            return Err(self.mismatch("an array"));
        }
        self.header();
        Ok(Array::begin(self.sink, self.ty, self.name, self.depth + 1))
    }

    fn object(mut self) -> Result<Object<'v, 'c, 't, W>, ValueError> {
        self.sink.enter(self.depth)?;
        let is_object = match self.ty {
            Ty::Struct(_) => true,
            Ty::Map(types) => types.0 == Ty::String,
            _ => false,
        };
        if !is_object {
            return Err(self.mismatch("an object"));
        }
        self.header();
        Ok(Object::begin(self.sink, self.ty, self.name, self.depth + 1))
    }
}

impl<'v, 'c, 't, W: Writer> Serializer for Value<'v, 'c, 't, W> {
    type Ok = bool;
    type Error = ValueError;
    type SerializeSeq = Array<'v, 'c, 't, W>;
    type SerializeTuple = Array<'v, 'c, 't, W>;
    type SerializeTupleStruct = Array<'v, 'c, 't, W>;
    type SerializeTupleVariant = Impossible<bool, ValueError>;
    type SerializeMap = Object<'v, 'c, 't, W>;
    type SerializeStruct = Object<'v, 'c, 't, W>;
    type SerializeStructVariant = Impossible<bool, ValueError>;

    written_as_json!(Array<'v, 'c, 't, W>, Object<'v, 'c, 't, W>);

    fn serialize_bool(self, value: bool) -> Done {
        match (self.ty, self.field) {
            (Ty::Bool, Some(id)) => self.sink.writer.bool_field(id, value),
            (Ty::Bool, None) => self.sink.writer.bool(value),
            _ => return Err(self.mismatch(value)),
        }
        Ok(true)
    }

    fn serialize_i64(mut self, value: i64) -> Done {
        let (fits, allowed) = match self.ty {
            Ty::I8 => (i8::try_from(value).is_ok(), "-128 to 127"),
            Ty::I16 => (i16::try_from(value).is_ok(), "-32768 to 32767"),
            Ty::I32 => (i32::try_from(value).is_ok(), "-2147483648 to 2147483647"),
            Ty::I64 | Ty::Double => (true, ""),
            _ => return Err(self.mismatch(value)),
        };
        if !fits {
            return Err(self.out_of_range(value, allowed));
        }
        self.header();
        let writer = &mut *self.sink.writer;
        match self.ty {
            Ty::I8 => writer.i8(value as i8),
            Ty::I16 => writer.i16(value as i16),
            Ty::I32 => writer.i32(value as i32),
            Ty::Double => writer.double(value as f64),
            _ => writer.i64(value),
        }
        Ok(true)
    }

    fn serialize_u64(self, value: u64) -> Done {
        match (i64::try_from(value), self.ty) {
            (Ok(value), _) => self.serialize_i64(value),
            (Err(_), Ty::Double) => self.serialize_f64(value as f64),
            (Err(_), Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64) => {
                Err(self.out_of_range(value, "at most 9223372036854775807"))
            }
            (Err(_), _) => Err(self.mismatch(value)),
        }
    }

    fn serialize_f64(mut self, value: f64) -> Done {
        if *self.ty != Ty::Double {
            if !value.is_finite() && !self.is_pair {
                let (field, found) = (self.name.to_owned(), value.to_string());
                let expected = self.ty.name();
                let error = AccelError::NotFinite {
                    field,
                    found,
                    expected,
                };
                return Err(error.into());
            }
            // As 1.0, which is no integer, and not as 1.
            return Err(self.mismatch(format_args!("{value:?}")));
        }
        self.header();
        self.sink.writer.double(value);
        Ok(true)
    }

    fn serialize_str(mut self, value: &str) -> Done {
        let size = self.sink.writer.len() + value.len();
        self.sink
            .limits
            .check_size("bytes of the Thrift struct", size)?;
        match self.ty {
            Ty::String => {
                self.header();
                self.sink.writer.bytes(value.as_bytes());
            }
            Ty::Binary => {
                let bytes = STANDARD.decode(value).map_err(|error| {
                    let (field, why) = (self.name.to_owned(), error.to_string());
                    AccelError::BadBase64 { field, why }
                })?;
                self.header();
                self.sink.writer.bytes(&bytes);
            }
            Ty::Double => match float_of_text(value) {
                Some(number) => return self.serialize_f64(number),
                None => return Err(self.mismatch("a string")),
            },
            _ => return Err(self.mismatch("a string")),
        }
        Ok(true)
    }

    fn serialize_none(self) -> Done {
        match self.field {
            Some(_) => Ok(false),
            None => Err(self.mismatch("null")),
        }
    }

    fn serialize_f32(self, value: f32) -> Done {
        self.serialize_f64(value.into())
    }

    fn serialize_bytes(self, _: &[u8]) -> Done {
        Err(self.mismatch("bytes; binary is text in base64"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Impossible<bool, ValueError>, ValueError> {
        Err(self.mismatch(format_args!("the tuple variant {variant}")))
    }

    fn serialize_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Object<'v, 'c, 't, W>, ValueError> {
        self.object()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Impossible<bool, ValueError>, ValueError> {
        Err(self.mismatch(format_args!("the struct variant {variant}")))
    }
}

/// A list, a set, a map without string keys, whose entries are pairs, or such a pair.
pub(super) struct Array<'v, 'c, 't, W> {
    sink: &'v mut Sink<'c, W>,
    ty: &'t Ty,
    name: &'t str,
    mark: usize,
    count: usize,
    depth: usize,
    /// Whether this is a pair of the map `ty`.
    is_pair: bool,
}

impl<'v, 'c, 't, W: Writer> Array<'v, 'c, 't, W> {
    /// `ty` is a list, a set or a map.
    fn begin(
        sink: &'v mut Sink<'c, W>,
        ty: &'t Ty,
        name: &'t str,
        depth: usize,
    ) -> Array<'v, 'c, 't, W> {
        let mark = match ty {
            Ty::Map(types) => {
                let (key, value) = (WireType::of(&types.0), WireType::of(&types.1));
                sink.writer.map_begin(key, value)
            }
            Ty::List(element) | Ty::Set(element) => sink.writer.list_begin(WireType::of(element)),
            _ => sink.writer.len(),
        };
        Array {
            sink,
            ty,
            name,
            mark,
            count: 0,
            depth,
            is_pair: false,
        }
    }

    /// The pair `value` of a map, whose parts are written one after the other.
    fn pair(value: Value<'v, 'c, 't, W>) -> Array<'v, 'c, 't, W> {
        let mark = value.sink.writer.len();
        Array {
            sink: value.sink,
            ty: value.ty,
            name: value.name,
            mark,
            count: 0,
            depth: value.depth,
            is_pair: true,
        }
    }

    fn part<T: Serialize + ?Sized>(
        &mut self,
        ty: &Ty,
        is_pair: bool,
        value: &T,
    ) -> Result<(), ValueError> {
        let present = value.serialize(Value {
            sink: self.sink,
            ty,
            name: self.name,
            field: None,
            depth: self.depth,
            is_pair,
        });
        present.map(drop)
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        let elements = match (self.ty, self.is_pair) {
            (Ty::List(element) | Ty::Set(element), _) => {
                self.part(element, false, value)?;
                1
            }
            (Ty::Map(types), true) => {
                let parts = [&types.0, &types.1];
                let ty = parts.get(self.count);
                self.part(ty.ok_or(ValueError::custom(NO_PAIR))?, false, value)?;
                0 // The entry is charged as a whole.
            }
            (map, _) => {
                self.part(map, true, value)?;
                2
            }
        };
        self.count += 1;
        self.sink.count(elements)
    }

    fn finish(self) -> Done {
        let (writer, count) = (&mut *self.sink.writer, self.count);
        if self.is_pair {
            return match count {
                2 => Ok(true),
                _ => Err(ValueError::custom(NO_PAIR)),
            };
        }
        match self.ty {
            Ty::List(element) | Ty::Set(element) => {
                writer.list_end(self.mark, WireType::of(element), count);
            }
            Ty::Map(types) => {
                let (key, value) = (WireType::of(&types.0), WireType::of(&types.1));
                writer.map_end(self.mark, key, value, count);
            }
            _ => {}
        }
        Ok(true)
    }
}

/// A struct, or a map with string keys.
pub(super) struct Object<'v, 'c, 't, W> {
    sink: &'v mut Sink<'c, W>,
    body: Body<'c, 't>,
    /// The key of the value that is written next.
    key: Option<String>,
    depth: usize,
}

enum Body<'c, 't> {
    Struct(Members<'c>),
    Map {
        value: &'t Ty,
        name: &'t str,
        mark: usize,
        count: usize,
    },
}

struct Members<'c> {
    structure: &'c Struct,
    outer: i16,
    seen: u128,
    present: u128,
    /// The probable place of the next member.
    next: usize,
}

impl<'c> Members<'c> {
    /// The place of the member `name`.
    ///
    /// # Errors
    /// `unknown_field`, `duplicate_field`.
    fn find(&mut self, name: &str) -> Result<usize, ValueError> {
        let structure = self.structure;
        // Most types have their members in the order of the interface.
        let guess = structure.fields.get(self.next);
        let found = match guess.filter(|field| *field.name == *name) {
            Some(_) => Some(self.next),
            None => structure.field_by_name(name).map(|(place, _)| place),
        };
        let Some(place) = found else {
            let container = structure.name.to_string();
            let (field, known) = (name.to_owned(), structure.field_names());
            let error = AccelError::UnknownField {
                container,
                field,
                known,
            };
            return Err(error.into());
        };
        self.next = place + 1;
        if self.seen >> place & 1 == 1 {
            let (container, field) = (structure.name.to_string(), name.to_owned());
            return Err(AccelError::DuplicateField { container, field }.into());
        }
        self.seen |= 1 << place;
        Ok(place)
    }
}

impl<'v, 'c, 't, W: Writer> Object<'v, 'c, 't, W> {
    /// `ty` is a struct, or a map whose keys are strings.
    fn begin(
        sink: &'v mut Sink<'c, W>,
        ty: &'t Ty,
        name: &'t str,
        depth: usize,
    ) -> Object<'v, 'c, 't, W> {
        let body = match ty {
            Ty::Struct(id) => Body::Struct(Members {
                structure: sink.schema.get(*id),
                outer: sink.writer.struct_begin(),
                seen: 0,
                present: 0,
                next: 0,
            }),
            Ty::Map(types) => Body::Map {
                value: &types.1,
                name,
                mark: (sink.writer).map_begin(WireType::Bytes, WireType::of(&types.1)),
                count: 0,
            },
            other => Body::Map {
                value: other,
                name,
                mark: sink.writer.len(),
                count: 0,
            },
        };
        Object {
            sink,
            body,
            key: None,
            depth,
        }
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), ValueError> {
        let depth = self.depth;
        let sink = &mut *self.sink;
        match &mut self.body {
            Body::Struct(members) => {
                let place = members.find(name)?;
                let field = &members.structure.fields[place];
                let present = value.serialize(Value {
                    sink,
                    ty: &field.ty,
                    name: &field.name,
                    field: Some(field.id),
                    depth,
                    is_pair: false,
                })?;
                members.present |= u128::from(present) << place;
                self.sink.count(present.into())
            }
            Body::Map {
                value: ty,
                name: map_name,
                count,
                ..
            } => {
                sink.writer.bytes(name.as_bytes());
                value.serialize(Value {
                    sink,
                    ty,
                    name: map_name,
                    field: None,
                    depth,
                    is_pair: false,
                })?;
                *count += 1;
                self.sink.count(2)
            }
        }
    }

    fn finish(self) -> Done {
        let (sink, depth) = (self.sink, self.depth);
        match self.body {
            Body::Struct(mut members) => {
                for (place, field, default) in members.structure.absent_defaults(members.seen) {
                    let value: Json =
                        serde_json::from_slice(&default.json).map_err(AccelError::from_json)?;
                    let present = value.serialize(Value {
                        sink,
                        ty: &field.ty,
                        name: &field.name,
                        field: Some(field.id),
                        depth,
                        is_pair: false,
                    })?;
                    members.present |= u128::from(present) << place;
                    sink.count(1)?;
                }
                members.structure.check_presence(members.present)?;
                sink.writer.struct_end(members.outer);
                sink.count(0)?;
            }
            Body::Map {
                value, mark, count, ..
            } => {
                let (key, value) = (WireType::Bytes, WireType::of(value));
                sink.writer.map_end(mark, key, value, count);
            }
        }
        Ok(true)
    }
}

elements!([W: Writer] Array<'_, '_, '_, W>);

members!([W: Writer] Object<'_, '_, '_, W>);

impl<W: Writer> SerializeMap for Object<'_, '_, '_, W> {
    type Ok = bool;
    type Error = ValueError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ValueError> {
        match serde_json::to_value(key) {
            Ok(Json::String(name)) => self.key = Some(name),
            _ => return Err(ValueError::custom("a key of a map is not a string")),
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        match self.key.take() {
            Some(name) => self.member(&name, value),
            None => Err(ValueError::custom("a value of a map has no key")),
        }
    }

    fn end(self) -> Done {
        self.finish()
    }
}
