//! Thrift replies that wait to be written together.
//!
//! For a client that sends several calls before it reads, replies are combined to save system
//! calls. A small reply waits for the next one while more requests have arrived. Waiting replies
//! are written before the connection waits for anything else, and before a handler that may be
//! slow.

use crate::memory::wipe::wipe;

/// The largest total size of waiting replies, in bytes.
const ROOM_BYTES: usize = 64 * 1024;

/// The size above which a reply is written at once, since copying it is not worthwhile.
const SMALL_BYTES: usize = ROOM_BYTES / 4;

/// The waiting replies of one connection.
#[derive(Default)]
pub(crate) struct Outbound {
    /// Allocated at full size when the first reply waits, since a vector that grows may leave a
    /// copy behind.
    waiting: Vec<u8>,
}

impl Outbound {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a reply if there is room. Returns whether there was.
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
