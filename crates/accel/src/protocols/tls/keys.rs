//! Derives traffic keys from traffic secrets (RFC 8446, sections 7.1 and 7.3).

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::aead::{self, AES_128_GCM, AES_256_GCM, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{self, HKDF_SHA256, HKDF_SHA384, KeyType};

use crate::error::AccelError;

const IV_BYTES: usize = 12;

/// A cipher suite of TLS 1.3 that this crate supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CipherSuite {
    /// The suite TLS_AES_128_GCM_SHA256.
    Aes128GcmSha256,
    /// The suite TLS_AES_256_GCM_SHA384.
    Aes256GcmSha384,
}

impl CipherSuite {
    /// Returns the size of a traffic secret, in bytes: 32 or 48, the output size of the suite's
    /// hash.
    pub const fn secret_bytes(self) -> usize {
        match self {
            CipherSuite::Aes128GcmSha256 => 32,
            CipherSuite::Aes256GcmSha384 => 48,
        }
    }

    fn aead(self) -> &'static aead::Algorithm {
        match self {
            CipherSuite::Aes128GcmSha256 => &AES_128_GCM,
            CipherSuite::Aes256GcmSha384 => &AES_256_GCM,
        }
    }

    fn hkdf(self) -> hkdf::Algorithm {
        match self {
            CipherSuite::Aes128GcmSha256 => HKDF_SHA256,
            CipherSuite::Aes256GcmSha384 => HKDF_SHA384,
        }
    }
}

/// The state of one end of a TLS connection: the record keys of both directions, and the part of
/// the next message that was decrypted together with the previous message.
#[derive(Debug)]
pub struct TlsSession {
    /// The keys of records that this end sends.
    pub write: RecordKeys,
    /// The keys of records that this end receives.
    pub read: RecordKeys,
    /// Plaintext of the next message that was decrypted together with the previous message, since a
    /// record may contain the end of one message and the beginning of the next. Decr outputs this
    /// plaintext first, then the plaintext of the records in the job. If `ahead` is not empty, a
    /// job without records is allowed.
    pub ahead: Vec<u8>,
}

impl TlsSession {
    /// Creates the session of one end of a connection from the application traffic secrets of both
    /// directions.
    ///
    /// # Errors
    /// `bad_key` if a secret is not [`CipherSuite::secret_bytes`] long.
    pub fn from_secrets(
        suite: CipherSuite,
        write_secret: &[u8],
        read_secret: &[u8],
    ) -> Result<TlsSession, AccelError> {
        Ok(TlsSession {
            write: RecordKeys::from_secret(suite, write_secret)?,
            read: RecordKeys::from_secret(suite, read_secret)?,
            ahead: Vec::new(),
        })
    }
}

/// The key, initialization vector and record sequence number of one direction of a TLS connection.
pub struct RecordKeys {
    key: Arc<LessSafeKey>,
    iv: [u8; IV_BYTES],
    sequence: u64,
}

impl RecordKeys {
    /// Derives the key and the initialization vector from a traffic secret with HKDF-Expand-Label.
    /// The record sequence number starts at 0.
    ///
    /// # Errors
    /// `bad_key` if the secret is not [`CipherSuite::secret_bytes`] long.
    pub fn from_secret(suite: CipherSuite, secret: &[u8]) -> Result<RecordKeys, AccelError> {
        if secret.len() != suite.secret_bytes() {
            let (found, allowed) = (secret.len(), suite.secret_bytes());
            return Err(AccelError::BadKey {
                what: "TLS traffic secret",
                found,
                allowed,
            });
        }
        let mut key = [0; 32];
        let key = &mut key[..suite.aead().key_len()];
        expand_label(suite, secret, b"key", key)?;
        let mut iv = [0; IV_BYTES];
        expand_label(suite, secret, b"iv", &mut iv)?;
        RecordKeys::from_key(suite, key, iv)
    }

    /// Creates record keys from a key and an initialization vector. The record sequence number
    /// starts at 0.
    ///
    /// # Errors
    /// `bad_key` if the size of `key` is not the key size of the suite's cipher.
    pub fn from_key(
        suite: CipherSuite,
        key: &[u8],
        iv: [u8; IV_BYTES],
    ) -> Result<RecordKeys, AccelError> {
        let (found, allowed) = (key.len(), suite.aead().key_len());
        let key = UnboundKey::new(suite.aead(), key).map_err(|_| AccelError::BadKey {
            what: "TLS record key",
            found,
            allowed,
        })?;
        Ok(RecordKeys {
            key: Arc::new(LessSafeKey::new(key)),
            iv,
            sequence: 0,
        })
    }

    /// Returns the sequence number of the next record.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Sets the sequence number of the next record to `sequence`: the number of records that these
    /// keys have already protected, for example before this program took over the connection.
    pub fn resume_at(&mut self, sequence: u64) {
        self.sequence = sequence;
    }

    pub(super) fn aead(&self) -> &LessSafeKey {
        &self.key
    }

    /// The nonce of record `sequence`: the initialization vector XOR the number (section 5.3).
    pub(super) fn nonce(&self, sequence: u64) -> Nonce {
        let mut nonce = self.iv;
        for (byte, number) in nonce[4..].iter_mut().zip(sequence.to_be_bytes()) {
            *byte ^= number;
        }
        Nonce::assume_unique_for_key(nonce)
    }
}

impl fmt::Debug for RecordKeys {
    /// Shows only the sequence number, since logs must not contain keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordKeys")
            .field("sequence", &self.sequence)
            .finish_non_exhaustive()
    }
}

struct OutputLength(usize);

impl KeyType for OutputLength {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF-Expand-Label with an empty context (RFC 8446, section 7.1).
fn expand_label(
    suite: CipherSuite,
    secret: &[u8],
    label: &[u8],
    out: &mut [u8],
) -> Result<(), AccelError> {
    let failed = AccelError::BadKey {
        what: "expanded traffic secret",
        found: out.len(),
        allowed: suite.secret_bytes(),
    };
    let length = (out.len() as u16).to_be_bytes();
    let label_length = [(b"tls13 ".len() + label.len()) as u8];
    let info: [&[u8]; 5] = [&length, &label_length, b"tls13 ", label, &[0]];
    hkdf::Prk::new_less_safe(suite.hkdf(), secret)
        .expand(&info, OutputLength(out.len()))
        .and_then(|okm| okm.fill(out))
        .map_err(|_| failed)
}
