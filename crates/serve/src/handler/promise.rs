//! Promises of answers, for handlers that return before they have the answer.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::oneshot;

use super::form::LaterForm;
use super::pending::{Kept, Pending, Waiting};
use super::returned::{Made, Returned, check, returned};
use super::value::HandlerError;

/// A promise to answer a request later, for a handler that returns before it has the answer
/// ([`Request::later`](crate::Request::later)). If the promise is dropped without an answer, the
/// client gets INTERNAL_ERROR, in gRPC the status UNKNOWN.
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
    /// Creates a promise of a value of about `size` bytes. The value has the form `form`, or is
    /// JSON text if that is `None`.
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

    /// Encodes `value` as the result of the promised request, like
    /// [`Request::returns`](crate::Request::returns).
    pub fn returns<T: Serialize + ?Sized>(&self, value: &T) -> Returned {
        returned(self.form.as_ref().map(LaterForm::form), self.size, value)
    }

    /// Like [`Request::check_result`](crate::Request::check_result).
    ///
    /// # Errors
    /// The reason why `value` does not fit the interface.
    pub fn check_result<T: Serialize + ?Sized>(
        &self,
        field: &str,
        value: &T,
    ) -> Result<(), String> {
        check(self.form.as_ref().map(LaterForm::form), field, value)
    }

    /// States the processor time that other threads have used to make the answer, for recordings.
    /// Without this statement, the whole time until the answer counts as work if the handler has
    /// started no traces. Call this method before [`Promise::keep`].
    pub fn worked(&self, spent: Duration) {
        self.waiting.worked(spent);
    }

    /// Keeps the promise: sends `answer` to the client. Does nothing if the client no longer waits.
    /// An `answer` that is itself a promise becomes an error.
    pub fn keep(self, answer: Result<Returned, HandlerError>) {
        self.waiting.answered();
        let answer = match answer {
            Ok(Returned(Made::Now(value))) => Ok(value),
            Ok(Returned(Made::Later(_))) => {
                let why =
                    "the handler has answered the request with another promise to answer later";
                Err(HandlerError::Internal(why.to_owned()))
            }
            Err(error) => Err(error),
        };
        // Sending fails if the client no longer waits.
        let _ = self.sender.send(answer);
    }

    /// Sets `callback`, which is called once if the client stops waiting for the answer: the client
    /// has cancelled the call, its deadline has passed, or its connection is gone. Only gRPC
    /// clients report this. The callback is also called if the promise is dropped without an
    /// answer. A new callback replaces an earlier one.
    ///
    /// If the client has already stopped waiting, `callback` runs at once on this thread, and
    /// otherwise later on the connection's thread. It must not block.
    pub fn when_abandoned(&self, callback: impl FnOnce() + Send + 'static) {
        self.waiting.when_abandoned(Box::new(callback));
    }
}
