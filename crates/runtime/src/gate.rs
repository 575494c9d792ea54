//! A gate that threads pass in the order in which they arrive.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The decision of a [`Gate`] for the first thread of its queue: pass or wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn<T> {
    /// The thread passes, with this result.
    Pass(T),
    /// The thread waits until the gate's state has changed, or until this time, and then tries
    /// again. `None` sets no time.
    Wait(Option<Instant>),
}

/// A queue that threads pass in order of arrival, each when a shared state permits it. For example,
/// the state is a count of free places, and the first thread waits while the count is 0.
///
/// Only the first thread is woken, so a long queue does not slow down the threads that pass.
#[derive(Default)]
pub struct Gate<S> {
    inner: Mutex<Inner<S>>,
}

#[derive(Default)]
struct Inner<S> {
    state: S,
    queue: VecDeque<Arc<Seat>>,
}

/// A thread's place in the queue of a [`Gate`]. The flags change only under the gate's lock. No two
/// threads wait at one place: it is woken for one, and leaves the queue with it.
#[derive(Debug, Default)]
pub(crate) struct Seat {
    woken: Condvar,
    queued: AtomicBool,
    /// The thread does something else between two waits, so that others pass it over.
    away: AtomicBool,
    ended: AtomicBool,
}

impl<S> fmt::Debug for Gate<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("waiting", &self.waiting())
            .finish_non_exhaustive()
    }
}

impl<S> Gate<S> {
    /// Creates a gate with the state `state` and no waiting threads.
    pub fn new(state: S) -> Gate<S> {
        let queue = VecDeque::new();
        Gate {
            inner: Mutex::new(Inner { state, queue }),
        }
    }

    /// Waits until this thread is first in the queue and `attempt` lets it pass. Returns the value
    /// in [`Turn::Pass`], or `None` if the thread has not passed by the time `until`. With `None`
    /// as `until`, the wait has no time limit.
    ///
    /// Once the thread is first, `attempt` is called with the state, and may change it. If it
    /// returns [`Turn::Wait`], it is called again after each change of the state, and at the time
    /// in [`Turn::Wait`].
    pub fn pass<T>(
        &self,
        until: Option<Instant>,
        attempt: impl FnMut(&mut S) -> Turn<T>,
    ) -> Option<T> {
        self.pass_from(None, until, attempt)
    }

    /// Like [`Gate::pass`]. A thread with a `seat` keeps its place in the queue when it has not
    /// passed, until [`Gate::leave`]. Until it waits again, the threads behind it pass it over. Its
    /// wait also ends at [`Gate::end`].
    pub(crate) fn pass_from<T>(
        &self,
        seat: Option<&Arc<Seat>>,
        until: Option<Instant>,
        mut attempt: impl FnMut(&mut S) -> Turn<T>,
    ) -> Option<T> {
        let mut inner = self.lock();
        let mut me = seat.cloned();
        if let Some(me) = &me {
            me.away.store(false, Ordering::Relaxed);
        }
        loop {
            let ended = |me: &Arc<Seat>| me.ended.load(Ordering::Relaxed);
            if me.as_ref().is_some_and(ended) {
                return None;
            }
            let mut wake = until;
            let first = match (&me, inner.waiting().next()) {
                (_, None) => true,
                (Some(me), Some(first)) => Arc::ptr_eq(me, first),
                (None, Some(_)) => false,
            };
            if first {
                match attempt(&mut inner.state) {
                    Turn::Pass(value) => {
                        inner.leave(me.as_ref());
                        return Some(value);
                    }
                    Turn::Wait(at) => wake = earlier(at, until),
                }
            }
            let now = Instant::now();
            if until.is_some_and(|until| until <= now) {
                match seat {
                    Some(seat) => inner.give_way(seat),
                    None => inner.leave(me.as_ref()),
                }
                return None;
            }
            let me = me.get_or_insert_default();
            if !me.queued.swap(true, Ordering::Relaxed) {
                inner.queue.push_back(me.clone());
            }
            inner = match wake {
                None => {
                    let waited = me.woken.wait(inner);
                    waited.unwrap_or_else(PoisonError::into_inner)
                }
                Some(wake) => {
                    let left = wake.saturating_duration_since(now);
                    let waited = me.woken.wait_timeout(inner, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Takes `seat` out of the queue, and ends the wait of its thread and all its later waits.
    pub(crate) fn end(&self, seat: &Arc<Seat>) {
        let mut inner = self.lock();
        seat.ended.store(true, Ordering::Relaxed);
        seat.woken.notify_one();
        inner.leave(Some(seat));
    }

    /// Takes `seat` out of the queue.
    pub(crate) fn leave(&self, seat: &Arc<Seat>) {
        self.lock().leave(Some(seat));
    }

    /// Calls `change` on the gate's state, lets the first waiting thread try again, and returns the
    /// result of `change`.
    pub fn change<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        let mut inner = self.lock();
        let done = change(&mut inner.state);
        inner.wake();
        done
    }

    /// The number of threads that wait at the gate.
    pub fn waiting(&self) -> usize {
        self.lock().waiting().count()
    }

    fn lock(&self) -> MutexGuard<'_, Inner<S>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Inner<S> {
    /// The threads that wait, in order.
    fn waiting(&self) -> impl Iterator<Item = &Arc<Seat>> {
        let waits = |seat: &&Arc<Seat>| !seat.away.load(Ordering::Relaxed);
        self.queue.iter().filter(waits)
    }

    /// Lets the others pass over `seat`, and wakes the first of them.
    fn give_way(&self, seat: &Seat) {
        seat.away.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// Removes a thread from the queue, and wakes the first.
    fn leave(&mut self, me: Option<&Arc<Seat>>) {
        if let Some(me) = me
            && me.queued.swap(false, Ordering::Relaxed)
        {
            self.queue.retain(|other| !Arc::ptr_eq(other, me));
        }
        self.wake();
    }

    fn wake(&self) {
        if let Some(first) = self.waiting().next() {
            first.woken.notify_one();
        }
    }
}

fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
