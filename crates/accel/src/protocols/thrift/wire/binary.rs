//! Thrift's binary protocol: one type byte, big-endian numbers, 32-bit lengths.

use super::access::{Reader, Writer};
use super::cursor::Cursor;
use super::wire_type::WireType;
use crate::budget::Budget;
use crate::error::AccelError;
use crate::limits::Limits;

const STOP: u8 = 0;

fn decode_type(byte: u8, at: usize) -> Result<WireType, AccelError> {
    Ok(match byte {
        2 => WireType::Bool,
        3 => WireType::I8,
        4 => WireType::Double,
        6 => WireType::I16,
        8 => WireType::I32,
        10 => WireType::I64,
        11 => WireType::Bytes,
        12 => WireType::Struct,
        13 => WireType::Map,
        14 => WireType::Set,
        15 => WireType::List,
        16 => WireType::Uuid,
        found => return Err(AccelError::BadWireType { at, found }),
    })
}

fn encode_type(ty: WireType) -> u8 {
    match ty {
        WireType::Bool => 2,
        WireType::I8 => 3,
        WireType::Double => 4,
        WireType::I16 => 6,
        WireType::I32 => 8,
        WireType::I64 => 10,
        WireType::Bytes => 11,
        WireType::Struct => 12,
        WireType::Map => 13,
        WireType::Set => 14,
        WireType::List => 15,
        WireType::Uuid => 16,
    }
}

/// The smallest size of a value of a type, in bytes.
fn least_bytes(ty: WireType) -> usize {
    match ty {
        WireType::Bool | WireType::I8 | WireType::Struct => 1,
        WireType::I16 => 2,
        WireType::I32 | WireType::Bytes => 4,
        WireType::I64 | WireType::Double => 8,
        WireType::List | WireType::Set => 5,
        WireType::Map => 6,
        WireType::Uuid => 16,
    }
}

/// Reads the binary protocol.
pub(crate) struct BinaryReader<'a> {
    cursor: Cursor<'a>,
}

impl<'a> BinaryReader<'a> {
    pub(crate) fn new(bytes: &'a [u8], limits: &Limits) -> BinaryReader<'a> {
        BinaryReader {
            cursor: Cursor::new(bytes, limits),
        }
    }

    fn wire_type(&mut self, what: &'static str) -> Result<WireType, AccelError> {
        let at = self.cursor.at();
        decode_type(self.cursor.byte(what)?, at)
    }
}

impl<'a> Reader<'a> for BinaryReader<'a> {
    fn budget(&mut self) -> &mut Budget {
        self.cursor.budget()
    }

    fn at(&self) -> usize {
        self.cursor.at()
    }

    fn remaining(&self) -> usize {
        self.cursor.remaining()
    }

    fn jump(&mut self, to: usize) -> bool {
        self.cursor.jump(to)
    }

    fn finish(&self, what: &'static str) -> Result<(), AccelError> {
        self.cursor.finish(what)
    }

    fn struct_begin(&mut self) -> i16 {
        0
    }

    fn struct_end(&mut self, _outer: i16) {}

    fn field(&mut self) -> Result<Option<(WireType, i16)>, AccelError> {
        let at = self.cursor.at();
        let byte = self.cursor.byte("field type")?;
        if byte == STOP {
            return Ok(None);
        }
        self.cursor.budget().elements(1)?;
        let ty = decode_type(byte, at)?;
        let id = i16::from_be_bytes(self.cursor.array("field number")?);
        Ok(Some((ty, id)))
    }

    fn bool(&mut self) -> Result<bool, AccelError> {
        Ok(self.cursor.byte("bool")? != 0)
    }

    fn i8(&mut self) -> Result<i8, AccelError> {
        Ok(i8::from_be_bytes(self.cursor.array("i8")?))
    }

    fn i16(&mut self) -> Result<i16, AccelError> {
        Ok(i16::from_be_bytes(self.cursor.array("i16")?))
    }

    fn i32(&mut self) -> Result<i32, AccelError> {
        Ok(i32::from_be_bytes(self.cursor.array("i32")?))
    }

