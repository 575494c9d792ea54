//! The keys of maps in a protobuf message that is being written.

use serde::ser::{Impossible, Serialize, Serializer};

use super::value::refused;
use crate::error::ValueError;
use crate::protocols::protobuf::shape::Ty;

/// A key of a map; keys are ordered as in the wire form.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Number(i128),
    Text(String),
}

/// A key in its JSON form.
pub(super) enum KeyText {
    Text(String),
    Number(i128),
    Bool(bool),
}

impl KeyText {
    pub(super) fn into_key(self, ty: Ty) -> Result<Key, ValueError> {
        let parsed = |text: &str| match ty {
            Ty::Bool => text.parse().ok().map(|value: bool| value.into()),
            Ty::Int32 | Ty::Sint32 | Ty::Sfixed32 => {
                text.parse().ok().map(|value: i32| value.into())
            }
            Ty::Int64 | Ty::Sint64 | Ty::Sfixed64 => {
                text.parse().ok().map(|value: i64| value.into())
            }
            Ty::Uint32 | Ty::Fixed32 => text.parse().ok().map(|value: u32| value.into()),
            _ => text.parse().ok().map(|value: u64| value.into()),
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

/// A serializer that returns a key.
pub(super) struct KeyWriter;

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
