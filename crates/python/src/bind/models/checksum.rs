//! CRC-32C by the processor's instruction and without it, for `accelflow accelerometer --measure`.

use crc::{CRC_32_ISCSI, Crc, Table};
use pyo3::prelude::*;

/// Sixteen bytes at a time, by tables: the quickest way without an instruction.
static TABLES: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// The CRC-32C (Castagnoli) of `data`: by the processor's instruction (SSE 4.2, or Arm's CRC32) where
/// it has one, or with `tables` by tables alone.
#[pyfunction]
pub(crate) fn crc32c(data: &[u8], tables: bool) -> u32 {
    match tables {
        true => TABLES.checksum(data),
        false => ::crc32c::crc32c(data),
    }
}
