//! Values of an application's own types to protobuf by serde, without JSON text in between.
//!
//! What is written is what [`super::message_from_json`] makes of the JSON that the value is for
//! `serde_json`. What is not as simple as that, or an error, is left to it.

use std::ops::Range;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::ser::{Impossible, Serialize, SerializeStruct, Serializer};

use super::read::widened;
use super::scan::{self, FIXED32, FIXED64, LENGTH, VARINT};
use super::shape::{Field, Holds, ShapeId, Shapes, Ty};
use super::write_parts::{Array, Object};
use crate::error::{AccelError, ValueError};
use crate::limits::Limits;
use crate::values::written_as_json;

/// Whether there was a value: `None` leaves a field out.
pub(super) type Done = Result<bool, ValueError>;

/// Base64 as ProtoJSON's readers take it.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

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
    AccelError::check_size("message", out.len(), limits)?;
    // Whoever has the same limits can read it. Most messages are too small to have too many elements.
    match out.len().saturating_mul(shapes.most_always()) > limits.max_elements {
        true => scan::check(shapes, id, out, limits),
        false => Ok(()),
    }
}

/// Where values are written.
pub(super) struct Sink<'c> {
    pub(super) shapes: &'c Shapes,
    limits: &'c Limits,
    pub(super) out: &'c mut Vec<u8>,
    /// What is within the messages and maps that are being written, up to now.
    pub(super) parts: Vec<Part>,
}

impl Sink<'_> {
    pub(super) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.out.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }

    fn key(&mut self, number: u32, wire: u8) {
        self.varint(u64::from(number) << 3 | u64::from(wire));
    }

    /// Begins what has its length before it; where its content begins.
    pub(super) fn open(&mut self, number: u32) -> usize {
        self.key(number, LENGTH);
        self.out.push(0);
        self.out.len()
    }

    /// Ends what has begun at `start`. Most lengths take the one byte that was left for them.
    pub(super) fn close(&mut self, start: usize) {
        let length = self.out.len() - start;
        if length < 0x80 {
            self.out[start - 1] = length as u8;
            return;
        }
        let end = self.out.len();
        self.varint(length as u64);
        let size = self.out.len() - end;
        let mut prefix = [0; 10];
        prefix[..size].copy_from_slice(&self.out[end..]);
        self.out.copy_within(start..end, start - 1 + size);
        self.out[start - 1..start - 1 + size].copy_from_slice(&prefix[..size]);
        self.out.truncate(end - 1 + size);
    }

    /// Checks that `more` bytes fit into the message, before they are written.
    pub(super) fn check_room(&self, more: usize) -> Result<(), ValueError> {
        Ok(AccelError::check_size(
            "message",
            self.out.len() + more,
            self.limits,
        )?)
    }

    /// Messages and entries of maps count, as where they are read.
    pub(super) fn enter(&self, depth: usize) -> Result<(), ValueError> {
        let (at, limit) = (self.out.len(), self.limits.max_depth);
        match depth < limit {
            true => Ok(()),
            false => Err(AccelError::TooDeep { at, limit }.into()),
        }
    }
}

/// A member of a message or an entry of a map: the member's number, and where it lies.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) number: u32,
    pub(super) place: Range<usize>,
}

