//! Errors of the cache and the database behind a gateway.

use crate::collections::{CollectionError, MAX_ITEM_BYTES};
use crate::payload::PayloadError;

/// The error of a request that a storage gateway refuses, or that fails in the cache or the
/// database behind the gateway.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Redis has refused the request, or does not answer.
    #[error("the cache failed: {0}")]
    Cache(#[from] redis::RedisError),
    /// PostgreSQL has refused the request, or does not answer.
    #[error("the database failed: {}", describe(.0))]
    Database(#[from] tokio_postgres::Error),
    /// No connection to PostgreSQL is available.
    #[error("no connection to the database: {0}")]
    Pool(#[from] deadpool_postgres::PoolError),
    /// The pool of connections to PostgreSQL cannot be created.
    #[error("the pool of connections to the database cannot be created: {0}")]
    Build(#[from] deadpool_postgres::BuildError),
    /// The cache or the database has not answered in time; a write may be performed nevertheless.
    /// Holds `the cache` or `the database`.
    #[error("{0} did not answer in time")]
    Slow(&'static str),
    /// A write was refused because the key already has a document, in a collection of
    /// [`Kind::UniqueDocuments`](crate::Kind).
    #[error("{collection}/{key} already exists")]
    Exists {
        /// The collection of the document.
        collection: String,
        /// The key of the document.
        key: String,
    },
    /// A write to a list was refused because the item is too large. Holds the item's size in bytes.
    #[error("size of the list item = {0} bytes: must be at most {MAX_ITEM_BYTES} bytes")]
    Item(usize),
    /// A request was refused because it names an unknown collection, an empty key or too many keys.
    #[error(transparent)]
    Request(#[from] CollectionError),
    /// A write request was refused because it has no data.
    #[error("the write request has no data")]
    NoData,
    /// Data could not be compressed, decompressed or decoded. Holds the reason.
    #[error("{0}")]
    Payload(String),
}

impl From<PayloadError> for StoreError {
    fn from(error: PayloadError) -> StoreError {
        StoreError::Payload(error.to_string())
    }
}

/// The server's message, which the client library keeps behind a short text of its own.
fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(server) => server.message().to_owned(),
        None => error.to_string(),
    }
}
