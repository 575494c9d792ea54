//! Variable-length integers: groups of seven bits, least significant first.

use super::cursor::Cursor;
use crate::error::AccelError;

/// Most bytes of a 32-bit variable-length integer.
pub(crate) const MAX_VARINT32: usize = 5;
/// Most bytes of a 64-bit variable-length integer.
pub(super) const MAX_VARINT64: usize = 10;

/// Appends `value` as a variable-length integer.
pub(crate) fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

impl Cursor<'_> {
    /// Reads a variable-length integer of at most `limit` bytes.
    pub(crate) fn varint(&mut self, limit: usize) -> Result<u64, AccelError> {
        let at = self.at();
        let mut value = 0u64;
        for index in 0..limit {
            let byte = self.byte("variable-length integer")?;
            // The tenth byte of a 64-bit number has one significant bit.
            if index == MAX_VARINT64 - 1 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(AccelError::BadVarint { at, limit })
    }

    /// Reads a length or size: an unsigned 32-bit number. Numbers of 2^31 and more count as
    /// negative, as for readers of signed numbers.
    pub(crate) fn length(&mut self, what: &'static str) -> Result<i64, AccelError> {
        let at = self.at();
        let value = self.varint(MAX_VARINT32)?;
        match i32::try_from(value) {
            Ok(length) => Ok(length.into()),
            Err(_) => Err(AccelError::NegativeLength {
                what,
                at,
                found: i64::from(value as u32 as i32),
            }),
        }
    }
}
