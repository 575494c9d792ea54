//! gRPC: length-prefixed messages, and the methods that the messages belong to.
//!
//! HTTP/2 carries a call as headers and data. The data of a unary call is one *length-prefixed
//! message*: a byte that says whether the message is compressed, four bytes of length (big-endian),
//! and the message (gRPC over HTTP/2, "Length-Prefixed-Message"). The path in a request's headers
//! names the method.

mod call;
mod prefix;

pub use call::GrpcCall;
pub use prefix::{PREFIX, message_length, write_message};

// A message's role, under the name of its protocol.
pub use crate::role::Role;

pub(crate) use prefix::{malformed, read_prefix, write_prefix};
