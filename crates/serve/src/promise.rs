//! Answers that come after their handler has returned.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use serde::Serialize;
use tokio::sync::oneshot;

use crate::handler::{HandlerError, LaterForm, Made, Returned, Value, returned};

type Kept = Result<Returned, HandlerError>;

/// Where the answer of a handler goes that returned before it had one ([`Request::later`](crate::Request::later)).
/// A promise that is dropped is answered with INTERNAL_ERROR.
pub struct Promise {
    sender: oneshot::Sender<Kept>,
    told: Arc<Mutex<Told>>,
    form: Option<LaterForm>,
    size: usize,
}

impl fmt::Debug for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Promise").finish_non_exhaustive()
    }
}

/// Whoever is to be told that nobody waits any more.
#[derive(Default)]
enum Told {
    #[default]
    Nobody,
    Somebody(Box<dyn FnOnce() + Send>),
    /// Nobody waits.
    Over,
}

fn lock(told: &Mutex<Told>) -> MutexGuard<'_, Told> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Promise {
    /// One whose value has a form, if it is not JSON, and about this size.
    pub(crate) fn new(form: Option<LaterForm>, size: usize) -> (Promise, Pending) {
        let (sender, receiver) = oneshot::channel();
        let told = Arc::<Mutex<Told>>::default();
        let pending = Pending {
            receiver,
            waits: Waits(told.clone()),
        };
        let promise = Promise {
            sender,
            told,
            form,
            size,
        };
        (promise, pending)
    }

    /// As [`Request::returns`](crate::Request::returns).
    pub fn returns<T: Serialize + ?Sized>(&self, value: &T) -> Returned {
        returned(self.form.as_ref().map(LaterForm::form), self.size, value)
    }

    /// Answers the request. Nothing happens if nobody waits any more.
    pub fn keep(self, answer: Result<Returned, HandlerError>) {
        *lock(&self.told) = Told::Over;
        let _ = self.sender.send(answer);
    }

    /// Has `tell` called, once, when nobody waits for the answer any more: the client has cancelled the call,
    /// its deadline has passed or its connection is gone. If that is so already it is called at
    /// once. It is called on the connection's thread, which it must not hold up.
    pub fn when_abandoned(&self, tell: impl FnOnce() + Send + 'static) {
        let mut told = lock(&self.told);
        if let Told::Over = *told {
            drop(told);
            return tell();
        }
        *told = Told::Somebody(Box::new(tell));
    }
}

/// The other end of a [`Promise`]: what a handler returned is still to come.
pub(crate) struct Pending {
    receiver: oneshot::Receiver<Kept>,
    waits: Waits,
}

/// Tells, when it is dropped, that nobody waits any more.
struct Waits(Arc<Mutex<Told>>);

impl Drop for Waits {
    fn drop(&mut self) {
        let told = std::mem::replace(&mut *lock(&self.0), Told::Over);
        if let Told::Somebody(tell) = told {
            tell();
        }
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

/// The value that a promise was kept by.
fn value(kept: Result<Kept, oneshot::error::RecvError>) -> Result<Value, HandlerError> {
    let internal = |why: &str| Err(HandlerError::Internal(why.to_owned()));
    match kept {
        Ok(Ok(Returned(Made::Now(value)))) => Ok(value),
        Ok(Ok(Returned(Made::Later(_)))) => internal("the handler has kept a promise by another"),
        Ok(Err(error)) => Err(error),
        Err(_) => internal("the handler has promised an answer and given none"),
    }
}

impl Pending {
    /// Waits on this thread.
    pub(crate) fn wait(self) -> Result<Value, HandlerError> {
        let Pending { receiver, waits } = self;
        let kept = receiver.blocking_recv();
        drop(waits);
        value(kept)
    }
}

impl Future for Pending {
    type Output = Result<Value, HandlerError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.receiver).poll(cx).map(value)
    }
}
