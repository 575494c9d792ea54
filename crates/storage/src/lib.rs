//! Access to storage for handlers, by the traces T4 to T8: a client, and a gateway to Redis and
//! PostgreSQL.
//!
//! Handlers use the client [`Storage`]. A read runs T4, T5 and, after a miss in the cache, T6 and
//! T7. A write runs T8 and T7. The client connects to a [`Gateway`], which has Redis as the
//! database cache and PostgreSQL as the database. Client and gateway exchange the storage messages
//! of `docs/message-conventions.md` over TLS 1.3.
//!
//! Client and gateway share only the code of the messages. The gateway's TLS is rustls throughout,
//! while Encr and Decr process the client's TLS records.

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
