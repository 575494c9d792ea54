//! One value of a protobuf message that is being written: its type, its role (such as a list's
//! element), and the encoding of scalars.

use super::sink::Sink;
use crate::error::{AccelError, ValueError};
use crate::protocols::protobuf::scan::{FIXED32, FIXED64, LENGTH, VARINT};
use crate::protocols::protobuf::shape::{Field, Holds, Ty};

/// Whether the value is present: a `None` field is absent.
pub(super) type Done = Result<bool, ValueError>;

/// The context of a value.
#[derive(Clone, Copy)]
pub(super) enum At<'c> {
    /// The whole message.
    Root,
    /// A member of a message.
    Member(&'c Field),
    /// The key or the value of a map's entry.
    Entry(&'c Field),
    /// An element of a list.
    Element(&'c Field),
}

/// A value of a known type, to be written at the end of the output.
pub(super) struct Value<'v, 'c> {
    pub(super) sink: &'v mut Sink<'c>,
    pub(super) ty: Ty,
    pub(super) at: At<'c>,
    pub(super) depth: usize,
}

/// The error for values without a direct encoding, which the caller then encodes through JSON.
pub(super) fn refused() -> ValueError {
    ValueError(AccelError::BadValue {
        why: "the value can only be encoded through JSON".to_owned(),
    })
}

impl<'v, 'c> Value<'v, 'c> {
    /// Writes the key before a number or text. Returns false if the value is not written because it
    /// is the default of a field without presence.
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

    pub(super) fn varint(self, value: u64) -> Done {
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

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Done {
        self.sink.check_room(bytes.len())?;
        if self.begin(LENGTH, bytes.is_empty())? {
            self.sink.varint(bytes.len() as u64);
            self.sink.out.extend_from_slice(bytes);
        }
        Ok(true)
    }

    pub(super) fn float(self, value: f32) -> Done {
        // -0.0 is not the default value.
        self.fixed32(value.to_bits(), value.to_bits() == 0)
    }

    pub(super) fn double(self, value: f64) -> Done {
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

    pub(super) fn parsed<T: std::str::FromStr + Into<i128>>(self, text: &str) -> Done {
        match text.parse::<T>() {
            Ok(value) => self.integer(value.into()),
            Err(_) => Err(refused()),
        }
    }
}
