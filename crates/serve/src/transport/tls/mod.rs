//! TLS 1.3. rustls performs the handshake, then Decr and Encr process the records.
//!
//! After the handshake rustls exports the traffic keys, as for a kernel or a device that protects
//! records. It keeps the secrets from which the keys of a key update are derived.

pub(crate) mod accept;
pub(crate) mod alerts;
pub(crate) mod control;
pub(crate) mod files;
pub(crate) mod handshake;
pub(crate) mod identity;
pub(crate) mod key_updates;
pub(crate) mod keys;
