//! The state of a connection before a run, restored when the run fails.

use accelflow_accel::Session;
use accelflow_accel::tcp::TcpSession;
use zeroize::Zeroize;

/// The state of a connection before a run.
pub(crate) struct Bookmark {
    tcp: Option<TcpSession>,
    /// The read and write record sequence numbers, and the message that was decrypted in advance.
    tls: Option<(u64, u64, Vec<u8>)>,
}

impl Bookmark {
    pub(crate) fn of(session: &Session) -> Bookmark {
        let tls = session.tls.as_ref();
        Bookmark {
            tcp: session.tcp.clone(),
            tls: tls.map(|tls| {
                let (read, write) = (tls.read.sequence(), tls.write.sequence());
                (read, write, tls.ahead.clone())
            }),
        }
    }

    /// Restores the connection. Reusing sequence numbers is safe for records that never left this
    /// process.
    pub(crate) fn restore(self, session: &mut Session) {
        session.tcp = self.tcp;
        if let (Some(tls), Some((read, write, ahead))) = (&mut session.tls, self.tls) {
            tls.read.resume_at(read);
            tls.write.resume_at(write);
            // This may be the only copy of a message that was decrypted before the run.
            tls.ahead.zeroize();
            tls.ahead = ahead;
        }
    }
}

/// Returns the payload of a run's first execution. A decrypted message moves to the session, where
/// Decr looks for it.
pub(crate) fn open_ahead(session: &mut Session, payload: Vec<u8>, opened: bool) -> Vec<u8> {
    match &mut session.tls {
        Some(tls) if opened => {
            tls.ahead = payload;
            Vec::new()
        }
        _ => payload,
    }
}
