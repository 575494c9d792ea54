//! Thrift's compact protocol: variable-length integers, delta-coded field numbers, bools in
//! headers.

use super::access::{Reader, Writer};
use super::cursor::Cursor;
use super::varint::{MAX_VARINT32, MAX_VARINT64, write_varint};
use super::wire_type::WireType;
use crate::budget::Budget;
use crate::error::AccelError;
use crate::limits::Limits;

const STOP: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 2;
/// Lists shorter than this have their size in the header byte.
const LONG_LIST: usize = 15;

fn decode_type(nibble: u8, at: usize) -> Result<WireType, AccelError> {
    Ok(match nibble {
        TRUE | FALSE => WireType::Bool,
        3 => WireType::I8,
        4 => WireType::I16,
        5 => WireType::I32,
        6 => WireType::I64,
        7 => WireType::Double,
        8 => WireType::Bytes,
        9 => WireType::List,
        10 => WireType::Set,
        11 => WireType::Map,
        12 => WireType::Struct,
        13 => WireType::Uuid,
        found => return Err(AccelError::BadWireType { at, found }),
    })
}

fn encode_type(ty: WireType) -> u8 {
    match ty {
        WireType::Bool => TRUE,
        WireType::I8 => 3,
        WireType::I16 => 4,
        WireType::I32 => 5,
        WireType::I64 => 6,
        WireType::Double => 7,
        WireType::Bytes => 8,
        WireType::List => 9,
        WireType::Set => 10,
        WireType::Map => 11,
        WireType::Struct => 12,
        WireType::Uuid => 13,
    }
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Reads the compact protocol.
pub(crate) struct CompactReader<'a> {
    cursor: Cursor<'a>,
    last_field: i16,
    /// The value of a bool field whose header has been read.
    pending_bool: Option<bool>,
}

impl<'a> CompactReader<'a> {
    pub(crate) fn new(bytes: &'a [u8], limits: &Limits) -> CompactReader<'a> {
        let cursor = Cursor::new(bytes, limits);
        CompactReader {
            cursor,
            last_field: 0,
            pending_bool: None,
        }
    }

    fn signed(&mut self, bytes: usize, ty: &'static str) -> Result<i64, AccelError> {
        let at = self.cursor.at();
        let value = unzigzag(self.cursor.varint(bytes)?);
        let bits = if ty == "i16" { 16 } else { 32 };
        if bytes == MAX_VARINT32 && value >> (bits - 1) != 0 && value >> (bits - 1) != -1 {
            let (field, found) = (format!("integer at byte {at}"), value.to_string());
            let allowed = if bits == 16 {
                "-32768 to 32767"
            } else {
                "-2147483648 to 2147483647"
            };
            return Err(AccelError::OutOfRange {
                field,
                found,
                allowed,
            });
        }
        Ok(value)
    }
}

impl<'a> Reader<'a> for CompactReader<'a> {
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
        std::mem::take(&mut self.last_field)
    }

    fn struct_end(&mut self, outer: i16) {
        self.last_field = outer;
    }

    fn field(&mut self) -> Result<Option<(WireType, i16)>, AccelError> {
        let at = self.cursor.at();
        let header = self.cursor.byte("field header")?;
        if header == STOP {
            return Ok(None);
        }
        self.cursor.budget().elements(1)?;
        let ty = decode_type(header & 0x0f, at)?;
        let id = match header >> 4 {
            0 => self.i16()?,
            delta => self
                .last_field
                .checked_add(i16::from(delta))
                .ok_or_else(|| {
                    let found = (i32::from(self.last_field) + i32::from(delta)).to_string();
                    let field = format!("field number at byte {at}");
                    AccelError::OutOfRange {
                        field,
                        found,
                        allowed: "-32768 to 32767",
                    }
                })?,
        };
        self.last_field = id;
        self.pending_bool = (ty == WireType::Bool).then_some(header & 0x0f == TRUE);
        Ok(Some((ty, id)))
    }

    fn bool(&mut self) -> Result<bool, AccelError> {
        match self.pending_bool.take() {
            Some(value) => Ok(value),
            None => Ok(self.cursor.byte("bool")? == TRUE),
        }
    }

    fn i8(&mut self) -> Result<i8, AccelError> {
        Ok(i8::from_be_bytes(self.cursor.array("i8")?))
    }

    fn i16(&mut self) -> Result<i16, AccelError> {
        self.signed(MAX_VARINT32, "i16").map(|value| value as i16)
    }

    fn i32(&mut self) -> Result<i32, AccelError> {
        self.signed(MAX_VARINT32, "i32").map(|value| value as i32)
    }

    fn i64(&mut self) -> Result<i64, AccelError> {
        self.signed(MAX_VARINT64, "i64")
    }

    fn double(&mut self) -> Result<f64, AccelError> {
        Ok(f64::from_le_bytes(self.cursor.array("double")?))
    }

    fn bytes(&mut self) -> Result<&'a [u8], AccelError> {
        let length = self.cursor.length("string length")?;
        self.cursor.string(length as usize)
    }

    fn list(&mut self) -> Result<(WireType, usize), AccelError> {
        let at = self.cursor.at();
        let header = self.cursor.byte("list header")?;
        let element = decode_type(header & 0x0f, at)?;
        let count = match usize::from(header >> 4) {
            LONG_LIST => self.cursor.length("list size")?,
            short => short as i64,
        };
        Ok((element, self.cursor.check_count(at, count, 1, 1)?))
    }

    fn map(&mut self) -> Result<(Option<(WireType, WireType)>, usize), AccelError> {
        let at = self.cursor.at();
        let count = self.cursor.length("map size")?;
        if count == 0 {
            return Ok((None, 0));
        }
        let types_at = self.cursor.at();
        let types = self.cursor.byte("map types")?;
        let types = (
            decode_type(types >> 4, types_at)?,
            decode_type(types & 0x0f, types_at)?,
        );
        Ok((Some(types), self.cursor.check_count(at, count, 2, 2)?))
    }

    fn uuid(&mut self) -> Result<(), AccelError> {
        self.cursor.take("uuid", 16).map(drop)
    }
}

