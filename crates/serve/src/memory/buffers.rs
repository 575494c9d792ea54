//! Buffers that a thread reuses, so that it does not obtain memory from the system for each large
//! message.

use std::cell::RefCell;

use super::wipe::wipe_all;

/// The number of buffers that a thread keeps: one for a request and one for its reply.
const KEPT: usize = 2;

/// Larger buffers are freed.
const KEPT_BYTES: usize = 128 * 1024;

/// A buffer is freed if its message took less than a quarter of it, since wiping the buffer takes
/// longer than allocating one that fits.
const LEAST_SHARE: usize = 4;

/// Buffers up to this size are always kept.
const SMALL_BYTES: usize = 4 * 1024;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Returns an empty buffer with room for `bytes`.
pub(crate) fn take(bytes: usize) -> Vec<u8> {
    let mut buffer = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
    buffer.reserve(bytes);
    buffer
}

/// Returns a copy of `bytes`.
pub(crate) fn copy_of(bytes: &[u8]) -> Vec<u8> {
    let mut buffer = take(bytes.len());
    buffer.extend_from_slice(bytes);
    buffer
}

/// Wipes a message's buffer, and keeps it for the next message.
pub(crate) fn give_back(mut buffer: Vec<u8>) {
    let (used, capacity) = (buffer.len(), buffer.capacity());
    wipe_all(&mut buffer);
    if capacity > KEPT_BYTES || capacity > SMALL_BYTES.max(used * LEAST_SHARE) {
        return;
    }
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < KEPT && capacity > 0 {
            spare.push(buffer);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(mut buffer: Vec<u8>, bytes: usize) -> Vec<u8> {
        buffer.resize(bytes, 7);
        buffer
    }

    #[test]
    fn a_buffer_comes_back_empty() {
        let buffer = used(take(60_000), 60_000);
        let place = buffer.as_ptr();
        give_back(buffer);
        let again = take(50_000);
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let buffers: Vec<Vec<u8>> = (0..5).map(|_| used(take(9_000), 9_000)).collect();
        buffers.into_iter().for_each(give_back);
        assert_eq!(SPARE.with_borrow(Vec::len), KEPT);
        SPARE.take();
        give_back(used(take(KEPT_BYTES + 1), KEPT_BYTES + 1));
        // A large buffer for a small message.
        give_back(used(take(100_000), 10));
        assert_eq!(SPARE.with_borrow(Vec::len), 0);
        give_back(used(take(SMALL_BYTES), 10));
        assert_eq!(SPARE.with_borrow(Vec::len), 1);
    }
}
