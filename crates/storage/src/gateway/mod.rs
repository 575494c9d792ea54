//! The gateway: storage messages over TLS on one side, Redis and PostgreSQL on the other.

mod cache;
mod config;
mod database;
mod error;
mod server;
mod stores;

pub use config::{GatewayConfig, GatewayError};
pub use error::StoreError;
pub use server::Gateway;
pub use stores::Counts;
