//! Binds threads to cores.

use std::io;
use std::thread;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Returns the cores on which this thread may run, as the numbers that the operating system gives
/// them: those below 1,024, in ascending order.
///
/// # Errors
/// The errors of the operating system.
pub fn usable_cores() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|core| set.is_set(*core))
        .collect())
}

/// Binds this thread to the core with the number `core` in the operating system.
///
/// # Errors
/// The errors of the operating system, for example because this thread may not run on the core.
///
/// # Panics
/// If `core` is 1,024 or more.
pub fn pin(core: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    Ok(sched_setaffinity(None, &set)?)
}

/// Calls `work` on a new thread that is bound to the core with the number `core` in the operating
/// system, and returns the result. Threads that `work` starts are bound to the same core.
///
/// # Errors
/// The errors of [`pin`], and an error if `work` panics.
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
