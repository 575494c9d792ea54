//! HTTP/1.1 messages (traces T11 and T12): a head and a body.
//!
//! Bodies are JSON, or compressed JSON under `content-encoding` zstd or gzip (or `snappy`, which is
//! not a registered coding). Messages are written with a `content-length`. A message that is read
//! has a `content-length` or chunked transfer coding. A response may also end when its connection
//! ends (RFC 9112, section 6.3). A message is refused if its end is ambiguous.

mod call;
mod head;
mod read;
mod write;

pub use call::HttpCall;
pub use read::response_length;

pub(crate) use read::read;
pub(crate) use write::write;
