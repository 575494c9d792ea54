//! Encr and Decr: TLS 1.3 record protection (RFC 8446, section 5).

use accelflow_trace::Accel;

use crate::accelerator::Accelerator;
use crate::error::AccelError;
use crate::job::Job;
use crate::limits::Limits;
use crate::protocols::tls::{open, seal};

/// The encryption accelerator: encrypts `job.bytes` into TLS 1.3 application-data records with the
/// keys `job.session.tls.write`.
#[derive(Debug, Default)]
pub struct Encr {
    limits: Limits,
}

impl Encr {
    /// Creates the encryption accelerator for messages within `limits`.
    pub fn new(limits: Limits) -> Encr {
        Encr { limits }
    }
}

impl Accelerator for Encr {
    fn kind(&self) -> Accel {
        Accel::Encr
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        let session = job
            .session
            .tls
            .as_mut()
            .ok_or(AccelError::NoSession { layer: "TLS" })?;
        job.bytes = seal(&mut session.write, &job.bytes, &self.limits)?;
        Ok(())
    }
}

/// The decryption accelerator: decrypts the records in `job.bytes` with the keys
/// `job.session.tls.read`. The output begins with any part of this message that was already
/// decrypted together with the previous message
/// ([`TlsSession::ahead`](crate::tls::TlsSession::ahead)).
#[derive(Debug, Default)]
pub struct Decr {
    limits: Limits,
}

impl Decr {
    /// Creates the decryption accelerator for messages within `limits`.
    pub fn new(limits: Limits) -> Decr {
        Decr { limits }
    }
}

impl Accelerator for Decr {
    fn kind(&self) -> Accel {
        Accel::Decr
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        let session = job
            .session
            .tls
            .as_mut()
            .ok_or(AccelError::NoSession { layer: "TLS" })?;
        if session.ahead.is_empty() {
            job.bytes = open(&mut session.read, &job.bytes, &self.limits)?;
            return Ok(());
        }
        let mut plaintext = std::mem::take(&mut session.ahead);
        if !job.bytes.is_empty() {
            match open(&mut session.read, &job.bytes, &self.limits) {
                Ok(rest) => plaintext.extend_from_slice(&rest),
                Err(error) => {
                    session.ahead = plaintext;
                    return Err(error);
                }
            }
        }
        job.bytes = plaintext;
        Ok(())
    }
}
