//! Values of an application's own types to Thrift by serde, without JSON text in between.
//!
//! What a value becomes is what the JSON that it is for `serde_json` would become by
//! [`super::struct_from_json`], with the same checks.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Impossible, Serialize, SerializeStruct, Serializer};

use super::schema::{Schema, Ty};
use super::wire::{WireType, Writer};
use super::write_parts::{Array, Object};
use crate::error::{AccelError, ValueError};
use crate::limits::{Budget, Limits};
use crate::values::written_as_json;

pub(super) type Done = Result<bool, ValueError>;

/// Where values are written.
pub(super) struct Sink<'c, W> {
    pub(super) schema: &'c Schema,
    pub(super) writer: &'c mut W,
    pub(super) limits: &'c Limits,
    pub(super) budget: Budget,
}

impl<W: Writer> Sink<'_, W> {
    pub(super) fn enter(&self, depth: usize) -> Result<(), ValueError> {
        let (at, limit) = (self.writer.len(), self.limits.max_depth);
        match depth < limit {
            true => Ok(()),
            false => Err(AccelError::TooDeep { at, limit }.into()),
        }
    }

    /// Counts so many more fields or elements, after which the struct may not have become too large.
    pub(super) fn count(&mut self, more: usize) -> Result<(), ValueError> {
        self.budget.elements(more)?;
        Ok(AccelError::check_size(
            "Thrift struct",
            self.writer.len(),
            self.limits,
        )?)
    }
}

/// A value of a known type, to be written where the writer stands. Serializes to whether it was
/// there: `None` leaves a field out.
pub(super) struct Value<'v, 'c, 't, W> {
    pub(super) sink: &'v mut Sink<'c, W>,
    pub(super) ty: &'t Ty,
    /// What errors call it.
    pub(super) name: &'t str,
    /// The field's number, if the value is a field: its header precedes the value.
    pub(super) field: Option<i16>,
    pub(super) depth: usize,
}

impl<'v, 'c, 't, W: Writer> Value<'v, 'c, 't, W> {
    fn header(&mut self) {
        if let Some(id) = self.field {
            self.sink.writer.field(WireType::of(self.ty), id);
        }
    }

    fn mismatch(&self, found: impl fmt::Display) -> ValueError {
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
            return Err(self.mismatch(value));
        }
        if !value.is_finite() {
            let (field, found) = (self.name.to_owned(), value.to_string());
            return Err(AccelError::NotFinite { field, found }.into());
        }
        self.header();
        self.sink.writer.double(value);
        Ok(true)
    }

    fn serialize_str(mut self, value: &str) -> Done {
        let size = self.sink.writer.len() + value.len();
        AccelError::check_size("Thrift struct", size, self.sink.limits)?;
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
        Err(self.mismatch(format_args!("the variant {variant} of several values")))
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
        Err(self.mismatch(format_args!("the variant {variant} of several members")))
    }
}
