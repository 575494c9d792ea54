//! The core's handle of a trace that runs in the ensemble.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Failure, TraceError};
use crate::outcome::{Arrival, Conversation, Outcome};

/// How a core learns that a trace has ended (AccelFlow, section IV.A).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notification {
    /// The core sleeps until the end of the trace wakes it: the paper's MWAIT-like instruction.
    #[default]
    Wake,
    /// The core checks for the end of the trace again and again, without sleeping. This keeps a
    /// processor busy. After a few microseconds, the thread yields the processor between checks to
    /// other threads that are ready to run.
    Poll,
    /// The core does other work and checks for the end of the trace once per interval. In this
    /// implementation the thread sleeps between checks.
    Check(Duration),
}

/// The checks of a polling thread that follow one another at once, before the thread offers its
/// processor to others between checks. They take a few microseconds, as short accelerators do.
const SPINS: u32 = 64;

/// The result of a run of a trace that has ended, and the connections that the run used.
#[derive(Debug)]
pub struct Finished {
    /// The outcome of the run, or the error that ended it early.
    pub result: Result<Outcome, Box<Failure>>,
    /// The connections that the run used.
    pub conversation: Conversation,
}

/// The handle of a run of a trace in the ensemble, to wait for the end of the run and get its
/// result. Await the handle or call [`TraceHandle::wait`]. If the handle is dropped, the run
/// continues, and its results are discarded.
pub struct TraceHandle {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for TraceHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceHandle")
            .field("done", &self.is_done())
            .finish_non_exhaustive()
    }
}

/// The state that the run and its handle share.
#[derive(Default)]
pub(super) struct Shared {
    slot: Mutex<Slot>,
    changed: Condvar,
    done: AtomicBool,
}

#[derive(Default)]
struct Slot {
    /// Arrivals before the end of the run.
    early: VecDeque<Arrival>,
    finished: Option<Finished>,
    waker: Option<Waker>,
    /// In the order in which they were given.
    callbacks: Vec<Box<dyn FnOnce() + Send>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies the core of an execution that has ended before others.
    pub(super) fn arrive(&self, arrival: Arrival) {
        self.lock().early.push_back(arrival);
        self.changed.notify_all();
    }

    /// Notifies the core of the end. A panic in a callback is caught.
    pub(super) fn finish(&self, mut finished: Finished) {
        let mut slot = self.lock();
        let early = std::mem::take(&mut slot.early);
        let arrivals = match &mut finished.result {
            Ok(outcome) => &mut outcome.arrivals,
            Err(failure) => &mut failure.arrivals,
        };
        arrivals.splice(..0, early);
        slot.finished = Some(finished);
        let (waker, callbacks) = (slot.waker.take(), std::mem::take(&mut slot.callbacks));
        self.done.store(true, Ordering::Release);
        drop(slot);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
        for callback in callbacks {
            let _ = catch_unwind(AssertUnwindSafe(callback));
        }
    }
}

impl TraceHandle {
    /// Creates the handle of a run that has already ended. With this handle, callers can treat runs
    /// on their own core ([`TraceRequest::run_inline`](super::TraceRequest::run_inline)) like runs
    /// in the ensemble.
    pub fn ended(finished: Finished) -> TraceHandle {
        let shared = Arc::<Shared>::default();
        shared.finish(finished);
        TraceHandle::new(shared)
    }

    pub(super) fn new(shared: Arc<Shared>) -> TraceHandle {
        TraceHandle { shared }
    }

    /// Whether the run has ended, with success or failure.
    pub fn is_done(&self) -> bool {
        self.shared.done.load(Ordering::Acquire)
    }

    /// Waits until the run has ended, and returns its result and connections. If
    /// [`TraceHandle::take`] has already taken them, the result is the error `result_taken`.
    pub fn wait(self) -> Finished {
        self.wait_by(Notification::Wake, None);
        self.take().unwrap_or_else(taken)
    }

