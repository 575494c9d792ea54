//! The server's end of a promise: it waits for the answer that the handler gives later.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;

use super::value::{HandlerError, Value};

/// The answer that fulfils a promise.
pub(crate) type Kept = Result<Value, HandlerError>;

/// Whether the client still waits for the answer, and the callback for the moment when it stops
/// waiting.
#[derive(Default)]
enum Interest {
    #[default]
    Waiting,
    Watched(Box<dyn FnOnce() + Send>),
    Over,
}

/// The state that both ends of a promise share: the interest in the answer, and its cost.
#[derive(Clone, Default)]
pub(crate) struct Waiting {
    interest: Arc<Mutex<Interest>>,
    /// The processor time that other threads have used to make the answer.
    worked: Arc<OnceLock<Duration>>,
}

impl Waiting {
    /// Notes the processor time that other threads have used to make the answer.
    pub(crate) fn worked(&self, spent: Duration) {
        let _ = self.worked.set(spent);
    }

    fn lock(&self) -> MutexGuard<'_, Interest> {
        self.interest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the wait with an answer, without calling the callback.
    pub(crate) fn answered(&self) {
        *self.lock() = Interest::Over;
    }

    /// Calls `callback` when the wait ends without an answer, or at once if it has already ended.
    pub(crate) fn when_abandoned(&self, callback: Box<dyn FnOnce() + Send>) {
        let mut interest = self.lock();
        if let Interest::Over = *interest {
            drop(interest);
            return callback();
        }
        *interest = Interest::Watched(callback);
    }

    /// Ends the wait, and calls the callback if there is one.
    fn abandon(&self) {
        let interest = std::mem::replace(&mut *self.lock(), Interest::Over);
        if let Interest::Watched(callback) = interest {
            callback();
        }
    }
}

/// Ends the wait when it is dropped.
struct AbandonOnDrop(Waiting);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// The waiting end of a [`Promise`](crate::Promise), whose answer has not arrived yet.
pub(crate) struct Pending {
    receiver: oneshot::Receiver<Kept>,
    wait: AbandonOnDrop,
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

impl Pending {
    pub(crate) fn new(receiver: oneshot::Receiver<Kept>, waiting: Waiting) -> Pending {
        Pending {
            receiver,
            wait: AbandonOnDrop(waiting),
        }
    }

    /// The processor time that other threads have used to make the answer, once that has arrived;
    /// `None` before, and if it is not known.
    pub(crate) fn work(&self) -> Arc<OnceLock<Duration>> {
        self.wait.0.worked.clone()
    }

    /// Blocks this thread until the answer arrives.
    pub(crate) fn wait(self) -> Kept {
        let Pending { receiver, wait } = self;
        let answer = receiver.blocking_recv();
        drop(wait);
        kept(answer)
    }
}

impl Future for Pending {
    type Output = Kept;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.receiver).poll(cx).map(kept)
    }
}

fn kept(answer: Result<Kept, oneshot::error::RecvError>) -> Kept {
    answer.unwrap_or_else(|_| {
        let why = "the handler promised to answer later, but dropped the promise without an answer";
        Err(HandlerError::Internal(why.to_owned()))
    })
}
