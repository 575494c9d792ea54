//! The memory for responses of one connection. A response's memory is reserved before its handler
//! produces it, and released after the client has read it.
//!
//! Without a limit, a client that sends many requests and reads nothing would make the server store
//! all responses at once. The size of a response is unknown until its handler has run, so the size
//! of the method's largest recent response is reserved ([`Sizes`]). If the response is smaller, the
//! excess is released; if the response is larger, more is reserved before the response is written.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

use super::wipe::Wiped;

/// The smallest reservation for a response, in bytes: enough for most responses. By default a
/// connection has room for 512 of them: a connection may have 512 streams.
const LEAST: usize = 64 * 1024;

/// The number of recent responses of a method that count: at least this many, at most twice as
/// many.
const LATEST: u32 = 1_024;

/// The longest wait for the size of a method's first response. It is long enough for handlers that
/// do not block, and bounded since handlers may wait for one another.
const PATIENCE: Duration = Duration::from_millis(100);

/// The room for responses of one connection.
pub(crate) struct Room {
    most: usize,
    taken: Mutex<usize>,
    /// Wakes requests that wait to begin.
    released: Notify,
    /// Wakes threads whose response is larger than its reservation.
    freed: Condvar,
}

impl Room {
    /// Creates room for `most` bytes. New requests may reserve half of it. The other half is for
    /// responses that are larger than expected.
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

    /// Reserves `bytes` if there is room. A single response may always reserve.
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

    /// Waits for room for a response of a method's expected size. `largest` is the largest allowed
    /// size.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        sizes: &Sizes,
        method: usize,
        largest: usize,
    ) -> Reserved {
        let begun = Instant::now();
        loop {
            // Registered before the check, so that no release is missed in between.
            let released = self.released.notified();
            let bytes = match sizes.expect(method) {
                Expected::Bytes(bytes) => bytes.clamp(LEAST, largest.max(LEAST)),
                Expected::Soon => match PATIENCE.checked_sub(begun.elapsed()) {
                    Some(left) => {
                        // The next check distinguishes a release from a timeout.
                        drop(timeout(left, released).await);
                        continue;
                    }
                    None => LEAST,
                },
                Expected::Unknown => LEAST,
            };
            match self.try_reserve(bytes) {
                Some(reserved) => {
                    sizes.begin(method);
                    return reserved;
                }
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

/// Reserved bytes of a connection's room, released when this is dropped.
pub(crate) struct Reserved {
    room: Arc<Room>,
    bytes: AtomicUsize,
}

impl Reserved {
    /// The reserved size.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Extends the reservation to `bytes` if it is smaller. Waits up to `patience` for other
    /// responses to be sent. Returns false if there is no room.
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

    /// Shrinks the reservation to `bytes`.
    pub(crate) fn keep(&self, bytes: usize) {
        let surplus = self.bytes().saturating_sub(bytes);
        self.bytes.fetch_sub(surplus, Ordering::Relaxed);
        self.room.release(surplus);
        // Requests may be waiting for the size of the first response.
        self.room.released.notify_waiters();
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.room.release(self.bytes());
    }
}

/// The memory for the response to one request, while it is being made and sent.
pub(crate) struct ResponseBudget {
    pub(crate) reserved: Reserved,
    pub(crate) sizes: Arc<Sizes>,
    /// The method that responds.
    pub(crate) method: usize,
    /// The largest allowed size of a response.
    pub(crate) largest: usize,
    /// The time that a handler's thread waits for room if the response is larger than expected.
    pub(crate) patience: Duration,
    /// Whether a thread that must not block produces the response.
    pub(crate) at_once: AtomicBool,
}

impl ResponseBudget {
    /// The reserved size of the response.
    pub(crate) fn expected(&self) -> usize {
        self.reserved.bytes().min(self.largest)
    }

    /// Makes extensions fail instead of waiting from now on, because the producing thread must not
    /// block, such as an event loop's.
    pub(crate) fn refuse_to_wait(&self) {
        self.at_once.store(true, Ordering::Relaxed);
    }

    fn patience(&self) -> Duration {
        match self.at_once.load(Ordering::Relaxed) {
            true => Duration::ZERO,
            false => self.patience,
        }
    }

    /// Reserves memory for a response of the largest size. Returns false if there is not enough
    /// room.
    pub(crate) fn extend_to_largest(&self) -> bool {
        self.sizes
            .cover(&self.reserved, self.largest, self.patience())
    }

    /// Records the size of the finished response, and the peak size during its production. Returns
    /// false if there is no room for it.
    pub(crate) fn settle(&self, bytes: usize, peak: usize) -> bool {
        self.sizes.note(self.method, peak.max(bytes));
        let covered = self.sizes.cover(&self.reserved, bytes, self.patience());
        if covered {
            self.reserved.keep(bytes);
        }
        covered
    }
}

impl Drop for ResponseBudget {
    fn drop(&mut self) {
        self.sizes.end(self.method);
    }
}

impl std::fmt::Debug for ResponseBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseBudget")
            .field("expected", &self.expected())
            .finish_non_exhaustive()
    }
}

/// A response's message, which keeps its reservation until all of it has been sent.
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
    /// The number of threads that wait for room.
    waiting: AtomicUsize,
    most_waiting: usize,
}

