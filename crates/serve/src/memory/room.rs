//! Memory for the responses of a connection: reserved before a handler makes one, and given back when
//! the client has taken it.
//!
//! A client that asks for much and reads nothing would otherwise have all its responses made at once.
//! How large a response will be nobody knows before its handler has run, so what is reserved is the
//! largest of the method's latest responses ([`Sizes`]); what that was too much is released once the
//! response is there, and what it was too little has to be got before the response is written.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

use super::wipe::Wiped;

/// What is reserved at least: as much as most responses need, and 100 streams may have together.
const LEAST: usize = 64 * 1024;

/// How many responses of a method are looked back on, at least; at most twice as many.
const LATEST: u32 = 1_024;

/// How long a request waits for the size of a method's first response: long enough for handlers that
/// do not block. Those that wait for one another must not be kept from it.
const PATIENCE: Duration = Duration::from_millis(100);

/// The room of one connection.
pub(crate) struct Room {
    most: usize,
    taken: Mutex<usize>,
    /// Wakes requests that wait to begin.
    released: Notify,
    /// Wakes threads whose response has become larger than was reserved.
    freed: Condvar,
}

impl Room {
    /// Room for `most` bytes. Requests begin as long as half of it is free: the other half is for
    /// responses that are larger than was expected.
    pub(crate) fn new(most: usize) -> Arc<Room> {
        Arc::new(Room {
            most,
            taken: Mutex::default(),
            released: Notify::new(),
            freed: Condvar::new(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, usize> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves `bytes` if there is room. A response that is alone always has.
    fn try_reserve(self: &Arc<Self>, bytes: usize) -> Option<Reserved> {
        let mut taken = self.taken();
        if *taken > 0 && taken.saturating_add(bytes) > self.most / 2 {
            return None;
        }
        *taken += bytes;
        Some(Reserved {
            room: self.clone(),
            bytes: AtomicUsize::new(bytes),
        })
    }

    /// Waits for room for a response of the size that `sizes` expect of a method; `largest` is the
    /// largest there may be.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        sizes: &Sizes,
        method: usize,
        largest: usize,
    ) -> Reserved {
        let begun = Instant::now();
        loop {
            // Before looking, so that nothing is missed in between.
            let released = self.released.notified();
            let bytes = match sizes.expect(method) {
                Expected::Bytes(bytes) => bytes.clamp(LEAST, largest.max(LEAST)),
                Expected::Soon => match PATIENCE.checked_sub(begun.elapsed()) {
                    Some(left) => {
                        // Whichever it was, the next look tells.
                        drop(timeout(left, released).await);
                        continue;
                    }
                    None => LEAST,
                },
                Expected::Unknown => LEAST,
            };
            match self.try_reserve(bytes) {
                Some(reserved) => return reserved,
                None => released.await,
            }
        }
    }

    fn release(&self, bytes: usize) {
        if bytes > 0 {
            *self.taken() -= bytes;
            self.released.notify_waiters();
            self.freed.notify_all();
        }
    }
}

/// Bytes of a connection's room, which are given back in the end.
pub(crate) struct Reserved {
    room: Arc<Room>,
    bytes: AtomicUsize,
}

impl Reserved {
    /// How large the response may be.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Gets room for a response of `bytes`, also if that is more than was reserved; waits up to
    /// `patience` if others have it. False if there is none.
    pub(crate) fn cover(&self, bytes: usize, patience: Duration) -> bool {
        let more = bytes.saturating_sub(self.bytes());
        if more == 0 {
            return true;
        }
        let full = |taken: &mut usize| {
            let alone = *taken == self.bytes();
            !alone && taken.saturating_add(more) > self.room.most
        };
        let taken = self.room.taken();
        let (mut taken, _) = (self.room.freed)
            .wait_timeout_while(taken, patience, |taken| full(taken))
            .unwrap_or_else(PoisonError::into_inner);
        if full(&mut taken) {
            return false;
        }
        *taken += more;
        self.bytes.fetch_add(more, Ordering::Relaxed);
        true
    }

    /// Releases what a response of `bytes` does not need.
    pub(crate) fn keep(&self, bytes: usize) {
        let surplus = self.bytes().saturating_sub(bytes);
        self.bytes.fetch_sub(surplus, Ordering::Relaxed);
        self.room.release(surplus);
        // Some may wait for the size alone.
        self.room.released.notify_waiters();
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.room.release(self.bytes());
    }
}

/// The response to one request, which is being made: what it may take, and who is to know what it took.
pub(crate) struct ResponseBudget {
    pub(crate) reserved: Reserved,
    pub(crate) sizes: Arc<Sizes>,
    /// The method that responds.
    pub(crate) method: usize,
    /// How large a response may be at all.
    pub(crate) largest: usize,
    /// How long a thread of handlers waits for room if it is larger than was expected.
    pub(crate) patience: Duration,
    /// Whether what makes it is a thread that others need, and so does not wait at all.
    pub(crate) at_once: AtomicBool,
}

impl ResponseBudget {
    /// How large the response may be without asking for more.
    pub(crate) fn expected(&self) -> usize {
        self.reserved.bytes().min(self.largest)
    }

    /// Lets threads that others need make the response from now on, such as that of an event loop.
    pub(crate) fn refuse_to_wait(&self) {
        self.at_once.store(true, Ordering::Relaxed);
    }

    fn patience(&self) -> Duration {
        match self.at_once.load(Ordering::Relaxed) {
            true => Duration::ZERO,
            false => self.patience,
        }
    }

    /// Reserves memory for a response of the largest size; returns false if the connection has none left.
    pub(crate) fn extend_to_largest(&self) -> bool {
        self.sizes
            .cover(&self.reserved, self.largest, self.patience())
    }

    /// Notes that the response is there and takes `bytes`, and took up to `peak` on the way; false if
    /// there is no room for it.
    pub(crate) fn settle(&self, bytes: usize, peak: usize) -> bool {
        self.sizes.note(self.method, peak.max(bytes));
        let covered = self.sizes.cover(&self.reserved, bytes, self.patience());
        if covered {
            self.reserved.keep(bytes);
        }
        covered
    }
}

impl std::fmt::Debug for ResponseBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseBudget")
            .field("expected", &self.expected())
            .finish_non_exhaustive()
    }
}

/// A response's message, and the room that it has as long as some of it is unsent.
pub(crate) struct Sending {
    pub(crate) message: Wiped,
    pub(crate) _budget: Arc<ResponseBudget>,
}

impl AsRef<[u8]> for Sending {
    fn as_ref(&self) -> &[u8] {
        &self.message
    }
}

/// The sizes of each method's latest responses, on all connections.
pub(crate) struct Sizes {
    by_method: Box<[Mutex<Largest>]>,
    /// How many threads wait for room.
    waiting: AtomicUsize,
    most_waiting: usize,
}

/// The largest of the responses since the count began, and of those of the count before.
#[derive(Default)]
struct Largest {
    count: u32,
    now: usize,
    before: usize,
    /// Whether a request has begun.
    begun: bool,
}

/// How large a response is to be expected to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Bytes(usize),
    /// The first request is being answered.
    Soon,
    Unknown,
}

