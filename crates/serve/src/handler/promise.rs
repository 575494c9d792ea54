//! Answers that come after their handler has returned.

use std::fmt;

use serde::Serialize;
use tokio::sync::oneshot;

use super::form::LaterForm;
use super::pending::{Kept, Pending, Waiting};
use super::returned::{Made, Returned, returned};
use super::value::HandlerError;

/// The answer of a handler that returned before it had one
/// ([`Request::later`](crate::Request::later)). A promise that is dropped is answered with
/// INTERNAL_ERROR.
pub struct Promise {
    sender: oneshot::Sender<Kept>,
    waiting: Waiting,
    form: Option<LaterForm>,
    size: usize,
}

impl fmt::Debug for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Promise").finish_non_exhaustive()
    }
}

impl Promise {
    /// Makes a promise of a value of about `size` bytes, in `form` unless it is JSON text.
    pub(crate) fn new(form: Option<LaterForm>, size: usize) -> (Promise, Pending) {
        let (sender, receiver) = oneshot::channel();
        let waiting = Waiting::default();
        let pending = Pending::new(receiver, waiting.clone());
        let promise = Promise {
            sender,
            waiting,
            form,
            size,
        };
        (promise, pending)
    }

    /// Encodes a value, as [`Request::returns`](crate::Request::returns) does.
    pub fn returns<T: Serialize + ?Sized>(&self, value: &T) -> Returned {
        returned(self.form.as_ref().map(LaterForm::form), self.size, value)
    }

    /// Answers the request. Does nothing if the client no longer waits.
    pub fn keep(self, answer: Result<Returned, HandlerError>) {
        self.waiting.answered();
        let answer = match answer {
            Ok(Returned(Made::Now(value))) => Ok(value),
            Ok(Returned(Made::Later(_))) => {
                let why = "the handler has kept its promise with another promise";
                Err(HandlerError::Internal(why.to_owned()))
            }
            Err(error) => Err(error),
        };
        // Sending fails if the client no longer waits.
        let _ = self.sender.send(answer);
    }

    /// Calls `callback` once when the client no longer waits for the answer: it has cancelled the
    /// call, its deadline has passed, or its connection is gone. If the client has already stopped
    /// waiting, calls it at once. The callback runs on the connection's thread and must not block
    /// it.
    pub fn when_abandoned(&self, callback: impl FnOnce() + Send + 'static) {
        self.waiting.when_abandoned(Box::new(callback));
    }
}
