//! The function that wraps the work of each server thread that serves requests.

/// A function that calls its argument on a thread of the server, after any setup that handlers need
/// once per thread.
pub(crate) type ThreadScope = dyn Fn(&mut (dyn FnMut() + Send)) + Send + Sync;
