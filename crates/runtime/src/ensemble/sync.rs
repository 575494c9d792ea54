//! The locks that the protocol of the queues is built on. The model checker's test replaces them
//! with its own (`tests/ensemble_model.rs`).

pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
