//! gRPC: length-prefixed messages, and the methods that they belong to.
//!
//! HTTP/2 carries a call as headers and data. The data of a unary call is one *length-prefixed
//! message*: a byte that says whether it is compressed, four bytes of length (big-endian), and the
//! message (gRPC over HTTP/2, "Length-Prefixed-Message"). The method of a request follows from the
//! path in its headers.

mod call;
mod prefix;

pub use call::GrpcCall;
pub use prefix::{PREFIX, message_length, write_message};

// A message's role, under the name of its protocol.
pub use crate::role::Role;

pub(crate) use prefix::{malformed, read_prefix, write_prefix};
