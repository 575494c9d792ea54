//! The threads that run the traces and handlers of gRPC requests.
//!
//! A client has one connection for all its calls, and handlers may block, so requests are not
//! answered on the connection's thread. There are as many threads as requests at once, up to a
//! limit; beyond it requests wait in a queue that is bounded, too.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

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
///
/// To wake a thread costs more than to answer a small request, and one that is awake may take all
/// the work before another comes. So there is one thread at most that was called and has not come
/// yet; when it comes and takes work, it calls the next if more is waiting. A handler that blocks
/// holds nobody up: whenever work waits, a thread is on its way or all there may be are busy.
pub(crate) struct Workers {
    most: usize,
    scope: Arc<ThreadScope>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Work>,
    threads: usize,
    /// Threads without work. The one that waits for the shortest time is called first: its stack is
    /// in the caches, and the others come to the end of their patience.
    idle: Vec<Thread>,
    /// Whether a thread was called or made and has not looked at the queue since.
    coming: bool,
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
        let called = self.call(&mut state);
        if state.threads == 0 {
            state.queue.pop_back();
            return Err(Full);
        }
        drop(state);
        if let Some(thread) = called {
            thread.unpark();
        }
        Ok(())
    }

    /// Has a thread come for the work that waits, unless one is on its way. The one that is
    /// returned is to be woken, once nobody holds the state.
    #[must_use]
    fn call(self: &Arc<Self>, state: &mut State) -> Option<Thread> {
        if state.coming || state.queue.is_empty() {
            return None;
        }
        let idle = state.idle.pop();
        state.coming = idle.is_some();
        if idle.is_none() && state.threads < self.most {
            let workers = self.clone();
            let spawned = thread::Builder::new()
                .name("accelflow-worker".to_owned())
                .stack_size(STACK_BYTES)
                .spawn(move || (workers.scope)(&mut || workers.serve()));
            // Otherwise those that there are will come to it.
            if spawned.is_ok() {
                state.threads += 1;
                state.coming = true;
            }
        }
        idle
    }

    fn serve(self: &Arc<Self>) {
        self.state().coming = false;
        while let Some(work) = self.next() {
            // A handler's panic is dealt with where it is called; nothing may end the thread.
            let _ = catch_unwind(AssertUnwindSafe(work));
        }
    }

    fn next(self: &Arc<Self>) -> Option<Work> {
        let mut state = self.state();
        loop {
            if let Some(work) = state.queue.pop_front() {
                let called = self.call(&mut state);
                drop(state);
                if let Some(thread) = called {
                    thread.unpark();
                }
                return Some(work);
            }
            if state.closed {
                break;
            }
            state.idle.push(thread::current());
            drop(state);
            let since = Instant::now();
            thread::park_timeout(PATIENCE);
            state = self.state();
            let me = thread::current().id();
            match state.idle.iter().position(|idle| idle.id() == me) {
                None => state.coming = false,
                // Nobody has called.
                Some(place) => {
                    state.idle.remove(place);
                    if since.elapsed() >= PATIENCE && state.queue.is_empty() {
                        break;
                    }
                }
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
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        drop(dropped);
        for thread in idle {
            thread.unpark();
        }
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
