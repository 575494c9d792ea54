//! CRC-32C by the processor's instruction and without it, for `accelflow accelerometer --measure`.

use crc::{CRC_32_ISCSI, Crc, Table};
use pyo3::prelude::*;

/// CRC-32C by lookup tables, sixteen bytes at a time: the fastest without the instruction.
static TABLES: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// Returns the CRC-32C checksum (Castagnoli) of `data`.
///
/// With `tables`, software with lookup tables computes it, otherwise the processor's instruction if
/// there is one.
#[pyfunction]
pub(crate) fn crc32c(data: &[u8], tables: bool) -> u32 {
    match tables {
        true => TABLES.checksum(data),
        false => ::crc32c::crc32c(data),
    }
}
