//! Storage messages in the form in which a cache or a database reads and writes them.

use accelflow_trace::Format;

use super::call::Operation;
use crate::codec::Codec;

/// Data in the form in which a cache or a database keeps them: bytes that may be compressed, with
/// their codec and format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The bytes of the data, perhaps compressed.
    pub bytes: Vec<u8>,
    /// The compression of the data; `None` if they are not compressed.
    pub codec: Option<Codec>,
    /// The format of the data after decompression: JSON, BSON, or `Str` for any other bytes.
    pub format: Format,
}

/// A request to the database cache or the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageRequest {
    /// The storage operation of the message.
    pub operation: Operation,
    /// The collection of the database, or the key space of the cache.
    pub collection: String,
    /// The key that the operation reads or writes.
    pub key: String,
    /// The data to write; `None` for a read.
    pub data: Option<Stored>,
}

/// A response of the database cache or the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageResponse {
    /// The operation of the request that this response answers.
    pub operation: Operation,
    /// Whether the cache has the key; false unless the operation reads the cache.
    pub hit: bool,
    /// Whether the database has the document; false unless the operation reads the database.
    pub found: bool,
    /// Whether the cache stores the collection compressed; false unless the operation reads the
    /// database.
    pub cache_compressed: bool,
    /// The reason for a failure; `None` if the operation succeeded.
    pub exception: Option<String>,
    /// The data that a read has found; `None` otherwise.
    pub data: Option<Stored>,
}

impl StorageResponse {
    /// Creates the response to `operation`, a write that succeeded.
    pub fn done(operation: Operation) -> StorageResponse {
        StorageResponse {
            operation,
            hit: false,
            found: false,
            cache_compressed: false,
            exception: None,
            data: None,
        }
    }
}