impl Sizes {
    /// Those of `methods` methods, of which a quarter of `threads` may wait for room.
    pub(crate) fn new(methods: usize, threads: usize) -> Sizes {
        Sizes {
            by_method: (0..methods).map(|_| Mutex::default()).collect(),
            waiting: AtomicUsize::new(0),
            most_waiting: threads / 4,
        }
    }

    fn of(&self, method: usize) -> Option<MutexGuard<'_, Largest>> {
        let sizes = self.by_method.get(method)?;
        Some(sizes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How large the response to a request that is about to begin is to be expected to be.
    fn expect(&self, method: usize) -> Expected {
        let Some(mut sizes) = self.of(method) else {
            return Expected::Unknown;
        };
        if sizes.count > 0 || sizes.before > 0 {
            return Expected::Bytes(sizes.now.max(sizes.before));
        }
        match std::mem::replace(&mut sizes.begun, true) {
            true => Expected::Soon,
            false => Expected::Unknown,
        }
    }

    /// Notes the size of a response.
    pub(crate) fn note(&self, method: usize, bytes: usize) {
        let Some(mut sizes) = self.of(method) else {
            return;
        };
        if sizes.count == LATEST {
            sizes.before = sizes.now.max(1);
            (sizes.count, sizes.now) = (0, 0);
        }
        sizes.count += 1;
        sizes.now = sizes.now.max(bytes);
    }

    /// As [`Reserved::cover`], but no more than a quarter of the threads waits: the others are for
    /// clients that take what they have asked for.
    pub(crate) fn cover(&self, reserved: &Reserved, bytes: usize, patience: Duration) -> bool {
        if reserved.cover(bytes, Duration::ZERO) {
            return true;
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let got = before < self.most_waiting && reserved.cover(bytes, patience);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        got
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 1 << 20;

    fn taken(room: &Room) -> usize {
        *room.taken()
    }

    #[test]
    fn what_is_reserved_is_given_back() {
        let room = Room::new(MOST);
        let one = room.try_reserve(MOST / 2).expect("there is room");
        assert!(room.try_reserve(1).is_none());
        one.keep(1_000);
        let two = room.try_reserve(MOST / 4).expect("it was released");
        assert_eq!(taken(&room), 1_000 + MOST / 4);
        // What is larger than was expected has the other half.
        assert!(two.cover(MOST - 1_000, Duration::ZERO));
        assert!(!one.cover(1_001, Duration::ZERO));
        assert!(one.cover(1_000, Duration::ZERO));
        drop(one);
        // Alone it may be as large as any.
        assert!(two.cover(4 * MOST, Duration::ZERO));
        drop(two);
        assert_eq!(taken(&room), 0);
        assert!(room.try_reserve(4 * MOST).is_some());
    }

    #[test]
    fn a_thread_that_waits_for_room_gets_it() {
        let room = Room::new(MOST);
        let sizes = Sizes::new(1, 4);
        let one = room.try_reserve(MOST / 2).expect("there is room");
        let two = room.try_reserve(1);
        assert!(two.is_none());
        one.keep(MOST / 4);
        let two = room.try_reserve(MOST / 4).expect("there is room");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| sizes.cover(&two, MOST, Duration::from_secs(60)));
            while sizes.waiting.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            // One of four threads may wait.
            let third = Reserved {
                room: room.clone(),
                bytes: AtomicUsize::new(0),
            };
            assert!(!sizes.cover(&third, MOST, Duration::from_secs(60)));
            drop(third);
            drop(one);
            assert!(waits.join().expect("no panic"));
        });
    }

    #[test]
    fn the_largest_of_the_latest_responses_is_expected() {
        let sizes = Sizes::new(2, 64);
        assert_eq!(sizes.expect(0), Expected::Unknown);
        assert_eq!(
            (sizes.expect(0), sizes.expect(7)),
            (Expected::Soon, Expected::Unknown)
        );
        sizes.note(0, 5_000);
        for _ in 1..LATEST {
            sizes.note(0, 10);
        }
        assert_eq!(sizes.expect(0), Expected::Bytes(5_000));
        assert_eq!(sizes.expect(1), Expected::Unknown);
        for _ in 0..LATEST {
            sizes.note(0, 10);
            assert_eq!(sizes.expect(0), Expected::Bytes(5_000));
        }
        sizes.note(0, 20);
        assert_eq!(sizes.expect(0), Expected::Bytes(20));
    }
}
