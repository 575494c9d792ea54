//! Writes storage messages.

use accelflow_trace::Format;

use super::call::{Operation, StorageCall};
use super::message::StorageResponse;
use crate::codec::Codec;
use crate::error::AccelError;
use crate::limits::Limits;
use crate::protocols::thrift::{CompactWriter, WireType, Writer};

impl StorageResponse {
    /// Encodes the response as a frame: a 4-byte big-endian length and the Thrift message.
    ///
    /// # Errors
    /// `too_large` for a response beyond the limits.
    pub fn encode(&self, limits: &Limits) -> Result<Vec<u8>, AccelError> {
        frame(limits, |writer| {
            writer.field(WireType::Struct, 2);
            let outer = writer.struct_begin();
            write_i32(writer, 1, self.operation as i32);
            if self.operation == Operation::CacheGet {
                write_i32(writer, 2, self.hit.into());
            }
            if self.operation == Operation::DbFind {
                write_i32(writer, 3, self.found.into());
            }
            if let Some(data) = &self.data {
                write_i32(writer, 4, data.codec.is_some().into());
            }
            if self.operation == Operation::DbFind {
                write_i32(writer, 5, self.cache_compressed.into());
            }
            write_i32(writer, 6, self.exception.is_some().into());
            if let Some(data) = &self.data {
                write_data(writer, 7, data.codec, data.format, &data.bytes);
            }
            if let Some(message) = &self.exception {
                writer.field(WireType::Bytes, 10);
                writer.bytes(message.as_bytes());
            }
            writer.struct_end(outer);
        })
    }
}

/// Writes the frame of a request. A write also has `data`, compressed with `codec`, and with the
/// format `format` after decompression.
///
/// # Errors
/// `too_large`.
pub(crate) fn write_request(
    call: &StorageCall,
    data: &[u8],
    codec: Option<Codec>,
    format: Format,
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    frame(limits, |writer| {
        writer.field(WireType::Struct, 1);
        let outer = writer.struct_begin();
        write_i32(writer, 1, call.operation as i32);
        for (id, text) in [(2, &call.collection), (3, &call.key)] {
            writer.field(WireType::Bytes, id);
            writer.bytes(text.as_bytes());
        }
        if call.operation.writes() {
            write_i32(writer, 4, codec.is_some().into());
            write_data(writer, 5, codec, format, data);
        }
        writer.struct_end(outer);
    })
}

/// Writes one struct with the length before it.
fn frame(
    limits: &Limits,
    write: impl FnOnce(&mut CompactWriter<'_>),
) -> Result<Vec<u8>, AccelError> {
    let mut out = vec![0; 4];
    let mut writer = CompactWriter::new(&mut out);
    let outer = writer.struct_begin();
    write(&mut writer);
    writer.struct_end(outer);
    let length = out.len() - 4;
    limits.check_size("bytes of the storage message", length)?;
    out[..4].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(out)
}

fn write_i32(writer: &mut CompactWriter<'_>, id: i16, value: i32) {
    writer.field(WireType::I32, id);
    writer.i32(value);
}

/// Writes codec, format and data as three consecutive fields from number `id`.
fn write_data(
    writer: &mut CompactWriter<'_>,
    id: i16,
    codec: Option<Codec>,
    format: Format,
    data: &[u8],
) {
    if let Some(codec) = codec {
        write_i32(writer, id, codec.number().into());
    }
    write_i32(writer, id + 1, format as i32);
    writer.field(WireType::Bytes, id + 2);
    writer.bytes(data);
}
