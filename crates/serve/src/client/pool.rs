//! A bounded pool of a client's connections. Waiting calls get connections in order of arrival.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::cancel::{Cancel, Slot, Woken};

/// A place in the pool: an idle connection, or the right to open one.
pub(super) enum Place<C> {
    Used(C),
    New,
}

/// The reason why a call gets no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPlace {
    /// The largest number of calls is already waiting.
    Full {
        /// The number of waiting calls.
        waiting: usize,
    },
    Late,
    Cancelled,
}

/// The numbers of a client's connections, and of its calls that wait for a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// The number of open connections, including those that are still being opened.
    pub open: usize,
    /// The number of open connections that no call uses now.
    pub idle: usize,
    /// The number of calls that wait for a connection.
    pub waiting: usize,
}

pub(super) struct Pool<C> {
    max_connections: usize,
    max_waiting: usize,
    idle_timeout: Duration,
    state: Mutex<State<C>>,
    /// Wakes the thread that closes idle connections.
    changed: Condvar,
}

struct State<C> {
    open: usize,
    /// Idle connections. The most recently used is last and is taken first, so that the others can
    /// expire. Empty while a call waits.
    idle: VecDeque<(C, Instant)>,
    waiting: VecDeque<Arc<Slot<Place<C>>>>,
    closed: bool,
}

