//! Overwrites memory with zeros, faster than `Zeroize`, which writes slices of bytes one byte at a
//! time.

use std::alloc::System;
use std::ops::{Deref, DerefMut};

use zeroize::optimization_barrier;
use zeroizing_alloc::ZeroAlloc;

/// An allocator that overwrites memory with zeros before it frees the memory.
///
/// A server's messages pass through libraries that do not overwrite memory (HTTP/2, JSON), through
/// handlers' own values, and through vectors that move when they grow. A program that serves
/// secrets should use this allocator as its global allocator, which covers all of these:
///
/// ```
/// use accelflow_serve::{WIPING_ALLOCATOR, WipingAllocator};
///
/// #[global_allocator]
/// static MEMORY: WipingAllocator = WIPING_ALLOCATOR;
/// ```
///
/// See `docs/server-reasons.md` for its cost, and for what it does not cover.
pub type WipingAllocator = ZeroAlloc<System>;

/// The value of the type [`WipingAllocator`], for use as a program's global allocator.
pub const WIPING_ALLOCATOR: WipingAllocator = ZeroAlloc(System);

/// Overwrites `bytes` with zeros, even if they are never read again.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    optimization_barrier(bytes);
}

/// Overwrites everything that `bytes` has allocated, and empties it.
pub(crate) fn wipe_all(bytes: &mut Vec<u8>) {
    bytes.clear();
    // Within the capacity, so nothing moves and no old copy is left behind.
    bytes.resize(bytes.capacity(), 0);
    optimization_barrier(bytes.as_slice());
    bytes.clear();
}

/// Overwrites the unused part of the stack, where earlier function calls of this thread have left
/// data. Libraries leave the ends of texts there, in buffers that they do not wipe.
#[inline(never)]
pub(crate) fn wipe_stack() {
    /// The number of wiped bytes: several times the stack that traces of typical messages need.
    const WIPED_BYTES: usize = 64 * 1024;
    let mut below = [0; WIPED_BYTES];
    wipe(&mut below);
}

/// Bytes that are wiped when they are dropped.
#[derive(Debug, Default)]
pub(crate) struct Wiped(Vec<u8>);

impl Wiped {
    pub(crate) fn new(bytes: Vec<u8>) -> Wiped {
        Wiped(bytes)
    }
}

impl AsRef<[u8]> for Wiped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Deref for Wiped {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for Wiped {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

impl Drop for Wiped {
    fn drop(&mut self) {
        wipe_all(&mut self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_named_is_overwritten() {
        let mut bytes = [1; 100];
        wipe(&mut bytes[10..90]);
        assert!(bytes[10..90].iter().all(|byte| *byte == 0));
        assert!(
            bytes[..10]
                .iter()
                .chain(&bytes[90..])
                .all(|byte| *byte == 1)
        );
    }

    #[test]
    fn wiped_memory_is_kept_and_empty() {
        let mut bytes = Vec::with_capacity(300);
        bytes.extend([7; 250]);
        let (place, capacity) = (bytes.as_ptr(), bytes.capacity());
        wipe_all(&mut bytes);
        assert!(bytes.is_empty());
        // It was overwritten where it lay.
        assert_eq!((bytes.as_ptr(), bytes.capacity()), (place, capacity));
    }
}
