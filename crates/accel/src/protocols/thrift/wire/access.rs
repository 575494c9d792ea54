//! The interfaces of the readers and writers of Thrift's two protocols.

use super::wire_type::WireType;
use crate::budget::Budget;
use crate::error::AccelError;
use crate::limits::Limits;

/// Reads values of one protocol. Containers are read part by part, in wire order. Fields, elements
/// and the bytes of strings, including skipped ones, are charged to the message's budget.
pub(crate) trait Reader<'a> {
    /// The budget left, to charge values that are not on the wire.
    fn budget(&mut self) -> &mut Budget;
    fn at(&self) -> usize;
    fn remaining(&self) -> usize;
    /// Jumps ahead to `to`, over values that are not read. If `to` is before the position or beyond
    /// the end, does nothing and returns false.
    fn jump(&mut self, to: usize) -> bool;
    fn finish(&self, what: &'static str) -> Result<(), AccelError>;
    /// Begins a struct. Pass the result to `struct_end`.
    fn struct_begin(&mut self) -> i16;
    fn struct_end(&mut self, outer: i16);
    /// The next field's type and number, or `None` at the end of the struct.
    fn field(&mut self) -> Result<Option<(WireType, i16)>, AccelError>;
    fn bool(&mut self) -> Result<bool, AccelError>;
    fn i8(&mut self) -> Result<i8, AccelError>;
    fn i16(&mut self) -> Result<i16, AccelError>;
    fn i32(&mut self) -> Result<i32, AccelError>;
    fn i64(&mut self) -> Result<i64, AccelError>;
    fn double(&mut self) -> Result<f64, AccelError>;
    fn bytes(&mut self) -> Result<&'a [u8], AccelError>;
    /// Element type and count of a list or set.
    fn list(&mut self) -> Result<(WireType, usize), AccelError>;
    /// Key type, value type and count of a map. No types for an empty map in the compact protocol.
    fn map(&mut self) -> Result<(Option<(WireType, WireType)>, usize), AccelError>;
    fn uuid(&mut self) -> Result<(), AccelError>;
}

/// Writes values of one protocol. The counts of containers are written after their elements.
pub(crate) trait Writer {
    fn len(&self) -> usize;
    fn struct_begin(&mut self) -> i16;
    /// Writes the stop byte.
    fn struct_end(&mut self, outer: i16);
    /// Writes the header of a field that is not a bool.
    fn field(&mut self, ty: WireType, id: i16);
    /// Writes a whole bool field.
    fn bool_field(&mut self, id: i16, value: bool);
    /// Writes a bool element.
    fn bool(&mut self, value: bool);
    fn i8(&mut self, value: i8);
    fn i16(&mut self, value: i16);
    fn i32(&mut self, value: i32);
    fn i64(&mut self, value: i64);
    fn double(&mut self, value: f64);
    fn bytes(&mut self, value: &[u8]);
    /// Begins a list or set. Pass the result to `list_end`.
    fn list_begin(&mut self, element: WireType) -> usize;
    fn list_end(&mut self, mark: usize, element: WireType, count: usize);
    /// Begins a map. Pass the result to `map_end`.
    fn map_begin(&mut self, key: WireType, value: WireType) -> usize;
    fn map_end(&mut self, mark: usize, key: WireType, value: WireType, count: usize);
}

/// Skips a value of any type, with at most `depth` further levels of nesting.
pub(crate) fn skip<'a, R: Reader<'a>>(
    reader: &mut R,
    ty: WireType,
    depth: usize,
    limits: &Limits,
) -> Result<(), AccelError> {
    let deeper = || {
        let (at, limit) = (reader.at(), limits.max_depth);
        depth
            .checked_sub(1)
            .ok_or(AccelError::TooDeep { at, limit })
    };
    match ty {
        WireType::Bool => reader.bool().map(drop),
        WireType::I8 => reader.i8().map(drop),
        WireType::I16 => reader.i16().map(drop),
        WireType::I32 => reader.i32().map(drop),
        WireType::I64 => reader.i64().map(drop),
        WireType::Double => reader.double().map(drop),
        WireType::Bytes => reader.bytes().map(drop),
        WireType::Uuid => reader.uuid(),
        WireType::List | WireType::Set => {
            let depth = deeper()?;
            let (element, count) = reader.list()?;
            (0..count).try_for_each(|_| skip(reader, element, depth, limits))
        }
        WireType::Map => {
            let depth = deeper()?;
            let (types, count) = reader.map()?;
            let Some((key, value)) = types else {
                return Ok(());
            };
            (0..count).try_for_each(|_| {
                skip(reader, key, depth, limits)?;
                skip(reader, value, depth, limits)
            })
        }
        WireType::Struct => {
            let depth = deeper()?;
            let outer = reader.struct_begin();
            while let Some((ty, _)) = reader.field()? {
                skip(reader, ty, depth, limits)?;
            }
            reader.struct_end(outer);
            Ok(())
        }
    }
}
