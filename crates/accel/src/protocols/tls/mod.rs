//! TLS 1.3 record protection (RFC 8446, section 5). A [`TlsSession`] starts from two traffic
//! secrets. This module does not do the handshake.

mod keys;
mod record;

pub use keys::{CipherSuite, RecordKeys, TlsSession};
pub use record::{
    ContentType, MAX_PLAINTEXT, open, open_first, open_first_in_place, record_length, seal, seal_as,
};
