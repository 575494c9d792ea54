//! Converts the secrets of a TLS handshake to the record keys of Encr and Decr.

use accelflow_accel::tls::{CipherSuite, RecordKeys, TlsSession};
use rustls::{ConnectionTrafficSecrets, ExtractedSecrets};

use crate::transport::close::Close;

/// The record keys of a completed handshake.
pub(crate) fn session(secrets: ExtractedSecrets) -> Result<TlsSession, Close> {
    Ok(TlsSession {
        write: keys(secrets.tx)?,
        read: keys(secrets.rx)?,
        ahead: Vec::new(),
    })
}

/// Record keys from rustls' secrets, at the number of the next record.
pub(crate) fn keys(
    (sequence, secrets): (u64, ConnectionTrafficSecrets),
) -> Result<RecordKeys, Close> {
    let (suite, key, iv) = match &secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (CipherSuite::Aes128GcmSha256, key, iv),
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (CipherSuite::Aes256GcmSha384, key, iv),
        _ => {
            let why = "the handshake selected a cipher suite that was not offered";
            return Err(Close::Failed(why.to_owned()));
        }
    };
    let mut nonce = [0; 12];
    nonce.copy_from_slice(iv.as_ref());
    let mut keys = RecordKeys::from_key(suite, key.as_ref(), nonce)?;
    keys.resume_at(sequence);
    Ok(keys)
}
