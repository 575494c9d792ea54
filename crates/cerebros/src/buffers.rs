//! The NIC's buffer manager (section 4.1): transport and payload buffers, all or nothing.

use accelflow_units::Bytes;

/// Memory for messages that arrive.
#[derive(Clone, Debug)]
pub struct BufferManager {
    capacity: Bytes,
    used: Bytes,
    peak: Bytes,
}

impl BufferManager {
    /// A free memory of `capacity`.
    pub fn new(capacity: Bytes) -> BufferManager {
        BufferManager {
            capacity,
            used: Bytes(0),
            peak: Bytes(0),
        }
    }

    /// Reserves `bytes` and returns true, or reserves nothing, and the sender gets a NACK.
    pub fn reserve(&mut self, bytes: Bytes) -> bool {
        let free = self.capacity.get() - self.used.get();
        if bytes.get() > free {
            return false;
        }
        self.used += bytes;
        self.peak = self.peak.max(self.used);
        true
    }

    /// Releases bytes that [`BufferManager::reserve`] reserved.
    pub fn release(&mut self, bytes: Bytes) {
        debug_assert!(bytes <= self.used, "released more than was reserved");
        self.used = Bytes(self.used.get().saturating_sub(bytes.get()));
    }

    /// The bytes reserved now.
    pub fn used(&self) -> Bytes {
        self.used
    }

    /// The largest number of bytes ever reserved.
    pub fn peak(&self) -> Bytes {
        self.peak
    }
}