/// The largest responses of the current and the previous counting period.
#[derive(Default)]
struct Largest {
    count: u32,
    now: usize,
    before: usize,
    /// The number of requests in progress.
    begun: usize,
}

/// The expected size of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Bytes(usize),
    /// A request that may be the first with a response is in progress, so the size may be known
    /// soon.
    Soon,
    Unknown,
}

impl Sizes {
    /// Creates the sizes for `methods` methods that `threads` threads serve. A quarter of the
    /// threads may wait for room.
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

    /// Returns the expected size of the response to a request that is about to begin.
    fn expect(&self, method: usize) -> Expected {
        let Some(sizes) = self.of(method) else {
            return Expected::Unknown;
        };
        if sizes.count > 0 || sizes.before > 0 {
            return Expected::Bytes(sizes.now.max(sizes.before));
        }
        match sizes.begun {
            0 => Expected::Unknown,
            _ => Expected::Soon,
        }
    }

    /// Records that a request has begun.
    fn begin(&self, method: usize) {
        if let Some(mut sizes) = self.of(method) {
            sizes.begun += 1;
        }
    }

    /// Records that a request has ended. If it had no response of a known size, such as one that
    /// was answered with an error, the next request is the first.
    fn end(&self, method: usize) {
        if let Some(mut sizes) = self.of(method) {
            sizes.begun = sizes.begun.saturating_sub(1);
        }
    }

    /// Records the size of a response.
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

    /// Like [`Reserved::cover`], but at most a quarter of the threads wait. The others serve
    /// clients that read their responses.
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
        // A response that is larger than expected may use the other half.
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
        sizes.begin(0);
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

    #[test]
    fn after_a_request_without_a_response_the_next_is_the_first() {
        let sizes = Arc::new(Sizes::new(1, 64));
        let room = Room::new(MOST);
        let begin = || {
            sizes.begin(0);
            ResponseBudget {
                reserved: room.try_reserve(LEAST).expect("there is room"),
                sizes: sizes.clone(),
                method: 0,
                largest: MOST,
                patience: Duration::ZERO,
                at_once: AtomicBool::new(false),
            }
        };
        let first = begin();
        assert_eq!(sizes.expect(0), Expected::Soon);
        drop(first);
        assert_eq!(sizes.expect(0), Expected::Unknown);
        let second = begin();
        assert_eq!(sizes.expect(0), Expected::Soon);
        assert!(second.settle(5_000, 0));
        drop(second);
        assert_eq!(sizes.expect(0), Expected::Bytes(5_000));
    }
}