    /// Waits until the run has ended, or until the time `until`; with `None`, the wait has no time
    /// limit. Returns whether the run has ended. `notification` states how the thread waits, such
    /// as by sleeping or by polling.
    pub fn wait_by(&self, notification: Notification, until: Option<Instant>) -> bool {
        let late = || until.is_some_and(|until| until <= Instant::now());
        match notification {
            Notification::Wake => self.sleep(until, |_| false),
            Notification::Poll => {
                let mut checks = 0_u32;
                while !self.is_done() && !late() {
                    // The run may need a thread that waits for this core.
                    if checks < SPINS {
                        checks += 1;
                        std::hint::spin_loop();
                    } else {
                        thread::yield_now();
                    }
                }
            }
            Notification::Check(pause) => {
                while !self.is_done() && !late() {
                    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
                    thread::sleep(left.map_or(pause, |left| left.min(pause)));
                }
            }
        }
        self.is_done()
    }

    /// Waits for the next result of the run, and returns it. A run can have several results: the
    /// trace and each of its forks (parallel arms) deliver one when they end. For example, the data
    /// of a read can arrive while a fork still writes to the cache.
    ///
    /// Returns `None` once the run has ended, or at the time `until`. With `None` as `until`, the
    /// wait has no time limit.
    ///
    /// The [`Outcome`] of the run has the results that this function has not returned. If
    /// [`TraceRequest::early`](super::TraceRequest::early) is false, this function returns no
    /// result, and the outcome has all.
    pub fn next_arrival(&self, until: Option<Instant>) -> Option<Arrival> {
        self.sleep(until, |slot| !slot.early.is_empty());
        self.shared.lock().early.pop_front()
    }

    /// Takes the result of the run without waiting. Returns `None` if the run has not ended yet, or
    /// if an earlier call has taken the result.
    pub fn take(&self) -> Option<Finished> {
        self.shared.lock().finished.take()
    }

    /// Calls `callback` when the run ends, or at once if the run has already ended. Callbacks that
    /// wait for the end run one after another, in the order in which they were given. They should
    /// be short, since they run on the thread that ends the run, usually a worker of the last
    /// accelerator. A panic in a callback is caught, and the next one runs.
    pub fn on_done(&self, callback: impl FnOnce() + Send + 'static) {
        let mut slot = self.shared.lock();
        if !self.is_done() {
            slot.callbacks.push(Box::new(callback));
            return;
        }
        drop(slot);
        let _ = catch_unwind(AssertUnwindSafe(callback));
    }

    /// Sleeps until the run has ended, `enough` is true, or the time is `until`.
    fn sleep(&self, until: Option<Instant>, enough: impl Fn(&Slot) -> bool) {
        let mut slot = self.shared.lock();
        while !self.is_done() && !enough(&slot) {
            slot = match until {
                None => {
                    let waited = self.shared.changed.wait(slot);
                    waited.unwrap_or_else(PoisonError::into_inner)
                }
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return;
                    }
                    let waited = self.shared.changed.wait_timeout(slot, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

/// Resolves to the end of the run. It can be awaited once.
impl Future for TraceHandle {
    type Output = Finished;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Finished> {
        let mut slot = self.shared.lock();
        if self.is_done() {
            return Poll::Ready(slot.finished.take().unwrap_or_else(taken));
        }
        slot.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

/// The result of taking the end of a run a second time.
fn taken() -> Finished {
    ended("result_taken", "the results of this run were already taken")
}

/// The end of a run without results.
pub(super) fn ended(reason: &'static str, message: &str) -> Finished {
    let error = TraceError {
        reason,
        trace: String::new(),
        step: None,
        accelerator: None,
        message: message.to_owned(),
    };
    Finished {
        result: Err(Box::new(Failure {
            error,
            visits: Vec::new(),
            arrivals: Vec::new(),
        })),
        conversation: Conversation::default(),
    }
}
