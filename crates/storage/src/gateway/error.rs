//! Errors of the stores.

use crate::collections::{CollectionError, MAX_ITEM_BYTES};
use crate::payload::PayloadError;

/// An error of the cache or the database, or a request that they refuse.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Redis refuses, or does not answer.
    #[error("the cache failed: {0}")]
    Cache(#[from] redis::RedisError),
    /// PostgreSQL refuses, or does not answer.
    #[error("the database failed: {}", describe(.0))]
    Database(#[from] tokio_postgres::Error),
    /// There is no connection to the database.
    #[error("no connection to the database: {0}")]
    Pool(#[from] deadpool_postgres::PoolError),
    /// The pool cannot be set up.
    #[error("the connection pool cannot be set up: {0}")]
    Build(#[from] deadpool_postgres::BuildError),
    /// No answer in time. A write may still be performed.
    #[error("{0} did not answer in time")]
    Slow(&'static str),
    /// A unique document that already exists.
    #[error("{collection}/{key} already exists")]
    Exists {
        /// The collection.
        collection: String,
        /// The key.
        key: String,
    },
    /// A list item that is too large.
    #[error("an item of {0} bytes: must be at most {MAX_ITEM_BYTES}")]
    Item(usize),
    /// A request that its collection does not allow.
    #[error(transparent)]
    Request(#[from] CollectionError),
    /// A write without data.
    #[error("a write without data")]
    NoData,
    /// Data that cannot be decoded.
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
