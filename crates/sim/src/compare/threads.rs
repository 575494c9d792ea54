//! Worker threads, and a caller that reports the progress while they work.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// Time between two calls of `progress`: short enough for a person who waits.
const BETWEEN_REPORTS: Duration = Duration::from_millis(50);

/// Calls `work` on `threads` threads, with true on the first. Calls `report` several times a
/// second, and when all have ended.
pub(super) fn on_threads(threads: usize, work: &(dyn Fn(bool) + Sync), mut report: impl FnMut()) {
    std::thread::scope(|scope| {
        let (working, ended) = mpsc::channel::<()>();
        for number in 0..threads {
            let working = working.clone();
            scope.spawn(move || {
                work(number == 0);
                drop(working);
            });
        }
        drop(working);
        until_ended(&ended, &mut report);
    });
    report();
}

/// Calls `report` several times a second until all senders of `ended` are gone.
pub(super) fn until_ended(ended: &Receiver<()>, mut report: impl FnMut()) {
    while ended.recv_timeout(BETWEEN_REPORTS) == Err(RecvTimeoutError::Timeout) {
        report();
    }
}
