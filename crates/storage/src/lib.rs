//! Storage over traces T4 to T8.
//!
//! Handlers use [`Storage`]: a read is T4, T5 and, after a miss in the cache, T6 and T7; a write is
//! T8 and T7. It connects to a [`Gateway`], which has Redis as the database cache and PostgreSQL as
//! the database, and speaks the storage messages of `docs/message-conventions.md` over TLS 1.3.
//!
//! The two share only the code of the messages: the gateway's TLS is rustls throughout, while Encr
//! and Decr protect the client's records.

mod client;
mod collections;
mod connection;
mod gateway;
pub mod local;
mod payload;
mod traces;

pub use client::{SetupError, Storage, StorageConfig, StorageError};
pub use collections::{
    Collection, CollectionError, Collections, Kind, MAX_ITEM_BYTES, MAX_KEYS, MOST_ITEMS,
};
pub use connection::ConnectError;
pub use gateway::{Counts, Gateway, GatewayConfig, GatewayError, StoreError};
pub use traces::{StorageTraces, TracesError};
