//! Protocol Buffers: interface files, messages on the wire, and JSON on the other side.
//!
//! The JSON is that of the ProtoJSON format, as the proto3 language guide gives it: names in
//! lowerCamelCase, 64-bit integers as strings, bytes as base64, enums by name. Fields without
//! presence are always written, so that a handler finds them.

mod json;
mod scan;
mod schema;

pub use json::{message_from_json, message_to_json};
pub use schema::{Method, MethodId, ProtoError, Schema};

pub(crate) use json::message_with_facts;
