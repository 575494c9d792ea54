//! The threads that run the traces and handlers of gRPC requests.
//!
//! A client has one connection for all its calls, and handlers may block, so requests are not
//! answered on the connection's thread. There are as many threads as requests at once, up to a
//! limit; beyond it requests wait in a queue that is bounded, too.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::server::ThreadScope;

/// A request's work.
pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// How long a thread waits for work before it ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many requests may wait for each thread.
const WAITING_PER_THREAD: usize = 64;

/// The stack of a worker: the deepest message there may be is parsed and written by recursion.
const STACK_BYTES: usize = 2 * 1024 * 1024;

/// A bounded number of threads behind a bounded queue.
pub(crate) struct Workers {
    most: usize,
    scope: Arc<ThreadScope>,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Work>,
    threads: usize,
    idle: usize,
    closed: bool,
}

/// There is no room for more work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Workers {
    pub(crate) fn new(most: usize, scope: Arc<ThreadScope>) -> Workers {
        Workers {
            most: most.max(1),
            scope,
            state: Mutex::default(),
            wake: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has `work` done by a thread. Work that is refused, or still waits when the workers are
    /// closed, is dropped.
    pub(crate) fn submit(self: &Arc<Self>, work: Work) -> Result<(), Full> {
        let mut state = self.state();
        if state.closed || state.queue.len() >= self.most * WAITING_PER_THREAD {
            return Err(Full);
        }
        state.queue.push_back(work);
        if state.queue.len() > state.idle && state.threads < self.most {
            let workers = self.clone();
            let spawned = thread::Builder::new()
                .name("accelflow-worker".to_owned())
                .stack_size(STACK_BYTES)
                .spawn(move || (workers.scope)(&mut || workers.serve()));
            match spawned {
                Ok(_) => state.threads += 1,
                // Those that there are will come to it.
                Err(_) if state.threads > 0 => {}
                Err(_) => {
                    state.queue.pop_back();
                    return Err(Full);
                }
            }
        }
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    fn serve(&self) {
        while let Some(work) = self.next() {
            // A handler's panic is dealt with where it is called; nothing may end the thread.
            let _ = catch_unwind(AssertUnwindSafe(work));
        }
    }

    fn next(&self) -> Option<Work> {
        let mut state = self.state();
        loop {
            if let Some(work) = state.queue.pop_front() {
                return Some(work);
            }
            if state.closed {
                break;
            }
            state.idle += 1;
            let waited = self.wake.wait_timeout(state, PATIENCE);
            let (guard, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
            state = guard;
            state.idle -= 1;
            if timed_out.timed_out() && state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        None
    }

    /// Takes no more work and drops what waits.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let dropped = std::mem::take(&mut state.queue);
        drop(state);
        drop(dropped);
        self.wake.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn workers(most: usize) -> Arc<Workers> {
        Arc::new(Workers::new(most, Arc::new(|serve| serve())))
    }

    #[test]
    fn work_beyond_the_threads_waits_and_beyond_the_queue_is_refused() {
        let workers = workers(2);
        let (begun, begins) = mpsc::channel();
        let (done, ends) = mpsc::channel();
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock().expect("nobody panics");
        let submit = |number: usize| {
            let (gate, begun, done) = (gate.clone(), begun.clone(), done.clone());
            workers.submit(Box::new(move || {
                let _ = begun.send(());
                drop(gate.lock());
                let _ = done.send(number);
            }))
        };
        assert_eq!((submit(0), submit(1)), (Ok(()), Ok(())));
        begins.recv().expect("a thread begins");
        begins.recv().expect("another does");
        for number in 0..2 * WAITING_PER_THREAD {
            assert_eq!(submit(2 + number), Ok(()));
        }
        assert_eq!(submit(0), Err(Full));
        drop(closed);
        let mut got: Vec<usize> = (0..2 + 2 * WAITING_PER_THREAD)
            .map(|_| ends.recv().expect("all work is done"))
            .collect();
        got.sort_unstable();
        assert!(got.iter().copied().eq(0..got.len()));
    }

    #[test]
    fn a_panic_ends_no_thread_and_closing_drops_what_waits() {
        let workers = workers(1);
        let submitted = workers.submit(Box::new(|| panic!("on purpose")));
        assert_eq!(submitted, Ok(()));
        let (sender, receiver) = mpsc::channel();
        let submitted = workers.submit(Box::new(move || sender.send(7).expect("it is awaited")));
        assert_eq!((submitted, receiver.recv()), (Ok(()), Ok(7)));
        workers.close();
        assert_eq!(workers.submit(Box::new(|| ())), Err(Full));
    }
}
