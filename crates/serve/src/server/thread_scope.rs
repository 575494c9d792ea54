//! The function within which every thread of a server that serves requests does its work.

/// A function that calls its argument on a thread of the server, after any setup that handlers need
/// once per thread.
pub(crate) type ThreadScope = dyn Fn(&mut (dyn FnMut() + Send)) + Send + Sync;
