//! Overwriting what was secret, at the speed of memory: `Zeroize` for slices of bytes writes one
//! byte at a time.

use std::ops::{Deref, DerefMut};

use zeroize::optimization_barrier;

/// Overwrites `bytes` with zeros, and does so even if nobody reads them again.
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
