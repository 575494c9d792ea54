//! The control path of a TLS connection after its handshake: alerts and key updates.

use std::time::Instant;

use accelflow_accel::Limits;
use accelflow_accel::tls::{ContentType, TlsSession, seal_as};
use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;

use super::alerts;
use super::key_updates::KeyUpdates;
use super::keys::keys;
use crate::transport::close::Close;

/// The control path of a connection, which derives the keys of key updates.
pub(crate) struct Control<D = ServerConnectionData> {
    pub(crate) kernel: KernelConnection<D>,
    updates: KeyUpdates,
}

/// The number of records written with one key: half of the number that AES-GCM allows (RFC 8446,
/// section 5.5: 2^24.5 records of full size).
const RECORDS_PER_KEY: u64 = 1 << 23;

const KEY_UPDATE: u8 = 24;

impl<D> Control<D> {
    pub(crate) fn new(kernel: KernelConnection<D>) -> Control<D> {
        Control {
            kernel,
            updates: KeyUpdates::new(Instant::now()),
        }
    }

    /// Handles a TLS control record. Returns the bytes to send.
    pub(crate) fn handle_control(
        &mut self,
        session: &mut TlsSession,
        content: ContentType,
        message: &[u8],
        limits: &Limits,
    ) -> Result<Vec<u8>, Close> {
        match (content, message) {
            (ContentType::Alert, [_, description]) => Err(alerts::received(*description)),
            (ContentType::Handshake, [KEY_UPDATE, 0, 0, 1, request @ (0 | 1)]) => {
                if !self.updates.take(Instant::now()) {
                    return Err(Close::KeyUpdates);
                }
                session.read = keys(self.kernel.update_rx_secret().map_err(Close::Handshake)?)?;
                match request {
                    1 => self.renew(session, limits),
                    _ => Ok(Vec::new()),
                }
            }
            _ => Err(Close::Malformed(alerts::out_of_place(content, message))),
        }
    }

    /// Renews the write keys if they have protected enough records. Returns the bytes to send.
    pub(crate) fn refresh(
        &mut self,
        session: &mut TlsSession,
        limits: &Limits,
    ) -> Result<Vec<u8>, Close> {
        match session.write.sequence() >= RECORDS_PER_KEY {
            true => self.renew(session, limits),
            false => Ok(Vec::new()),
        }
    }

    fn renew(&mut self, session: &mut TlsSession, limits: &Limits) -> Result<Vec<u8>, Close> {
        let update = [KEY_UPDATE, 0, 0, 1, 0];
        let sealed = seal_as(&mut session.write, ContentType::Handshake, &update, limits)?;
        session.write = keys(self.kernel.update_tx_secret().map_err(Close::Handshake)?)?;
        Ok(sealed)
    }
}
