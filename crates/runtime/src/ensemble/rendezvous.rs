//! A meeting place for an execution and the value that it waits for. Either may arrive first.

use super::sync::{Mutex, MutexGuard, PoisonError};

/// A place where one waiter `W` waits for one offer `O` without blocking a thread. Whichever
/// arrives second takes both.
///
/// Executions wait here for responses, and arms of a fork for their turn.
pub(super) struct Rendezvous<W, O> {
    state: Mutex<State<W, O>>,
}

enum State<W, O> {
    Empty,
    Waiting(W),
    Offered(O),
    /// Both have met, or the place was closed.
    Closed,
}

impl<W, O> Default for Rendezvous<W, O> {
    fn default() -> Rendezvous<W, O> {
        Rendezvous {
            state: Mutex::new(State::Empty),
        }
    }
}

impl<W, O> Rendezvous<W, O> {
    fn lock(&self) -> MutexGuard<'_, State<W, O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves `waiter` here, or returns it with the offer if there already is one. Drops it once
    /// closed.
    pub(super) fn wait(&self, waiter: W) -> Option<(W, O)> {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Closed) {
            State::Empty => {
                *state = State::Waiting(waiter);
                None
            }
            State::Offered(offer) => Some((waiter, offer)),
            State::Waiting(_) | State::Closed => {
                drop(state);
                drop(waiter);
                None
            }
        }
    }

    /// Leaves `offer` here, or returns it with the waiter if there already is one. Only the first
    /// offer counts.
    pub(super) fn offer(&self, offer: O) -> Option<(W, O)> {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Closed) {
            State::Empty => {
                *state = State::Offered(offer);
                None
            }
            State::Waiting(waiter) => Some((waiter, offer)),
            State::Offered(first) => {
                *state = State::Offered(first);
                None
            }
            State::Closed => None,
        }
    }

    /// Takes the offer, if there is one.
    pub(super) fn take(&self) -> Taken<O> {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Closed) {
            State::Offered(offer) => Taken::Offer(offer),
            State::Closed => Taken::Closed,
            before => {
                *state = before;
                Taken::Nothing
            }
        }
    }

    /// Closes the place. Drops the waiter, now or when it arrives.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        let before = std::mem::replace(&mut *state, State::Closed);
        drop(state);
        drop(before);
    }
}

/// The result of [`Rendezvous::take`].
pub(super) enum Taken<O> {
    Nothing,
    Offer(O),
    Closed,
}
