//! Sizes, counters and errors of the pools.

use std::io;

use accelflow_accel::AccelError;
use accelflow_shaping::dispatch::Policy;

/// The sizes of the pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// Instances of each accelerator, with a queue and workers each. A step that finds one full
    /// tries the next. Default 1, as in the paper's evaluation.
    pub instances: usize,
    /// Workers of each instance: the paper's processing elements, of which it has 8 (Table III).
    /// Default 1, since here they share the machine's cores.
    pub workers: usize,
    /// Entries of each input queue. Default 64, as in the paper (Table III).
    pub queue_entries: usize,
    /// Entries of the overflow area behind each queue. Default 64, an assumption of this project.
    pub overflow_entries: usize,
    /// The order in which a queue is served. Default first in, first out, as in the paper.
    pub policy: Policy,
}

impl Default for PoolSettings {
    fn default() -> PoolSettings {
        PoolSettings {
            instances: 1,
            workers: 1,
            queue_entries: 64,
            overflow_entries: 64,
            policy: Policy::Fifo,
        }
    }
}

impl PoolSettings {
    pub(super) fn check(&self) -> Result<(), PoolError> {
        for (name, count) in [
            ("instances", self.instances),
            ("workers", self.workers),
            ("queue_entries", self.queue_entries),
        ] {
            if count == 0 {
                return Err(PoolError::Nothing(name));
            }
        }
        Ok(())
    }
}

/// Errors of starting the pools.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// No instances, workers or queue entries.
    #[error("{0} = 0: must be at least 1")]
    Nothing(&'static str),
    /// The bodies could not be made.
    #[error(transparent)]
    Accel(#[from] AccelError),
    /// The system refuses another thread.
    #[error("worker thread: {0}")]
    Thread(#[from] io::Error),
}

/// Counters of one accelerator's pools, summed over its instances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounters {
    /// Steps that the workers did.
    pub done: u64,
    /// Of those, steps that had to wait in the overflow area first.
    pub overflowed: u64,
    /// Attempts that found an instance full and went on to the next one.
    pub retried: u64,
    /// Steps done by a core, since queue and overflow area of every instance were full.
    pub full: u64,
    /// Steps in which the body panicked. The worker goes on with a new body.
    pub panics: u64,
    /// Steps that changed places with an earlier one to meet their deadline.
    pub exchanged: u64,
    /// Steps that had a deadline.
    pub with_deadline: u64,
    /// Steps that ended after their deadline.
    pub late: u64,
}
