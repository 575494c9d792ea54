//! TLS 1.3: rustls performs the handshake, and then Decr and Encr process the records.
//!
//! After the handshake, rustls exports the traffic keys, as it does for TLS in the operating
//! system's kernel. rustls keeps the secrets from which a key update derives new keys.

pub(crate) mod accept;
pub(crate) mod alerts;
pub(crate) mod control;
pub(crate) mod files;
pub(crate) mod handshake;
pub(crate) mod identity;
pub(crate) mod key_updates;
pub(crate) mod keys;
