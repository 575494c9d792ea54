//! The types of values in Thrift's wire forms.

use crate::protocols::thrift::schema::Ty;

/// A type on the wire: enums are `I32`, text and binary are both `Bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    Double,
    Bytes,
    List,
    Set,
    Map,
    Struct,
    Uuid,
}

impl WireType {
    pub(crate) fn of(ty: &Ty) -> WireType {
        match ty {
            Ty::Bool => WireType::Bool,
            Ty::I8 => WireType::I8,
            Ty::I16 => WireType::I16,
            Ty::I32 => WireType::I32,
            Ty::I64 => WireType::I64,
            Ty::Double => WireType::Double,
            Ty::String | Ty::Binary => WireType::Bytes,
            Ty::List(_) => WireType::List,
            Ty::Set(_) => WireType::Set,
            Ty::Map(_) => WireType::Map,
            Ty::Struct(_) => WireType::Struct,
        }
    }

    /// Whether values of the type have values within them.
    pub(crate) fn nests(self) -> bool {
        matches!(
            self,
            WireType::List | WireType::Set | WireType::Map | WireType::Struct
        )
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            WireType::Bool => "bool",
            WireType::I8 => "i8",
            WireType::I16 => "i16",
            WireType::I32 => "i32",
            WireType::I64 => "i64",
            WireType::Double => "double",
            WireType::Bytes => "string",
            WireType::List => "list",
            WireType::Set => "set",
            WireType::Map => "map",
            WireType::Struct => "struct",
            WireType::Uuid => "uuid",
        }
    }
}
