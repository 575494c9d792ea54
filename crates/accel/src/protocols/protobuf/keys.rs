//! The keys of protobuf maps, which are text in JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::value::{BorrowedStrDeserializer, StringDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::fields::{Malformed, Raw, Wire, integer};
use super::shape::{Field, Ty};
use crate::error::ValueError;
use crate::values::read_as_present;

/// A key of a map.
#[derive(Clone, Debug)]
pub(super) struct Key<'a> {
    text: Cow<'a, str>,
    /// The number in the text, if the key is a number.
    number: Option<i128>,
}

impl<'a> Key<'a> {
    fn new(ty: Ty, raw: Option<Raw<'a>>) -> Result<Key<'a>, Malformed> {
        let number = match (ty, raw) {
            (Ty::String, None) => return Ok(Key::of_text("")),
            (Ty::String, Some(Raw::Bytes(text))) => {
                let text = std::str::from_utf8(text).map_err(|_| Malformed)?;
                return Ok(Key::of_text(text));
            }
            (_, None) => 0,
            (ty, Some(raw)) => integer(ty, raw).ok_or(Malformed)?,
        };
        Ok(match ty {
            Ty::Bool => Key {
                text: if number != 0 { "true" } else { "false" }.into(),
                number: None,
            },
            _ => Key {
                text: number.to_string().into(),
                number: Some(number),
            },
        })
    }

    fn of_text(text: &'a str) -> Key<'a> {
        let number = None;
        Key {
            text: text.into(),
            number,
        }
    }
}

/// An entry of a map: its key, and the occurrences of its value.
pub(super) type Entry<'a> = (Key<'a>, Vec<(usize, Raw<'a>)>);

/// The entries in the occurrences `values` of a map, in the order of the text of their keys. Of
/// several entries with the same key the last one counts.
pub(super) fn entries<'a>(
    key: &Field,
    value: &Field,
    values: &[(usize, Raw<'a>)],
) -> Result<Vec<Entry<'a>>, Malformed> {
    let mut found = Vec::with_capacity(values.len());
    for (_, raw) in values {
        let Raw::Bytes(bytes) = raw else {
            return Err(Malformed);
        };
        let (mut last_key, mut of_value) = (None, Vec::new());
        let mut wire = Wire::new(bytes);
        while let Some((number, raw)) = wire.next()? {
            if number == key.number {
                last_key = Some(raw);
            } else if number == value.number {
                of_value.push((0, raw));
            }
        }
        found.push((Key::new(key.ty, last_key)?, of_value));
    }
    let in_order = |pair: &[Entry<'a>]| pair[0].0.text < pair[1].0.text;
    if found.windows(2).all(in_order) {
        return Ok(found);
    }
    let mut sorted = BTreeMap::new();
    for (key, value) in found {
        sorted.insert(key.text.clone(), (key, value));
    }
    Ok(sorted.into_values().collect())
}

/// A serde deserializer of a key, as of a key in JSON.
pub(super) struct KeyText<'a>(pub(super) Key<'a>);

/// Methods that request a number, which JSON has as the text of a key.
macro_rules! forward_to_number {
    ($($method:ident)+) => {$(
        fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ValueError> {
            let number = self.0.number;
            if let Some(number) = number.and_then(|number| u64::try_from(number).ok()) {
                return visitor.visit_u64(number);
            }
            match number.and_then(|number| i64::try_from(number).ok()) {
                Some(number) => visitor.visit_i64(number),
                None => Err(ValueError::custom("the map's key is not a number, unlike the application's type")),
            }
        }
    )+};
}

impl<'a> Deserializer<'a> for KeyText<'a> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0.text {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    read_as_present!();

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self.0.text {
            Cow::Borrowed(text) => {
                BorrowedStrDeserializer::new(text).deserialize_enum(name, variants, visitor)
            }
            Cow::Owned(text) => {
                let text: StringDeserializer<ValueError> = text.into_deserializer();
                text.deserialize_enum(name, variants, visitor)
            }
        }
    }

    fn deserialize_bool<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match &*self.0.text {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(ValueError::custom(
                "the map's key is not a bool, unlike the application's type",
            )),
        }
    }

    forward_to_number! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}
