//! What a thread knows of the request that it handles, and calls from there keep.

use std::cell::Cell;
use std::time::{Duration, Instant};

use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt;

thread_local! {
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Runs `work` with a deadline that the calls in it keep, on this thread: the earlier of `deadline`
/// and the one that holds already.
pub fn with_deadline<T>(deadline: Instant, work: impl FnOnce() -> T) -> T {
    /// Puts the outer deadline back, also when `work` panics.
    struct Outer(Option<Instant>);

    impl Drop for Outer {
        fn drop(&mut self) {
            DEADLINE.set(self.0);
        }
    }

    let outer = Outer(DEADLINE.get());
    DEADLINE.set(Some(outer.0.map_or(deadline, |it| it.min(deadline))));
    work()
}

/// The deadline of the request that this thread handles, if it has one.
pub fn current_deadline() -> Option<Instant> {
    DEADLINE.get()
}

/// Deadline and OpenTelemetry context of a request, for other threads that work for it.
#[derive(Clone, Debug)]
pub struct Scope {
    deadline: Option<Instant>,
    context: Option<Context>,
}

impl Scope {
    /// That of the request that this thread handles; none if it has neither.
    pub fn current() -> Option<Scope> {
        let deadline = current_deadline();
        let context = Context::map_current(|it| it.has_active_span().then(|| it.clone()));
        (deadline.is_some() || context.is_some()).then_some(Scope { deadline, context })
    }

    /// Runs `work` as if this thread handled the request.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        let _attached = self.context.as_ref().map(|it| it.clone().attach());
        match self.deadline {
            Some(deadline) => with_deadline(deadline, work),
            None => work(),
        }
    }

    /// How much of the request's time is left, if it has a deadline.
    pub fn time_left(&self) -> Option<Duration> {
        let left = |it: Instant| it.saturating_duration_since(Instant::now());
        self.deadline.map(left)
    }
}
