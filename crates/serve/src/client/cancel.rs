//! Cancellation of a client's calls from another thread, or by a check of the waiting thread.

use std::cell::RefCell;
use std::net::{Shutdown, TcpStream};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use accelflow_runtime::{RunningTrace, TenantBusy, TurnEnder};

use crate::scope::current_limit;

/// A waiting call, which [`Cancel`] can wake.
pub(super) trait Wait: Send + Sync {
    /// Ends the wait, and all later waits.
    fn wake(&self);
}

impl Wait for TcpStream {
    fn wake(&self) {
        // Fails for a socket that is not connected; a wait for that wakes by itself.
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Wait for TurnEnder {
    fn wake(&self) {
        self.end();
    }
}

/// A handle with which any thread can cancel client calls: those whose
/// [`CallOptions::cancel`](super::CallOptions) is this handle or a clone of it.
///
/// A cancelled call fails with [`CallError::Cancelled`](super::CallError::Cancelled), or with
/// [`CallError::Repeated`](super::CallError::Repeated) after an attempt that the service may have
/// executed. The service may or may not have executed the call. Thrift and HTTP clients close the
/// call's connection, and a gRPC client resets only the call's stream.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    waits: Mutex<Waits>,
}

#[derive(Default)]
struct Waits {
    next: u64,
    current: Vec<(u64, Arc<dyn Wait>)>,
}

impl Cancel {
    /// Creates a handle, which cancels nothing until [`Cancel::cancel`] is called.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Cancels all calls made with this handle or a clone of it, both running and future calls.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        for (_, wait) in &self.lock().current {
            wait.wake();
        }
    }

    /// Returns whether [`Cancel::cancel`] was called on this handle or a clone of it.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Does `work`. If this handle is cancelled before the end of `work`, also cancels `other`.
    pub fn passing_on<T>(&self, other: &Cancel, work: impl FnOnce() -> T) -> T {
        let _watch = self.watch(Arc::new(other.clone()));
        work()
    }

    /// Wakes `wait` if the call is cancelled before the returned guard is dropped.
    pub(super) fn watch(&self, wait: Arc<dyn Wait>) -> Watch<'_> {
        let mut waits = self.lock();
        let number = waits.next;
        waits.next += 1;
        if self.is_cancelled() {
            wait.wake();
        }
        waits.current.push((number, wait));
        Watch {
            cancel: self,
            number,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.0.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wait for Cancel {
    fn wake(&self) {
        self.cancel();
    }
}

impl std::fmt::Debug for Cancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

/// The guard of a wait that a [`Cancel`] can end.
pub(super) struct Watch<'c> {
    cancel: &'c Cancel,
    number: u64,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut waits = self.cancel.lock();
        waits.current.retain(|(number, _)| *number != self.number);
    }
}

/// The time between two checks of [`checking`].
const CHECK_PERIOD: Duration = Duration::from_millis(50);

thread_local! {
    static CHECK: RefCell<Option<Rc<dyn Fn()>>> = const { RefCell::new(None) };
}

/// Does `work`, and calls `check` every 50 ms while a client call waits in `work` on this thread.
///
/// To end the call, `check` calls [`Cancel::cancel`] on the handle in the call's
/// [`CallOptions`](super::CallOptions). This function is for threads that must look for signals or
/// other events while they wait. `check` is not called during TLS handshakes of Thrift and HTTP
/// clients. It may make client calls, during whose waits it is not called. While `check` runs, the
/// tenant's other calls, and those that `check` makes, pass over a call that waits for its tenant,
/// which keeps its place.
pub fn checking<T>(check: Rc<dyn Fn()>, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(CHECK.replace(Some(check)));
    work()
}

/// The guard of a change of this thread's check, which holds the check from before.
struct Restore(Option<Rc<dyn Fn()>>);

impl Drop for Restore {
    fn drop(&mut self) {
        CHECK.set(self.0.take());
    }
}

/// Makes the check of [`checking`], if this thread has one.
pub(super) fn check() {
    // A call that the check makes would otherwise check again within the check, and so on.
    let made = Restore(CHECK.take());
    if let Some(check) = &made.0 {
        check();
    }
}

/// Returns the time at which a wait until `deadline` makes its next check.
pub(super) fn next_check(deadline: Instant) -> Instant {
    match CHECK.with_borrow(Option::is_some) {
        true => deadline.min(Instant::now() + CHECK_PERIOD),
        false => deadline,
    }
}

/// A slot in which one thread waits for a value.
pub(super) struct Slot<T> {
    state: Mutex<(Option<T>, bool)>,
    ready: Condvar,
}

/// Why a wait ended.
pub(super) enum Woken<T> {
    Value(T),
    Late,
    Cancelled,
}

impl<T> Slot<T> {
    pub(super) fn new() -> Slot<T> {
        Slot {
            state: Mutex::new((None, false)),
            ready: Condvar::new(),
        }
    }

    pub(super) fn put(&self, value: T) {
        self.lock().0 = Some(value);
        self.ready.notify_one();
    }

    /// Takes the value, if there is one.
    pub(super) fn take(&self) -> Option<T> {
        self.lock().0.take()
    }

    pub(super) fn wait_until(&self, deadline: Instant) -> Woken<T> {
        let mut state = self.lock();
        loop {
            if let Some(value) = state.0.take() {
                return Woken::Value(value);
            }
            if state.1 {
                return Woken::Cancelled;
            }
            let now = Instant::now();
            if now >= deadline {
                return Woken::Late;
            }
            let left = next_check(deadline).saturating_duration_since(now);
            let waited = self.ready.wait_timeout(state, left);
            let (woken, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if waited.timed_out() {
                // Without the lock, since the check may cancel this wait.
                drop(state);
                check();
                state = self.lock();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, (Option<T>, bool)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send> Wait for Slot<T> {
    fn wake(&self) {
        self.lock().1 = true;
        self.ready.notify_one();
    }
}

/// Sleeps; returns whether the sleep was cancelled.
pub(super) fn sleep(time: Duration, cancel: Option<&Cancel>) -> bool {
    let slot = Arc::new(Slot::<()>::new());
    let _watch = cancel.map(|cancel| cancel.watch(slot.clone()));
    matches!(slot.wait_until(Instant::now() + time), Woken::Cancelled)
}

/// Waits like [`begin_chain`](crate::begin_chain), until `cancel` ends the wait, and makes the
/// checks of [`checking`].
pub(super) fn begin_call(
    until: Instant,
    cancel: Option<&Cancel>,
) -> Result<Option<RunningTrace>, TenantBusy> {
    let Some(limit) = current_limit() else {
        return Ok(None);
    };
    // The call keeps its turn during checks, and lets others, such as a call of the check, pass.
    let mut turn = limit.turn();
    let _watch = cancel.map(|cancel| cancel.watch(Arc::new(turn.ender())));
    loop {
        let soon = next_check(until);
        match turn.begin(Some(soon)) {
            Ok(running) => return Ok(Some(running)),
            Err(busy) if soon >= until || cancel.is_some_and(Cancel::is_cancelled) => {
                return Err(busy);
            }
            Err(_) => check(),
        }
    }
}
