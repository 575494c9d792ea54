//! The thread that watches the sockets and timers of all gRPC connections of a server.
//!
//! A separate runtime for each connection would need three file descriptors: two of epoll, and one
//! that wakes the runtime. So each connection's thread runs the connection's tasks itself. The
//! watching thread wakes the connection's thread when the connection's socket is ready. Handlers'
//! threads wake a connection in the same way.

use std::io;
use std::sync::Arc;
use std::thread;

use tokio::runtime::{self, Handle};
use tokio::sync::Notify;

/// The stack of the thread, which only runs the runtime's driver, in bytes.
const STACK_BYTES: usize = 256 * 1024;

/// A runtime that a thread of its own drives, until this is dropped.
#[derive(Debug)]
pub(crate) struct IoDriver {
    handle: Handle,
    stop: Arc<Notify>,
}

impl IoDriver {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<IoDriver> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let (handle, stop) = (runtime.handle().clone(), Arc::new(Notify::new()));
        let stopped = stop.clone();
        thread::Builder::new()
            .name("accelflow-io".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || runtime.block_on(stopped.notified()))?;
        Ok(IoDriver { handle, stop })
    }

    /// Runs a task and those that it spawns on this thread, until the first has ended.
    pub(crate) fn run<T>(&self, task: impl Future<Output = T>) -> T {
        self.handle.block_on(task)
    }
}

impl Drop for IoDriver {
    fn drop(&mut self) {
        // The last connection may be the one that drops this, so nobody waits for the thread.
        self.stop.notify_one();
    }
}