    fn i64(&mut self) -> Result<i64, AccelError> {
        Ok(i64::from_be_bytes(self.cursor.array("i64")?))
    }

    fn double(&mut self) -> Result<f64, AccelError> {
        Ok(f64::from_be_bytes(self.cursor.array("double")?))
    }

    fn bytes(&mut self) -> Result<&'a [u8], AccelError> {
        let at = self.cursor.at();
        let length = i32::from_be_bytes(self.cursor.array("string length")?);
        let (what, found) = ("string length", i64::from(length));
        let length =
            usize::try_from(length).map_err(|_| AccelError::NegativeLength { what, at, found })?;
        self.cursor.string(length)
    }

    fn list(&mut self) -> Result<(WireType, usize), AccelError> {
        let element = self.wire_type("element type")?;
        let at = self.cursor.at();
        let count = i32::from_be_bytes(self.cursor.array("list size")?);
        let least = least_bytes(element);
        Ok((
            element,
            self.cursor.check_count(at, count.into(), least, 1)?,
        ))
    }

    fn map(&mut self) -> Result<(Option<(WireType, WireType)>, usize), AccelError> {
        let types_at = self.cursor.at();
        let [key, value] = self.cursor.array("map types")?;
        let at = self.cursor.at();
        let count = i32::from_be_bytes(self.cursor.array("map size")?);
        if count == 0 {
            // Some writers leave the types of an empty map at zero.
            return Ok((None, 0));
        }
        let types = (
            decode_type(key, types_at)?,
            decode_type(value, types_at + 1)?,
        );
        let least = least_bytes(types.0) + least_bytes(types.1);
        Ok((
            Some(types),
            self.cursor.check_count(at, count.into(), least, 2)?,
        ))
    }

    fn uuid(&mut self) -> Result<(), AccelError> {
        self.cursor.take("uuid", 16).map(drop)
    }
}

/// Writes the binary protocol.
pub(crate) struct BinaryWriter<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> BinaryWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> BinaryWriter<'a> {
        BinaryWriter { out }
    }

    fn patch_count(&mut self, mark: usize, count: usize) {
        self.out[mark..mark + 4].copy_from_slice(&(count as u32).to_be_bytes());
    }
}

impl Writer for BinaryWriter<'_> {
    fn len(&self) -> usize {
        self.out.len()
    }

    fn struct_begin(&mut self) -> i16 {
        0
    }

    fn struct_end(&mut self, _outer: i16) {
        self.out.push(STOP);
    }

    fn field(&mut self, ty: WireType, id: i16) {
        let [high, low] = id.to_be_bytes();
        self.out.extend_from_slice(&[encode_type(ty), high, low]);
    }

    fn bool_field(&mut self, id: i16, value: bool) {
        self.field(WireType::Bool, id);
        self.bool(value);
    }

    fn bool(&mut self, value: bool) {
        self.out.push(u8::from(value));
    }

    fn i8(&mut self, value: i8) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    fn i16(&mut self, value: i16) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    fn i32(&mut self, value: i32) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    fn i64(&mut self, value: i64) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    fn double(&mut self, value: f64) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    fn bytes(&mut self, value: &[u8]) {
        self.i32(value.len() as i32);
        self.out.extend_from_slice(value);
    }

    fn list_begin(&mut self, element: WireType) -> usize {
        self.out
            .extend_from_slice(&[encode_type(element), 0, 0, 0, 0]);
        self.out.len() - 4
    }

    fn list_end(&mut self, mark: usize, _element: WireType, count: usize) {
        self.patch_count(mark, count);
    }

    fn map_begin(&mut self, key: WireType, value: WireType) -> usize {
        self.out
            .extend_from_slice(&[encode_type(key), encode_type(value), 0, 0, 0, 0]);
        self.out.len() - 4
    }

    fn map_end(&mut self, mark: usize, _key: WireType, _value: WireType, count: usize) {
        self.patch_count(mark, count);
    }
}