/// Writes the compact protocol.
pub(crate) struct CompactWriter<'a> {
    out: &'a mut Vec<u8>,
    last_field: i16,
}

impl<'a> CompactWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> CompactWriter<'a> {
        CompactWriter { out, last_field: 0 }
    }

    fn header(&mut self, ty: u8, id: i16) {
        let delta = i32::from(id) - i32::from(self.last_field);
        if (1..=15).contains(&delta) {
            self.out.push((delta as u8) << 4 | ty);
        } else {
            self.out.push(ty);
            self.i16(id);
        }
        self.last_field = id;
    }

    /// Inserts the header of a container before its elements, once its size is known.
    fn insert(&mut self, mark: usize, bytes: Vec<u8>) {
        self.out.splice(mark..mark, bytes);
    }
}

impl Writer for CompactWriter<'_> {
    fn len(&self) -> usize {
        self.out.len()
    }

    fn struct_begin(&mut self) -> i16 {
        std::mem::take(&mut self.last_field)
    }

    fn struct_end(&mut self, outer: i16) {
        self.out.push(STOP);
        self.last_field = outer;
    }

    fn field(&mut self, ty: WireType, id: i16) {
        self.header(encode_type(ty), id);
    }

    fn bool_field(&mut self, id: i16, value: bool) {
        self.header(if value { TRUE } else { FALSE }, id);
    }

    fn bool(&mut self, value: bool) {
        self.out.push(if value { TRUE } else { FALSE });
    }

    fn i8(&mut self, value: i8) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    fn i16(&mut self, value: i16) {
        self.i64(value.into());
    }

    fn i32(&mut self, value: i32) {
        self.i64(value.into());
    }

    fn i64(&mut self, value: i64) {
        write_varint(self.out, zigzag(value));
    }

    fn double(&mut self, value: f64) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, value: &[u8]) {
        write_varint(self.out, value.len() as u64);
        self.out.extend_from_slice(value);
    }

    fn list_begin(&mut self, _element: WireType) -> usize {
        self.out.push(0);
        self.out.len() - 1
    }

    fn list_end(&mut self, mark: usize, element: WireType, count: usize) {
        let short = count.min(LONG_LIST);
        self.out[mark] = (short as u8) << 4 | encode_type(element);
        if count >= LONG_LIST {
            let mut size = Vec::with_capacity(MAX_VARINT32);
            write_varint(&mut size, count as u64);
            self.insert(mark + 1, size);
        }
    }

    fn map_begin(&mut self, _key: WireType, _value: WireType) -> usize {
        self.out.len()
    }

    fn map_end(&mut self, mark: usize, key: WireType, value: WireType, count: usize) {
        let mut header = Vec::with_capacity(MAX_VARINT32 + 1);
        write_varint(&mut header, count as u64);
        if count > 0 {
            header.push(encode_type(key) << 4 | encode_type(value));
        }
        self.insert(mark, header);
    }
}
