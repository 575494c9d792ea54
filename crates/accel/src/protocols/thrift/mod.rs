//! Apache Thrift: interface files, schemas, the binary and compact protocols, and JSON.

mod addresses;
mod call;
mod convert;
mod from_json;
mod header;
mod idl;
mod protocol;
mod read;
mod record;
mod schema;
mod to_json;
mod wire;
mod write;

pub use call::{LOADSHEDDING, ThriftCall, read_message, write_message};
pub use convert::{struct_from_json, struct_to_json};
pub use header::{MessageHeader, MessageType, read_header};
pub use idl::{IdlError, InterfaceError};
pub use protocol::Protocol;
pub use record::Record;
pub use schema::{
    Field, FieldDefault, Function, FunctionId, FunctionSet, Schema, Struct, StructId, Ty,
};

pub(crate) use call::read_answer;
pub(crate) use convert::{
    address_struct, check_struct, decode_struct, encode_struct, write_envelope,
};
pub(crate) use header::read_frame;
pub(crate) use to_json::{Decoded, one_struct};
pub(crate) use wire::{CompactReader, CompactWriter, Reader, WireType, Writer};
