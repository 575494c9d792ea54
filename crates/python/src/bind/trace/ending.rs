//! The shutdown of ensembles. Each ensemble is shut down on a separate thread, and the program
//! waits for these threads before it ends.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use accelflow_runtime::Pools;
use pyo3::prelude::*;

/// The time after which a waiting thread checks for signals.
pub(crate) const SIGNALS: Duration = Duration::from_millis(50);

/// The number of ensembles that are about to end, and the process that ends them.
static ENDING: Mutex<(u32, usize)> = Mutex::new((0, 0));
static ENDED: Condvar = Condvar::new();

fn ending() -> MutexGuard<'static, (u32, usize)> {
    ENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process is a fork of `process`, without its threads.
pub(crate) fn is_fork_of(process: u32) -> bool {
    std::process::id() != process
}

/// An ensemble that is about to end; dropped once it has ended.
struct Counted;

impl Counted {
    fn new() -> Counted {
        let mut ending = ending();
        if is_fork_of(ending.0) {
            *ending = (std::process::id(), 0);
        }
        ending.1 += 1;
        Counted
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ending().1 -= 1;
        ENDED.notify_all();
    }
}

/// Ends the pools on a thread of its own, which waits for the runs in progress. The receiver is
/// disconnected when the pools have ended. The caller must not hold the interpreter, which bodies
/// in Python need to end.
pub(crate) fn end(pools: Arc<Pools>) -> Receiver<()> {
    let (telling, ended) = channel();
    let counted = Counted::new();
    let end = move || {
        drop(pools);
        drop::<(Sender<()>, Counted)>((telling, counted));
    };
    // If no thread can start, dropping `end` ends the pools here.
    let _ = thread::Builder::new().spawn(end);
    ended
}

/// Waits until the pools have ended. What a signal's handler raises ends the wait.
pub(crate) fn wait(py: Python<'_>, ended: Receiver<()>) -> PyResult<()> {
    py.detach(move || {
        while ended.recv_timeout(SIGNALS) == Err(RecvTimeoutError::Timeout) {
            Python::attach(|py| py.check_signals())?;
        }
        Ok(())
    })
}

/// Waits until all ensembles that were closed, or are no longer used, have ended.
///
/// A body must not run any more when the interpreter ends. What a signal's handler raises, such as
/// KeyboardInterrupt, ends the wait.
#[pyfunction]
pub(crate) fn await_ended_ensembles(py: Python<'_>) -> PyResult<()> {
    loop {
        let is_over = py.detach(|| {
            let ending = ending();
            if is_fork_of(ending.0) || ending.1 == 0 {
                return true;
            }
            drop(ENDED.wait_timeout(ending, SIGNALS));
            false
        });
        if is_over {
            return Ok(());
        }
        py.check_signals()?;
    }
}