/// What a value is of.
#[derive(Clone, Copy)]
pub(super) enum At<'c> {
    /// The message itself.
    Root,
    /// A message.
    Member(&'c Field),
    /// A map's entry: its key or its value.
    Entry(&'c Field),
    /// A list.
    Element(&'c Field),
}

/// A value of a known type, to be written at the end.
pub(super) struct Value<'v, 'c> {
    pub(super) sink: &'v mut Sink<'c>,
    pub(super) ty: Ty,
    pub(super) at: At<'c>,
    pub(super) depth: usize,
}

/// What is left to the reader of JSON.
pub(super) fn refused() -> ValueError {
    ValueError(AccelError::BadValue {
        why: "not a value that can be written as it is".to_owned(),
    })
}

impl<'v, 'c> Value<'v, 'c> {
    /// Writes what goes before a value of one number or text; false if the value is one that is
    /// not written.
    fn begin(&mut self, wire: u8, is_default: bool) -> Result<bool, ValueError> {
        match self.at {
            At::Root => Err(refused()),
            At::Member(field) if field.holds != Holds::One => Err(refused()),
            At::Member(field) | At::Entry(field) => {
                let written = field.presence || !is_default;
                if written {
                    self.sink.key(field.number, wire);
                }
                Ok(written)
            }
            At::Element(field) => {
                if field.holds == (Holds::List { packed: false }) {
                    self.sink.key(field.number, wire);
                }
                Ok(true)
            }
        }
    }

    fn varint(self, value: u64) -> Done {
        self.varint_or_default(value, value == 0)
    }

    fn varint_or_default(mut self, value: u64, is_default: bool) -> Done {
        if self.begin(VARINT, is_default)? {
            self.sink.varint(value);
        }
        Ok(true)
    }

    fn fixed32(mut self, bits: u32, is_default: bool) -> Done {
        if self.begin(FIXED32, is_default)? {
            self.sink.out.extend_from_slice(&bits.to_le_bytes());
        }
        Ok(true)
    }

    fn fixed64(mut self, bits: u64, is_default: bool) -> Done {
        if self.begin(FIXED64, is_default)? {
            self.sink.out.extend_from_slice(&bits.to_le_bytes());
        }
        Ok(true)
    }

    fn bytes(mut self, bytes: &[u8]) -> Done {
        self.sink.check_room(bytes.len())?;
        if self.begin(LENGTH, bytes.is_empty())? {
            self.sink.varint(bytes.len() as u64);
            self.sink.out.extend_from_slice(bytes);
        }
        Ok(true)
    }

    fn float(self, value: f32) -> Done {
        // -0.0 is another value than the default.
        self.fixed32(value.to_bits(), value.to_bits() == 0)
    }

    fn double(self, value: f64) -> Done {
        self.fixed64(value.to_bits(), value.to_bits() == 0)
    }

    pub(super) fn integer(self, value: i128) -> Done {
        fn fit<T: TryFrom<i128>>(value: i128) -> Result<T, ValueError> {
            T::try_from(value).map_err(|_| refused())
        }
        match self.ty {
            Ty::Int32 => self.varint(i64::from(fit::<i32>(value)?) as u64),
            Ty::Enum(id) => {
                let number: i32 = fit(value)?;
                let is_default = number == self.sink.shapes.names(id).default;
                self.varint_or_default(i64::from(number) as u64, is_default)
            }
            Ty::Int64 => self.varint(fit::<i64>(value)? as u64),
            Ty::Uint32 => self.varint(fit::<u32>(value)?.into()),
            Ty::Uint64 => self.varint(fit(value)?),
            Ty::Sint32 => {
                let value: i32 = fit(value)?;
                self.varint(((value << 1 ^ value >> 31) as u32).into())
            }
            Ty::Sint64 => {
                let value: i64 = fit(value)?;
                self.varint((value << 1 ^ value >> 63) as u64)
            }
            Ty::Fixed32 => self.fixed32(fit(value)?, value == 0),
            Ty::Sfixed32 => self.fixed32(fit::<i32>(value)? as u32, value == 0),
            Ty::Fixed64 => self.fixed64(fit(value)?, value == 0),
            Ty::Sfixed64 => self.fixed64(fit::<i64>(value)? as u64, value == 0),
            Ty::Double => self.double(value as f64),
            Ty::Float => self.float(value as f32),
            Ty::Bool | Ty::String | Ty::Bytes | Ty::Message(_) => Err(refused()),
        }
    }

    fn parsed<T: std::str::FromStr + Into<i128>>(self, text: &str) -> Done {
        match text.parse::<T>() {
            Ok(value) => self.integer(value.into()),
            Err(_) => Err(refused()),
        }
    }

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

    /// For JSON they are an array of numbers.
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
        // A text or a number that is JSON already.
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
