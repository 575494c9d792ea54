//! Apache Thrift: interface, schema, the binary and compact protocols, and JSON on the other side.

mod binary;
mod build;
mod compact;
mod defaults;
mod from_json;
mod idl;
mod names;
mod read;
mod record;
mod schema;
mod to_json;
mod wire;
mod write;
mod write_parts;

use crate::error::AccelError;
use crate::limits::Limits;

pub use idl::{IdlError, InterfaceError};
pub use record::{FunctionSet, Record};
pub use schema::{Field, FieldDefault, Function, FunctionId, Schema, Struct, StructId, Ty};

pub(crate) use binary::{BinaryReader, BinaryWriter};
pub(crate) use compact::{CompactReader, CompactWriter, MAX_VARINT32, write_varint};
pub(crate) use to_json::{Decoded, ENVELOPE_CODEC, ENVELOPE_DATA, one_struct, write_base64};
pub(crate) use wire::{Cursor, Reader, WireType, Writer};

/// The two wire encodings of Thrift values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Fixed-size big-endian values; what the SocialNetwork services speak.
    #[default]
    Binary,
    /// Variable-length integers and delta-coded field numbers.
    Compact,
}

/// Turns one struct on the wire into JSON text.
///
/// Fields the schema does not know are skipped, and absent ones that have a default value are given
/// it, as in structs that Apache Thrift generates. `binary` becomes base64, maps with string keys
/// objects, other maps arrays of pairs, enums integers.
///
/// # Errors
/// Every way in which the bytes are not one whole struct of the schema within the limits.
pub fn struct_to_json(
    schema: &Schema,
    id: StructId,
    protocol: Protocol,
    bytes: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    decode_struct(schema, id, protocol, bytes, limits).map(|decoded| decoded.json)
}

/// Turns JSON text into one struct on the wire; the inverse of [`struct_to_json`].
///
/// A member that is not there is written with its default value, if the field has one; a member
/// that is `null` is left out.
///
/// # Errors
/// `bad_json`, and every way in which the JSON does not fit the schema.
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

/// Checks bytes as [`decode_struct`] does and says the same of them, but makes no JSON.
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

/// Writes the envelope of a compressed body: the two reserved fields and nothing else.
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
