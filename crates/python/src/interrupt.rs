//! Runs native work on a new thread. The calling thread waits for the result, and a signal such as
//! Ctrl-C ends this wait.

use std::panic::resume_unwind;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors::failure;

/// The time between two checks for signals.
const PERIOD: Duration = Duration::from_millis(50);

/// The size of the working thread's stack: the usual size of a program's first thread.
const STACK_BYTES: usize = 8 << 20;

/// Does `work` in a thread of its own, detached from the interpreter, and returns its result.
///
/// Meanwhile, the calling thread checks for signals, and raises what their handlers raise, such as
/// KeyboardInterrupt. The work then continues to its end in the background, and its result is
/// dropped. So the work must have no other effect, such as writing a file.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = mpsc::channel();
    let thread = thread::Builder::new().stack_size(STACK_BYTES);
    let thread = thread.spawn(move || drop(sender.send(work())));
    let thread = thread.map_err(failure)?;
    loop {
        let receiver = &mut receiver;
        match py.detach(move || receiver.recv_timeout(PERIOD)) {
            Ok(found) => return Ok(found),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                if let Err(panic) = thread.join() {
                    resume_unwind(panic);
                }
                return Err(failure("the thread of this call ended without a result"));
            }
        }
    }
}
