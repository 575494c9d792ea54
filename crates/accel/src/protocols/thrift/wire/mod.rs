//! Thrift's binary and compact protocols.

mod access;
mod binary;
mod compact;
mod cursor;
mod varint;
mod wire_type;

pub(crate) use access::{Reader, Writer, skip};
pub(crate) use binary::{BinaryReader, BinaryWriter};
pub(crate) use compact::{CompactReader, CompactWriter};
pub(crate) use cursor::Cursor;
pub(crate) use varint::{MAX_VARINT32, write_varint};
pub(crate) use wire_type::WireType;
