//! The NIC's buffer manager (section 4.1): a message gets both a transport buffer and a payload
//! buffer, or neither.

use accelflow_units::Bytes;

/// The manager of the NIC's memory for arriving messages. The memory consists of arenas, which are
/// regions that the microservice has allocated. The manager counts the reserved bytes of each
/// arena.
#[derive(Clone, Debug)]
pub struct BufferManager {
    arenas: Vec<Arena>,
    peak: Bytes,
}

#[derive(Clone, Copy, Debug)]
struct Arena {
    capacity: Bytes,
    used: Bytes,
}

/// A reservation of memory in one arena for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    arena: usize,
    bytes: Bytes,
}

impl BufferManager {
    /// Creates `arenas` empty arenas with the total size `capacity`, divided evenly. The first
    /// arenas get the remainder. Zero arenas count as one.
    pub fn new(capacity: Bytes, arenas: usize) -> BufferManager {
        let count = arenas.max(1) as u64;
        let (each, rest) = (capacity.get() / count, capacity.get() % count);
        let arena = |n: u64| Arena {
            capacity: Bytes(each + u64::from(n < rest)),
            used: Bytes(0),
        };
        BufferManager {
            arenas: (0..count).map(arena).collect(),
            peak: Bytes(0),
        }
    }

    /// Reserves `bytes` in the first arena with enough free bytes. Returns `None` if there is no
    /// such arena; the sender then gets a NACK.
    pub fn reserve(&mut self, bytes: Bytes) -> Option<Reserved> {
        let fits = |arena: &Arena| bytes.get() <= arena.capacity.get() - arena.used.get();
        let arena = self.arenas.iter().position(fits)?;
        self.arenas[arena].used += bytes;
        self.peak = self.peak.max(self.used());
        Some(Reserved { arena, bytes })
    }

    /// Frees the memory that [`BufferManager::reserve`] reserved.
    pub fn release(&mut self, reserved: Reserved) {
        let used = &mut self.arenas[reserved.arena].used;
        debug_assert!(reserved.bytes <= *used, "more was released than reserved");
        *used = Bytes(used.get().saturating_sub(reserved.bytes.get()));
    }

    /// The number of bytes that are reserved at present.
    pub fn used(&self) -> Bytes {
        Bytes(self.arenas.iter().map(|arena| arena.used.get()).sum())
    }

    /// The largest number of bytes that were reserved at any time.
    pub fn peak(&self) -> Bytes {
        self.peak
    }
}
