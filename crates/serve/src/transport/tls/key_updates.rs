//! A limit on how often the peer of a TLS connection may renew its sending keys.
//!
//! A key update costs the sender one record. The receiver has to derive new keys, and to answer if
//! the sender asks for an answer. TLS requires a key update after 2^24.5 records (RFC 8446, section
//! 5.5), and some libraries send one every few minutes. The standard does not limit the number of
//! key updates.

use std::time::{Duration, Instant};

/// The number of key updates that a peer may send at once. BoringSSL's server accepts 32 without
/// data between them (`kMaxKeyUpdates`). Here data between them makes no difference, since a single
/// byte would suffice.
const AT_ONCE: u32 = 32;

/// The time after which one more key update is allowed. A key update costs some ten microseconds,
/// so a connection can use 0.001 % of a core.
const PAUSE: Duration = Duration::from_secs(1);

/// The text of the bound, for errors.
pub(crate) const ALLOWED: &str = "32 at once and one a second";

/// The key updates that the peer of a connection may still send.
pub(crate) struct KeyUpdates {
    left: u32,
    /// The time up to which pauses have been counted.
    counted: Instant,
}

impl KeyUpdates {
    pub(crate) fn new(now: Instant) -> KeyUpdates {
        KeyUpdates {
            left: AT_ONCE,
            counted: now,
        }
    }

    /// Takes one key update; returns false if that is one too many.
    #[must_use]
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let pauses = now.saturating_duration_since(self.counted).as_secs() / PAUSE.as_secs();
        let earned = u32::try_from(pauses).unwrap_or(u32::MAX);
        if earned > 0 {
            self.left = self.left.saturating_add(earned).min(AT_ONCE);
            self.counted += PAUSE * earned;
        }
        let allowed = self.left > 0;
        self.left = self.left.saturating_sub(1);
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_at_once_and_then_one_a_pause() {
        let start = Instant::now();
        let mut updates = KeyUpdates::new(start);
        for _ in 0..AT_ONCE {
            assert!(updates.take(start));
        }
        assert!(!updates.take(start));
        assert!(!updates.take(start + PAUSE / 2));
        assert!(updates.take(start + PAUSE * 3 / 2));
        assert!(!updates.take(start + PAUSE * 3 / 2));
        // Half a pause was not forgotten, and long ones give no more than there was.
        assert!(updates.take(start + PAUSE * 2));
        let late = start + PAUSE * 1_000;
        assert_eq!((0..100).filter(|_| updates.take(late)).count(), 32);
        assert_eq!(format!("{AT_ONCE} at once and one a second"), ALLOWED);
    }
}
