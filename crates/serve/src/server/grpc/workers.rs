//! The threads that run the traces and handlers of gRPC requests.
//!
//! A client has one connection for all its calls, and handlers may block, so requests are not
//! answered on the connection's thread. Each concurrent request has a thread, up to a limit.
//! Further requests wait in a fair and bounded queue.
//!
//! While all these threads are busy, additional threads, at most the same number again, run only
//! requests of connections for which no other thread runs now, so that one client's blocking
//! handlers do not delay other clients. A tenant with many connections could occupy the additional
//! threads too. So one further thread per tenant runs only requests of tenants for which no other
//! thread runs now.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::fair::{Eligible, FairQueue, Flow, Full};
use crate::server::thread_scope::ThreadScope;

/// A request's work.
pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// The time that an idle thread waits for work before it ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of requests that may wait per thread.
const WAITING_PER_THREAD: usize = 64;

/// The stack of a worker, which parses and writes nested messages by recursion.
const STACK_BYTES: usize = 2 * 1024 * 1024;

/// A bounded number of threads with a bounded and fair queue.
///
/// Waking a thread costs more than answering a small request, and a running thread may take all the
/// work before another wakes. So at most one woken thread is about to take work at a time. When it
/// takes work and more is waiting, it wakes the next. A blocking handler does not delay other work,
/// since a thread is always about to take any work that may have one.
pub(crate) struct Workers {
    /// The number of threads that all connections share.
    most: usize,
    /// The number of tenants; 0 for a server without tenants.
    tenants: usize,
    scope: Arc<ThreadScope>,
    state: Mutex<State>,
}

struct State {
    queue: FairQueue<Work>,
    /// The number of requests that run.
    running: usize,
    threads: usize,
    /// Threads without work. The thread that became idle last is woken first, since its stack is
    /// still in the caches. The others can then time out.
    idle: Vec<Thread>,
    /// Whether a thread was woken or started and has not looked at the queue since.
    coming: bool,
    closed: bool,
}

