//! TLS 1.3: rustls performs the handshake, then Decr and Encr process the records.
//!
//! After the handshake the traffic keys are handed over as they would be to a kernel or a device
//! that protects records. rustls keeps the secrets from which the keys of a key update are derived.

pub(crate) mod accept;
pub(crate) mod alerts;
pub(crate) mod control;
pub(crate) mod files;
pub(crate) mod handshake;
pub(crate) mod identity;
pub(crate) mod key_updates;
pub(crate) mod keys;
