//! Replies that are written together.
//!
//! A client that sends several calls before it reads gets its replies with fewer system calls: as
//! long as more has come, a reply that is not large waits for the next one. Before the connection
//! waits for anything else, and before a handler that may take its time, what waits is written.

use crate::memory::wipe::wipe;

/// How many bytes wait together.
const ROOM_BYTES: usize = 64 * 1024;

/// A reply beyond this is not worth a copy.
const SMALL_BYTES: usize = ROOM_BYTES / 4;

/// The replies of one connection that wait.
#[derive(Default)]
pub(crate) struct Outbound {
    /// Without room until a reply has waited, then with all of it: a vector that grows may leave a
    /// copy behind.
    waiting: Vec<u8>,
}

impl Outbound {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Has a reply wait, if there is room for it.
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

    /// What waits, in order.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.waiting
    }

    /// Wipes what has waited, now that it is written or nobody takes it.
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
