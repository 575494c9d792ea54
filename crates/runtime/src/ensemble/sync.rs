//! The locks on which the protocol of the queues is built. The test with a model checker replaces
//! these locks by its own (`tests/ensemble_model.rs`).

pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