impl Workers {
    pub(crate) fn new(most: usize, tenants: usize, scope: Arc<ThreadScope>) -> Workers {
        let most = most.clamp(1, usize::MAX / (2 * WAITING_PER_THREAD));
        let state = State {
            queue: FairQueue::new(most * WAITING_PER_THREAD),
            running: 0,
            threads: 0,
            idle: Vec::new(),
            coming: false,
            closed: false,
        };
        Workers {
            most,
            tenants,
            scope,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on a thread. Work is dropped if it is refused, if another request replaces it in
    /// a full queue, or if it still waits when the workers are closed.
    pub(crate) fn submit(self: &Arc<Self>, flow: Flow, work: Work) -> Result<(), Full> {
        let mut state = self.state();
        if state.closed {
            return Err(Full);
        }
        let pushed_out = state.queue.push(flow, work)?;
        let called = self.call(&mut state);
        let undone = match state.threads {
            0 => state.queue.clear(),
            _ => Vec::new(),
        };
        drop(state);
        drop(pushed_out);
        if let Some(thread) = called {
            thread.unpark();
        }
        match undone.is_empty() {
            true => Ok(()),
            false => Err(Full),
        }
    }

    /// Returns which requests the next thread may take.
    fn eligible(&self, state: &State) -> Option<Eligible> {
        let (shared, reserved) = (self.most, 2 * self.most);
        match state.running {
            running if running < shared => Some(Eligible::Anyone),
            running if running < reserved => Some(Eligible::ConnectionsWithout),
            running if running < reserved + self.tenants => Some(Eligible::TenantsWithout),
            _ => None,
        }
    }

    /// Whether the workers are closed and have dropped waiting work.
    pub(crate) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Finds or starts a thread for waiting work, unless one is already about to take it. The
    /// caller must wake the returned thread once it has released the state.
    #[must_use]
    fn call(self: &Arc<Self>, state: &mut State) -> Option<Thread> {
        let eligible = self.eligible(state)?;
        if state.coming || !state.queue.has_next(eligible) {
            return None;
        }
        let idle = state.idle.pop();
        state.coming = idle.is_some();
        if idle.is_none() && state.threads < 2 * self.most + self.tenants {
            let workers = self.clone();
            let spawned = thread::Builder::new()
                .name("accelflow-worker".to_owned())
                .stack_size(STACK_BYTES)
                .spawn(move || (workers.scope)(&mut || workers.serve()));
            // If the system refuses a new thread, the existing ones will do the work.
            if spawned.is_ok() {
                state.threads += 1;
                state.coming = true;
            }
        }
        idle
    }

    fn serve(self: &Arc<Self>) {
        self.state().coming = false;
        let mut done = None;
        while let Some((flow, work)) = self.next(done.take()) {
            let begun = Instant::now();
            // Panics of handlers are caught where they are called; no other may end the thread.
            let _ = catch_unwind(AssertUnwindSafe(work));
            done = Some((flow, begun.elapsed()));
        }
    }

    /// Waits for work. `done` has the flow and duration of the work that this thread has just
    /// finished.
    fn next(self: &Arc<Self>, done: Option<(Flow, Duration)>) -> Option<(Flow, Work)> {
        let mut state = self.state();
        if let Some((flow, spent)) = done {
            state.queue.end(flow, spent);
            state.running -= 1;
        }
        loop {
            let next = self
                .eligible(&state)
                .and_then(|eligible| state.queue.pop(eligible));
            if let Some(next) = next {
                state.running += 1;
                let called = self.call(&mut state);
                drop(state);
                if let Some(thread) = called {
                    thread.unpark();
                }
                return Some(next);
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
                // The wait timed out, or the thread woke spuriously: it is still idle.
                Some(place) => {
                    state.idle.remove(place);
                    if since.elapsed() >= PATIENCE {
                        break;
                    }
                }
            }
        }
        state.threads -= 1;
        None
    }

    /// Refuses further work and drops waiting work.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let dropped = state.queue.clear();
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

    fn workers(most: usize, tenants: usize) -> Arc<Workers> {
        Arc::new(Workers::new(most, tenants, Arc::new(|serve| serve())))
    }

    fn flow(connection: u64) -> Flow {
        Flow {
            tenant: 0,
            connection,
        }
    }

    #[test]
    fn work_beyond_the_threads_waits_and_beyond_the_queue_is_refused() {
        let workers = workers(2, 0);
        let (begun, begins) = mpsc::channel();
        let (done, ends) = mpsc::channel();
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock().expect("nobody panics");
        let submit = |number: usize| {
            let (gate, begun, done) = (gate.clone(), begun.clone(), done.clone());
            workers.submit(
                flow(0),
                Box::new(move || {
                    let _ = begun.send(());
                    drop(gate.lock());
                    let _ = done.send(number);
                }),
            )
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
    fn a_connection_that_has_all_threads_leaves_others_one_each() {
        let workers = workers(2, 0);
        let (begun, begins) = mpsc::channel();
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock().expect("nobody panics");
        let block = |connection: u64| {
            let (gate, tell) = (gate.clone(), begun.clone());
            let work = move || {
                let _ = tell.send(connection);
                drop(gate.lock());
            };
            assert_eq!(workers.submit(flow(connection), Box::new(work)), Ok(()));
        };
        let begun = |count: usize| {
            let next = |_| begins.recv().expect("it has a thread");
            let mut connections: Vec<u64> = (0..count).map(next).collect();
            connections.sort_unstable();
            connections
        };
        [0, 0, 0, 0].into_iter().for_each(block);
        // Two threads that anybody may have.
        assert_eq!(begun(2), [0, 0]);
        [1, 1, 2].into_iter().for_each(block);
        // And one for each of those who came later.
        assert_eq!(begun(2), [1, 2]);
        drop(closed);
        assert_eq!(begun(3), [0, 0, 1]);
    }

    #[test]
    fn a_tenant_with_many_connections_leaves_other_tenants_a_thread_each() {
        let workers = workers(2, 3);
        let (begun, begins) = mpsc::channel();
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock().expect("nobody panics");
        let block = |flow: Flow| {
            let (gate, tell) = (gate.clone(), begun.clone());
            let work = move || {
                let _ = tell.send(flow.tenant);
                drop(gate.lock());
            };
            assert_eq!(workers.submit(flow, Box::new(work)), Ok(()));
        };
        let next = || begins.recv().expect("it has a thread");
        for connection in 0..9 {
            block(flow(connection));
        }
        assert_eq!([(); 4].map(|()| next()), [0; 4]);
        for tenant in [1, 1, 2] {
            let connection = 10;
            block(Flow { tenant, connection });
        }
        let mut others = [(); 2].map(|()| next());
        others.sort_unstable();
        assert_eq!(others, [1, 2]);
        drop(closed);
        let mut rest = [(); 6].map(|()| next());
        rest.sort_unstable();
        assert_eq!(rest, [0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn a_panic_ends_no_thread_and_closing_drops_what_waits() {
        let workers = workers(1, 0);
        let submitted = workers.submit(flow(0), Box::new(|| panic!("on purpose")));
        assert_eq!(submitted, Ok(()));
        let (sender, receiver) = mpsc::channel();
        let work = Box::new(move || sender.send(7).expect("it is awaited"));
        let submitted = workers.submit(flow(0), work);
        assert_eq!((submitted, receiver.recv()), (Ok(()), Ok(7)));
        workers.close();
        assert_eq!(workers.submit(flow(0), Box::new(|| ())), Err(Full));
    }
}
