//! Messages to and from the database cache and the database (traces T4 to T8).
//!
//! These traces have no RPC accelerator, so Ser and Dser write and read whole messages: a 4-byte
//! big-endian length and one `Message` of `idl/storage.thrift` in Thrift's compact protocol.
//!
//! Dser turns a response into JSON. A Ser after this Dser writes the request that follows from the
//! response: the find after a cache miss (T5), the cache write after a find (T6). So neither trace
//! needs a core in between.

mod call;
mod message;
mod read;
mod write;

pub use call::{Operation, StorageCall};
pub use message::{StorageRequest, StorageResponse, Stored};
pub use read::read_request;

// A message's role, under the name of its protocol.
pub use crate::role::Role;

pub(crate) use read::read;
pub(crate) use write::write_request;
