//! Binding threads to cores.

use std::io;
use std::thread;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Returns the numbers of the cores on which the operating system may run this thread.
///
/// # Errors
/// Errors of the operating system.
pub fn usable_cores() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|core| set.is_set(*core))
        .collect())
}

/// Binds this thread to the core with the operating system's number `core`.
///
/// # Errors
/// Errors of the operating system, for example when the core is no longer usable.
pub fn pin(core: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    Ok(sched_setaffinity(None, &set)?)
}

/// Calls `work` on a new thread that is bound to the core with the number `core`, and returns its
/// result. Threads that `work` starts are bound to the same core.
///
/// # Errors
/// Errors of [`pin`], and an error if `work` panics.
pub fn on_core<T: Send>(core: usize, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let bound = scope.spawn(move || pin(core).map(|()| work()));
        match bound.join() {
            Ok(done) => done,
            Err(_) => Err(io::Error::other(
                "the work on the thread bound to a core has panicked",
            )),
        }
    })
}
