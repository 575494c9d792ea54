//! Replies that are written together.
//!
//! A client that sends several calls before it reads gets its replies with fewer system calls:
//! while more requests have arrived, a small reply waits for the next one. Waiting replies are
//! written before the connection waits for anything else, and before a handler that may be slow.

use crate::memory::wipe::wipe;

/// The most bytes of replies that wait together.
const ROOM_BYTES: usize = 64 * 1024;

/// A larger reply is written at once: it is not worth a copy.
const SMALL_BYTES: usize = ROOM_BYTES / 4;

/// The waiting replies of one connection.
#[derive(Default)]
pub(crate) struct Outbound {
    /// Allocated when the first reply waits, and then in full: a vector that grows may leave a copy
    /// behind.
    waiting: Vec<u8>,
}

impl Outbound {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a reply, if there is room for it; returns whether there was.
    pub(crate) fn add(&mut self, reply: &[u8]) -> bool {
        if reply.len() > SMALL_BYTES || self.waiting.len() + reply.len() > ROOM_BYTES {
            return false;
        }
        if self.waiting.capacity() == 0 {
            self.waiting.reserve_exact(ROOM_BYTES);
        }
        self.waiting.extend_from_slice(reply);
        true
    }

    /// The waiting replies, in order.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.waiting
    }

    /// Wipes the replies, once they are written or the client is gone.
    pub(crate) fn clear(&mut self) {
        wipe(&mut self.waiting);
        self.waiting.clear();
    }
}

impl Drop for Outbound {
    fn drop(&mut self) {
        wipe(&mut self.waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_and_in_order() {
        let mut outbound = Outbound::default();
        let mut expected = Vec::new();
        for turn in 0..=u8::MAX {
            let reply = [turn; 1_000];
            if !outbound.add(&reply) {
                break;
            }
            expected.extend(reply);
        }
        assert_eq!(expected.len(), 65_000);
        assert_eq!(outbound.bytes(), expected);
        assert!(!outbound.is_empty());
        outbound.clear();
        assert!(outbound.is_empty());
        assert!(!outbound.add(&[0; SMALL_BYTES + 1]));
        assert!(outbound.is_empty());
    }
}
