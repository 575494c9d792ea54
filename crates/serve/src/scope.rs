//! The deadline, trace and state of the request that a thread handles, which its own calls keep.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt;

thread_local! {
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
    static ABANDONED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Runs `work` with a deadline for the calls that it makes on this thread: the earlier of
/// `deadline` and the current one.
pub fn with_deadline<T>(deadline: Instant, work: impl FnOnce() -> T) -> T {
    /// Restores the outer deadline, even if `work` panics.
    struct Outer(Option<Instant>);

    impl Drop for Outer {
        fn drop(&mut self) {
            DEADLINE.set(self.0);
        }
    }

    let outer = Outer(DEADLINE.get());
    DEADLINE.set(Some(outer.0.map_or(deadline, |outer| outer.min(deadline))));
    work()
}

/// The deadline of the request that this thread handles, if it has one.
pub fn current_deadline() -> Option<Instant> {
    DEADLINE.get()
}

/// Runs `work` for a request that may be abandoned, so that [`Scope::current`] knows of it.
pub(crate) fn with_abandonment<T>(
    abandoned: Option<&Arc<AtomicBool>>,
    work: impl FnOnce() -> T,
) -> T {
    /// Restores the outer flag, even if `work` panics.
    struct Outer(Option<Arc<AtomicBool>>);

    impl Drop for Outer {
        fn drop(&mut self) {
            ABANDONED.set(self.0.take());
        }
    }

    let Some(abandoned) = abandoned else {
        return work();
    };
    let _outer = Outer(ABANDONED.replace(Some(abandoned.clone())));
    work()
}

/// Whether nobody waits for a request any more: its deadline has passed, or it was abandoned.
pub(crate) fn is_abandoned(deadline: Option<Instant>, abandoned: Option<&Arc<AtomicBool>>) -> bool {
    abandoned.is_some_and(|abandoned| abandoned.load(Ordering::Relaxed))
        || deadline.is_some_and(|deadline| deadline <= Instant::now())
}

/// The parts of a request for other threads that work for it: its deadline, its OpenTelemetry
/// context, and whether it is abandoned.
#[derive(Clone, Debug)]
pub struct Scope {
    deadline: Option<Instant>,
    context: Option<Context>,
    abandoned: Option<Arc<AtomicBool>>,
}

impl Scope {
    /// The scope of the request that this thread handles; `None` if there is nothing to pass on.
    pub fn current() -> Option<Scope> {
        let scope = Scope {
            deadline: current_deadline(),
            context: Context::map_current(|context| {
                context.has_active_span().then(|| context.clone())
            }),
            abandoned: ABANDONED.with_borrow(Clone::clone),
        };
        let some = scope.deadline.is_some() || scope.context.is_some() || scope.abandoned.is_some();
        some.then_some(scope)
    }

    /// Whether the client no longer waits; see
    /// [`Request::is_abandoned`](crate::Request::is_abandoned).
    pub fn is_abandoned(&self) -> bool {
        is_abandoned(self.deadline, self.abandoned.as_ref())
    }

    /// Runs `work` as if this thread handled the request.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        let _attached = self
            .context
            .as_ref()
            .map(|context| context.clone().attach());
        let work = || with_abandonment(self.abandoned.as_ref(), work);
        match self.deadline {
            Some(deadline) => with_deadline(deadline, work),
            None => work(),
        }
    }

    /// The time until the request's deadline, if it has one.
    pub fn time_left(&self) -> Option<Duration> {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.deadline.map(left)
    }
}