impl<C: Send + 'static> Pool<C> {
    pub(super) fn new(max_connections: usize, max_waiting: usize, idle_timeout: Duration) -> Self {
        Pool {
            max_connections,
            max_waiting,
            idle_timeout,
            state: Mutex::new(State {
                open: 0,
                idle: VecDeque::new(),
                waiting: VecDeque::new(),
                closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits for a place. The caller must then call [`Pool::give_back`] or [`Pool::give_up`].
    pub(super) fn take(
        &self,
        deadline: Instant,
        cancel: Option<&Cancel>,
    ) -> Result<Place<C>, NoPlace> {
        let slot = {
            let mut state = self.lock();
            if let Some((connection, _)) = state.idle.pop_back() {
                return Ok(Place::Used(connection));
            }
            if state.open < self.max_connections {
                state.open += 1;
                return Ok(Place::New);
            }
            let waiting = state.waiting.len();
            if waiting >= self.max_waiting {
                return Err(NoPlace::Full { waiting });
            }
            let slot = Arc::new(Slot::new());
            state.waiting.push_back(slot.clone());
            slot
        };
        let woken = {
            let _watch = cancel.map(|cancel| cancel.watch(slot.clone()));
            slot.wait_until(deadline)
        };
        let nothing = match woken {
            Woken::Value(place) => return Ok(place),
            Woken::Late => NoPlace::Late,
            Woken::Cancelled => NoPlace::Cancelled,
        };
        let mut state = self.lock();
        state.waiting.retain(|other| !Arc::ptr_eq(other, &slot));
        drop(state);
        // The call may have been given a place between its wake-up and its leaving the queue.
        match slot.take() {
            None => Err(nothing),
            Some(place) if nothing == NoPlace::Late => Ok(place),
            Some(Place::Used(connection)) => {
                self.give_back(connection);
                Err(nothing)
            }
            Some(Place::New) => {
                self.give_up();
                Err(nothing)
            }
        }
    }

    /// Returns a connection to the pool. It goes to the longest-waiting call, or else becomes idle.
    pub(super) fn give_back(&self, connection: C) {
        let mut state = self.lock();
        if state.closed {
            state.open -= 1;
            drop(state);
            drop(connection);
            return;
        }
        match state.waiting.pop_front() {
            Some(first) => first.put(Place::Used(connection)),
            None => {
                state.idle.push_back((connection, Instant::now()));
                self.changed.notify_one();
            }
        }
    }

    /// Frees a place whose connection is closed or was never opened.
    pub(super) fn give_up(&self) {
        let mut state = self.lock();
        match state.waiting.pop_front() {
            Some(first) => first.put(Place::New),
            None => state.open -= 1,
        }
    }

    pub(super) fn counts(&self) -> PoolCounts {
        let state = self.lock();
        PoolCounts {
            open: state.open,
            idle: state.idle.len(),
            waiting: state.waiting.len(),
        }
    }

    /// Closes connections that have been idle for too long. Once the pool is closed, closes all
    /// idle connections and returns. Calls `end` with each connection, without holding the lock.
    pub(super) fn reap(&self, mut end: impl FnMut(C)) {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            let too_old = |since: &Instant| *since + self.idle_timeout <= now;
            let closed = state.closed;
            let mut old = Vec::new();
            while let Some((_, since)) = state.idle.front()
                && (closed || too_old(since))
            {
                state.open -= 1;
                old.extend(state.idle.pop_front().map(|(connection, _)| connection));
            }
            if !old.is_empty() {
                drop(state);
                old.into_iter().for_each(&mut end);
                state = self.lock();
                continue;
            }
            if closed {
                return;
            }
            state = match state.idle.front() {
                None => {
                    let waited = self.changed.wait(state);
                    waited.unwrap_or_else(PoisonError::into_inner)
                }
                Some((_, since)) => {
                    let left = (*since + self.idle_timeout).saturating_duration_since(now);
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Closes the pool. [`Pool::reap`] then closes idle connections and returns. Connections in use
    /// are closed when they are returned.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn pool(max_connections: usize, max_waiting: usize) -> Arc<Pool<u32>> {
        let idle = Duration::from_secs(60);
        Arc::new(Pool::new(max_connections, max_waiting, idle))
    }

    fn await_waiting(pool: &Pool<u32>, count: usize) {
        while pool.counts().waiting != count {
            std::thread::yield_now();
        }
    }

    #[test]
    fn places_are_given_in_the_order_of_asking() {
        let pool = pool(1, 8);
        assert!(matches!(pool.take(later(), None), Ok(Place::New)));
        let order = Arc::new(Mutex::new(Vec::new()));
        let threads: Vec<_> = (0..5)
            .map(|number| {
                let (pool, order) = (pool.clone(), order.clone());
                let before = pool.counts().waiting;
                let thread = {
                    let pool = pool.clone();
                    std::thread::spawn(move || {
                        let place = pool.take(later(), None).ok();
                        order.lock().expect("no panic").push(number);
                        match place {
                            // Every second finds its connection broken.
                            Some(Place::Used(_)) if number % 2 == 1 => pool.give_up(),
                            Some(Place::Used(value)) => pool.give_back(value),
                            Some(Place::New) => pool.give_back(number),
                            None => panic!("{number} got nothing"),
                        }
                    })
                };
                await_waiting(&pool, before + 1);
                thread
            })
            .collect();
        pool.give_back(7);
        for thread in threads {
            thread.join().expect("no panic");
        }
        assert_eq!(*order.lock().expect("no panic"), [0, 1, 2, 3, 4]);
        let (open, idle, waiting) = (1, 1, 0);
        assert_eq!(
            pool.counts(),
            PoolCounts {
                open,
                idle,
                waiting
            }
        );
    }

    #[test]
    fn a_full_pool_is_a_value() {
        let pool = pool(1, 1);
        assert!(pool.take(later(), None).is_ok());
        let cancel = Cancel::new();
        let waiter = {
            let (pool, cancel) = (pool.clone(), cancel.clone());
            std::thread::spawn(move || pool.take(later(), Some(&cancel)).err())
        };
        await_waiting(&pool, 1);
        let full = pool.take(later(), None).err();
        assert_eq!(full, Some(NoPlace::Full { waiting: 1 }));
        cancel.cancel();
        let woken = waiter.join().expect("no panic");
        assert_eq!(woken, Some(NoPlace::Cancelled));
        assert_eq!(pool.take(Instant::now(), None).err(), Some(NoPlace::Late));
        pool.give_up();
        assert_eq!(pool.counts(), PoolCounts::default());
    }

    #[test]
    fn idle_connections_are_closed_in_time_and_at_the_end() {
        let idle = Duration::from_millis(20);
        let pool = Arc::new(Pool::new(4, 4, idle));
        let reaper = {
            let pool = pool.clone();
            std::thread::spawn(move || {
                let mut ended = Vec::new();
                pool.reap(|connection| ended.push(connection));
                ended
            })
        };
        for number in 0..3 {
            assert!(
                matches!(pool.take(later(), None), Ok(Place::New)),
                "{number}"
            );
        }
        pool.give_back(1);
        pool.give_back(2);
        while pool.counts().idle > 0 {
            std::thread::yield_now();
        }
        assert_eq!(pool.counts().open, 1);
        pool.give_back(3);
        pool.close();
        assert_eq!(reaper.join().expect("no panic"), [1, 2, 3]);
        assert_eq!(pool.counts(), PoolCounts::default());
    }
}
