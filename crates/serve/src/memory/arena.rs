//! The memory for requests that all connections of a server share. A request's memory is reserved
//! before its message is processed, and released after its handler has returned.
//!
//! A message of n bytes reserves n bytes for itself and a multiple of n bytes for its decoded form,
//! as in Cerebros (section 4.1). Both reservations are made, or neither. A reservation only counts
//! bytes; the memory itself comes from the allocator.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout_at;

use crate::config::ArenaSettings;

/// The interval at which a thread that waits without a time limit checks whether the server is
/// stopping.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// The memory of a server for requests.
pub(crate) struct Arena {
    settings: ArenaSettings,
    taken: Mutex<usize>,
    /// Wakes tasks that wait for memory.
    released: Notify,
    /// Wakes threads that wait for memory.
    freed: Condvar,
}

impl Arena {
    pub(crate) fn new(settings: ArenaSettings) -> Arc<Arena> {
        Arc::new(Arena {
            settings,
            taken: Mutex::default(),
            released: Notify::new(),
            freed: Condvar::new(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, usize> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `more` bytes fit. A single message may be larger than the arena.
    fn fits(&self, taken: usize, more: usize) -> bool {
        taken == 0 || taken.saturating_add(more) <= self.settings.bytes
    }

    /// The bytes that a message reserves, and the part of them for its decoded form.
    fn sizes(&self, message: usize) -> (usize, usize) {
        let payload = message.saturating_mul(self.settings.reservation_ratio);
        (message.saturating_add(payload), payload)
    }

    fn lend(self: &Arc<Self>, taken: &mut usize, (bytes, payload): (usize, usize)) -> Reservation {
        *taken += bytes;
        Reservation {
            arena: self.clone(),
            bytes,
            payload,
        }
    }

    /// Reserves memory for a message if there is enough.
    pub(crate) fn try_reserve(self: &Arc<Self>, message: usize) -> Option<Reservation> {
        let sizes = self.sizes(message);
        let mut taken = self.taken();
        self.fits(*taken, sizes.0)
            .then(|| self.lend(&mut taken, sizes))
    }

    /// Reserves memory for a message. Waits for up to [`ArenaSettings::patience`]. Returns `None`
    /// if there is still not enough.
    pub(crate) fn reserve(self: &Arc<Self>, message: usize) -> Option<Reservation> {
        let sizes = self.sizes(message);
        let taken = self.taken();
        let full = |taken: &mut usize| !self.fits(*taken, sizes.0);
        let (mut taken, waited) = (self.freed)
            .wait_timeout_while(taken, self.settings.patience, full)
            .unwrap_or_else(PoisonError::into_inner);
        (!waited.timed_out()).then(|| self.lend(&mut taken, sizes))
    }

    /// Waits for memory for a message that cannot be refused. Returns without memory once
    /// `is_stopping` is true.
    pub(crate) fn await_room(
        self: &Arc<Self>,
        message: usize,
        is_stopping: impl Fn() -> bool,
    ) -> Reservation {
        let sizes = self.sizes(message);
        let mut taken = self.taken();
        while !self.fits(*taken, sizes.0) && !is_stopping() {
            let waited = self.freed.wait_timeout(taken, LOOKS_EVERY);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.lend(&mut taken, sizes)
    }

    /// Like [`Arena::reserve`], without blocking a thread.
    pub(crate) async fn reserve_later(self: &Arc<Self>, message: usize) -> Option<Reservation> {
        let until = Instant::now() + self.settings.patience;
        loop {
            // Registered before the check, so that no release is missed in between.
            let released = self.released.notified();
            if let Some(reserved) = self.try_reserve(message) {
                return Some(reserved);
            }
            timeout_at(until.into(), released).await.ok()?;
        }
    }

    fn release(&self, bytes: usize) {
        *self.taken() -= bytes;
        self.released.notify_waiters();
        self.freed.notify_all();
    }
}

/// The memory that a message has reserved. Dropping it releases the memory.
pub(crate) struct Reservation {
    arena: Arc<Arena>,
    bytes: usize,
    /// The part for the decoded form.
    payload: usize,
}

impl Reservation {
    /// Extends the reservation for a payload of `bytes`. Returns false if there is not enough
    /// memory.
    pub(crate) fn cover(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.payload);
        let mut taken = self.arena.taken();
        let alone = *taken == self.bytes;
        let fits = more == 0 || alone || self.arena.fits(*taken, more);
        if fits {
            *taken += more;
            drop(taken);
            self.grow(more);
        }
        fits
    }

    /// Extends the reservation for a payload of `bytes`, even beyond the size of the arena.
    pub(crate) fn cover_anyway(&mut self, bytes: usize) {
        let more = bytes.saturating_sub(self.payload);
        *self.arena.taken() += more;
        self.grow(more);
    }

    fn grow(&mut self, more: usize) {
        self.bytes += more;
        self.payload += more;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.arena.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arena(bytes: usize, patience: Duration) -> Arc<Arena> {
        Arena::new(ArenaSettings {
            patience,
            ..ArenaSettings::of(bytes)
        })
    }

    #[test]
    fn a_message_takes_five_times_its_size_or_nothing() {
        let arena = arena(1_000, Duration::ZERO);
        let one = arena.reserve(100).expect("500 are free");
        let two = arena.reserve(100).expect("500 are free");
        assert!(arena.reserve(1).is_none());
        assert_eq!(*arena.taken(), 1_000);
        drop(one);
        let three = arena.reserve(99).expect("500 are free");
        assert!(arena.reserve(2).is_none());
        assert!(arena.reserve(1).is_some());
        drop((two, three));
        assert_eq!(*arena.taken(), 0);
        // Alone a message may be as large as any.
        assert!(arena.reserve(10_000).is_some());
    }

    #[test]
    fn a_payload_that_outgrows_its_part_takes_more_or_is_refused() {
        let arena = arena(1_000, Duration::ZERO);
        let mut one = arena.reserve(100).expect("there is memory");
        assert!(one.cover(400) && one.cover(600));
        assert_eq!(*arena.taken(), 700);
        let mut two = arena.reserve(60).expect("there is memory");
        assert!(!two.cover(241));
        two.cover_anyway(500);
        assert_eq!(*arena.taken(), 700 + 560);
        drop(one);
        assert!(two.cover(5_000), "alone");
        drop(two);
        assert_eq!(*arena.taken(), 0);
    }

    #[test]
    fn who_waits_is_woken() {
        let patience = Duration::from_secs(60);
        let arena = arena(500, patience);
        let first = arena.reserve(100).expect("there is memory");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| arena.reserve(100).is_some());
            let task = scope.spawn(|| runtime.block_on(arena.reserve_later(100)).is_some());
            let oneway = scope.spawn(|| drop(arena.await_room(100, || false)));
            drop(first);
            // Each gives it up for the next.
            assert!(thread.join().expect("no panic"));
            assert!(task.join().expect("no panic"));
            oneway.join().expect("no panic");
        });
        assert!(begun.elapsed() < patience);
        let _all = arena.reserve(100);
        let _beyond = arena.await_room(1, || true);
        assert_eq!(*arena.taken(), 505);
    }
}
