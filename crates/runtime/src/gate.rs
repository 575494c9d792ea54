//! A gate that threads pass in the order in which they came.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What the first in line is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn<T> {
    /// It passes.
    Pass(T),
    /// It waits until the state was changed, or until this time, and asks again.
    Wait(Option<Instant>),
}

/// A state, and a line of threads that wait for it to let them pass.
///
/// Only the first in line is woken, so that a long line costs those who pass nothing.
#[derive(Default)]
pub struct Gate<S> {
    inner: Mutex<Inner<S>>,
}

#[derive(Default)]
struct Inner<S> {
    state: S,
    line: VecDeque<Arc<Condvar>>,
}

impl<S> fmt::Debug for Gate<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("waiting", &self.waiting())
            .finish_non_exhaustive()
    }
}

impl<S> Gate<S> {
    /// A gate nobody waits at.
    pub fn new(state: S) -> Gate<S> {
        let line = VecDeque::new();
        Gate {
            inner: Mutex::new(Inner { state, line }),
        }
    }

    /// Waits to be the first, and then until `attempt` lets it pass; `None` if that is not by
    /// `until`. `attempt` is called again after each change of the state, and when the time has
    /// come that it gave.
    pub fn pass<T>(
        &self,
        until: Option<Instant>,
        mut attempt: impl FnMut(&mut S) -> Turn<T>,
    ) -> Option<T> {
        let mut inner = self.lock();
        let mut me = None;
        loop {
            let mut wake = until;
            let first = match (&me, inner.line.front()) {
                (None, None) => true,
                (Some(me), Some(front)) => Arc::ptr_eq(me, front),
                _ => false,
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
                inner.leave(me.as_ref());
                return None;
            }
            let place = me.get_or_insert_with(|| {
                let place = Arc::<Condvar>::default();
                inner.line.push_back(place.clone());
                place
            });
            inner = match wake {
                None => place.wait(inner).unwrap_or_else(PoisonError::into_inner),
                Some(wake) => {
                    let left = wake.saturating_duration_since(now);
                    let waited = place.wait_timeout(inner, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Changes the state, and lets the first in line ask again.
    pub fn change<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        let mut inner = self.lock();
        let done = change(&mut inner.state);
        inner.wake();
        done
    }

    /// How many threads wait.
    pub fn waiting(&self) -> usize {
        self.lock().line.len()
    }

    fn lock(&self) -> MutexGuard<'_, Inner<S>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Inner<S> {
    /// Takes a thread out of the line, which may have a new first then.
    fn leave(&mut self, me: Option<&Arc<Condvar>>) {
        if let Some(me) = me {
            self.line.retain(|other| !Arc::ptr_eq(other, me));
        }
        self.wake();
    }

    fn wake(&self) {
        if let Some(first) = self.line.front() {
            first.notify_one();
        }
    }
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
