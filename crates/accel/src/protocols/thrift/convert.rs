//! Converts Thrift structs in their wire form to JSON text and back, in either protocol.

use super::addresses::Addresses;
use super::from_json;
use super::protocol::Protocol;
use super::schema::{Schema, StructId};
use super::to_json::{self, Decoded, ENVELOPE_CODEC, ENVELOPE_DATA};
use super::wire::{BinaryReader, BinaryWriter, CompactReader, CompactWriter, WireType, Writer};
use crate::error::AccelError;
use crate::limits::Limits;

/// Converts `bytes`, one Thrift struct of type `id` in the encoding `protocol`, to JSON text.
///
/// Unknown fields are skipped. Absent fields with a default value appear with that value, as in
/// structs that Apache Thrift generates. `binary` becomes base64. Maps with string keys become
/// objects; other maps become arrays of pairs. Enums become integers. A `double` that is not finite
/// becomes the text `NaN`, `Infinity` or `-Infinity`.
///
/// # Errors
/// An [`AccelError`] if `bytes` are not exactly one struct of type `id` within the limits.
pub fn struct_to_json(
    schema: &Schema,
    id: StructId,
    protocol: Protocol,
    bytes: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    decode_struct(schema, id, protocol, bytes, limits).map(|decoded| decoded.json)
}

/// Converts JSON text to one Thrift struct of type `id` in the encoding `protocol`; the inverse of
/// [`struct_to_json`].
///
/// An absent member is written with its field's default value, if there is one. A member that is
/// `null` is not written.
///
/// # Errors
/// `bad_json` for text that is not JSON, or another [`AccelError`] for JSON that does not fit the
/// schema.
pub fn struct_from_json(
    schema: &Schema,
    id: StructId,
    protocol: Protocol,
    json: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    let mut out = Vec::with_capacity(json.len());
    encode_struct(schema, id, protocol, json, limits, &mut out)?;
    Ok(out)
}

/// Like [`struct_to_json`]; also returns the struct's numbers and its compression envelope, if it
/// has one.
pub(crate) fn decode_struct<'a>(
    schema: &Schema,
    id: StructId,
    protocol: Protocol,
    bytes: &'a [u8],
    limits: &Limits,
) -> Result<Decoded<'a>, AccelError> {
    match protocol {
        Protocol::Binary => {
            to_json::whole_struct(schema, id, BinaryReader::new(bytes, limits), limits)
        }
        Protocol::Compact => {
            to_json::whole_struct(schema, id, CompactReader::new(bytes, limits), limits)
        }
    }
}

/// Checks bytes and reports on them as [`decode_struct`] does, without writing JSON.
pub(crate) fn check_struct<'a>(
    schema: &Schema,
    id: StructId,
    protocol: Protocol,
    bytes: &'a [u8],
    limits: &Limits,
) -> Result<Decoded<'a>, AccelError> {
    match protocol {
        Protocol::Binary => to_json::check(schema, id, BinaryReader::new(bytes, limits), limits),
        Protocol::Compact => to_json::check(schema, id, CompactReader::new(bytes, limits), limits),
    }
}

/// Checks bytes as [`check_struct`] does, and records the addresses of containers and structs.
pub(crate) fn address_struct<'a>(
    schema: &Schema,
    id: StructId,
    protocol: Protocol,
    bytes: &'a [u8],
    limits: &Limits,
) -> Result<(Decoded<'a>, Addresses), AccelError> {
    match protocol {
        Protocol::Binary => to_json::address(schema, id, BinaryReader::new(bytes, limits), limits),
        Protocol::Compact => {
            to_json::address(schema, id, CompactReader::new(bytes, limits), limits)
        }
    }
}

/// Like [`struct_from_json`]; appends to `out`.
pub(crate) fn encode_struct(
    schema: &Schema,
    id: StructId,
    protocol: Protocol,
    json: &[u8],
    limits: &Limits,
    out: &mut Vec<u8>,
) -> Result<(), AccelError> {
    match protocol {
        Protocol::Binary => from_json::write(schema, id, &mut BinaryWriter::new(out), json, limits),
        Protocol::Compact => {
            from_json::write(schema, id, &mut CompactWriter::new(out), json, limits)
        }
    }
}

/// Writes the envelope of a compressed body: a struct of the two reserved fields.
pub(crate) fn write_envelope(protocol: Protocol, codec: i8, data: &[u8], out: &mut Vec<u8>) {
    fn write<W: Writer>(mut writer: W, codec: i8, data: &[u8]) {
        let outer = writer.struct_begin();
        writer.field(WireType::I8, ENVELOPE_CODEC);
        writer.i8(codec);
        writer.field(WireType::Bytes, ENVELOPE_DATA);
        writer.bytes(data);
        writer.struct_end(outer);
    }
    match protocol {
        Protocol::Binary => write(BinaryWriter::new(out), codec, data),
        Protocol::Compact => write(CompactWriter::new(out), codec, data),
    }
}
