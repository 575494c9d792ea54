//! The bytes of an HTTP/2 connection that wait to be sent.

use crate::memory::wipe::wipe;

/// How many bytes are collected before they are encrypted and sent: four records.
pub(super) const COLLECTED: usize = 64 * 1024;

/// The buffer that a connection with small responses keeps.
const RESTING_BYTES: usize = 4 * 1024;

/// After this many turns in a row for which the resting buffer would have been enough, a connection
/// frees the memory that large responses needed.
const SMALL_TURNS: u32 = 8;

/// A send buffer, which is wiped and kept when its bytes have been sent.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// Everything beyond its length is wiped or was never written.
    buffer: Vec<u8>,
    small_turns: u32,
}

impl Outgoing {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Appends; growing in place could leave a copy behind in freed memory.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let need = self.buffer.len() + bytes.len();
        if need > self.buffer.capacity() {
            let room = need.next_power_of_two().max(RESTING_BYTES);
            let mut larger = Vec::with_capacity(room);
            larger.extend_from_slice(&self.buffer);
            wipe(&mut self.buffer);
            self.buffer = larger;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Appends, without a copy where that is possible.
    pub(super) fn take(&mut self, bytes: Vec<u8>) {
        match self.buffer.is_empty() {
            true => self.buffer = bytes,
            false => self.push(&bytes),
        }
    }

    /// Wipes the sent bytes.
    pub(super) fn clear(&mut self) {
        self.small_turns = match self.buffer.len() {
            ..=RESTING_BYTES => self.small_turns.saturating_add(1),
            _ => 0,
        };
        wipe(&mut self.buffer);
        self.buffer.clear();
        if self.small_turns >= SMALL_TURNS && self.buffer.capacity() > RESTING_BYTES {
            self.buffer = Vec::new();
        }
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        wipe(&mut self.buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_wiped_and_large_buffers_are_given_back() {
        let mut outgoing = Outgoing::default();
        for part in [[7; 40_000].as_slice(), &[8; 20_000]] {
            outgoing.push(part);
        }
        assert_eq!(
            outgoing.bytes(),
            [[7; 40_000].as_slice(), &[8; 20_000]].concat()
        );
        outgoing.clear();
        let capacity = outgoing.buffer.capacity();
        assert!((60_000..=COLLECTED).contains(&capacity));
        outgoing.buffer.resize(capacity, 1);
        outgoing.clear();
        for _ in 0..SMALL_TURNS {
            assert_eq!(outgoing.buffer.capacity(), capacity);
            outgoing.push(&[1; RESTING_BYTES]);
            outgoing.clear();
        }
        assert_eq!(outgoing.buffer.capacity(), 0);
    }

    #[test]
    fn what_is_taken_over_follows_what_is_there() {
        let mut outgoing = Outgoing::default();
        let whole = vec![1, 2];
        let place = whole.as_ptr();
        outgoing.take(whole);
        assert_eq!(outgoing.bytes().as_ptr(), place);
        outgoing.take(vec![3]);
        outgoing.push(&[4]);
        assert_eq!(outgoing.bytes(), [1, 2, 3, 4]);
    }
}
