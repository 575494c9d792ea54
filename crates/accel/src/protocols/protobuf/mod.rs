//! Protocol Buffers: reads interface files, and converts messages to JSON and back.
//!
//! The JSON is in the ProtoJSON format of the proto3 language guide: names in lowerCamelCase,
//! 64-bit integers as strings, bytes as base64, enums by name. Fields without presence (proto3
//! scalars that are not `optional`, lists and maps) are always written, so that handlers find them.
//! Maps are ordered by key.

mod any;
mod fields;
mod floats;
mod json;
mod keys;
mod read;
mod record;
mod reflect;
mod scan;
mod schema;
mod shape;
mod sorted;
mod status;
mod write;

pub use json::{message_from_json, message_to_json};
pub use record::Record;
pub use schema::{Method, MethodId, ProtoError, Schema};

pub(crate) use json::{check, from_json, message_with_facts};
