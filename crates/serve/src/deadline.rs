//! Until when the request that a thread handles must be answered.

use std::cell::Cell;
use std::time::Instant;

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
