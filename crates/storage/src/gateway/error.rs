//! Errors of the stores.

use crate::collections::{CollectionError, MAX_ITEM_BYTES};
use crate::payload::PayloadError;

/// The error of the gateway's cache or database, or of a request that they refuse.
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
    /// The cache or the database (its name) has not answered in time. A write may still be
    /// performed.
    #[error("{0} did not answer in time")]
    Slow(&'static str),
    /// A write to a key of [`Kind::UniqueDocuments`](crate::Kind) that already has a document.
    #[error("{collection}/{key} already exists")]
    Exists {
        /// The collection of the document.
        collection: String,
        /// The key of the document.
        key: String,
    },
    /// A write to a list with an item that is too large; its size in bytes.
    #[error("size of the list item = {0} bytes: must be at most {MAX_ITEM_BYTES} bytes")]
    Item(usize),
    /// A request that the settings of its collection do not allow.
    #[error(transparent)]
    Request(#[from] CollectionError),
    /// A write request without data.
    #[error("the write request has no data")]
    NoData,
    /// Data that cannot be compressed, decompressed or decoded; the reason.
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
