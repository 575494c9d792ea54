//! What every thread of a server runs within.

/// Calls the work that it is given, on a thread of the server: what handlers need once a thread is
/// done around it.
pub(crate) type ThreadScope = dyn Fn(&mut (dyn FnMut() + Send)) + Send + Sync;
