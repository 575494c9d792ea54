//! Sizes, counters and errors of the accelerators' queues and workers.

use std::io;
use std::time::Duration;

use accelflow_accel::AccelError;
use accelflow_parameters::Refusal;
use accelflow_shaping::dispatch::DispatchPolicy;
use accelflow_trace::Accel;

use super::handle::Notification;

/// The sizes and policies of an ensemble, the accelerators with queues and worker threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// Instances per accelerator. Each has its own queues and workers. A step that finds one full
    /// tries the next. Default 1, as in the paper's evaluation.
    pub instances: usize,
    /// Worker threads per instance. They are the paper's processing elements, of which it has 8
    /// (Table III). Default 1, since here they share the machine's cores.
    pub workers: usize,
    /// Workers per instance for individual accelerators, in the order of [`Accel::ALL`]. A 0, the
    /// default, stands for the value of `workers`.
    pub workers_of: [usize; Accel::COUNT],
    /// Threads that act as cores and do the steps of full accelerators. Default 1, an assumption of
    /// this project.
    pub core_workers: usize,
    /// Entries of each input queue, and of each output queue. Default 64, as in the paper
    /// (Table III).
    pub queue_entries: usize,
    /// Entries of the overflow area behind each input queue. Default 64, an assumption of this
    /// project.
    pub overflow_entries: usize,
    /// The smallest payload that is offloaded, in bytes. A run that begins with fewer bytes is
    /// refused ([`Busy::Small`](super::Busy::Small)), and the calling core does the work itself.
    /// This is the break-even size of Accelerometer's equations (2), (4) and (7);
    /// `docs/accelerometer.md` explains how to find it. Default 0: every run is offloaded.
    pub least_bytes: usize,
    /// The order in which a queue is served. Default first in, first out, as in the paper.
    pub policy: DispatchPolicy,
    /// The largest number of runs of traces in progress. Default 4,096, an assumption of this
    /// project.
    pub most_runs: usize,
    /// The largest number of concurrent runs per tenant, the paper's N (section IV.D). 0, the
    /// default, for no limit.
    pub tenant_runs: usize,
    /// The time limit for a response. After it the core is notified of a failure (section IV.B).
    /// Default 30 s, an assumption of this project.
    pub response_timeout: Duration,
    /// How a waiting thread learns that its run has ended. Default: it is woken.
    pub notification: Notification,
    /// Whether workers are bound to cores, round robin over the cores that the process may use.
    /// Default false.
    pub pinned: bool,
}

impl PoolSettings {
    /// The workers of each instance of `accel`.
    pub(super) fn workers_of(&self, accel: Accel) -> usize {
        match self.workers_of[accel.index()] {
            0 => self.workers,
            own => own,
        }
    }
}

/// The error of an ensemble that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// A setting is not allowed ([`POOL_PARAMETERS`](super::POOL_PARAMETERS)).
    #[error(transparent)]
    Setting(#[from] Refusal),
    /// The software or devices of the accelerators could not be created.
    #[error(transparent)]
    Accel(#[from] AccelError),
    /// The operating system refused another thread.
    #[error("cannot start a worker thread: {0}")]
    Thread(#[from] io::Error),
}

/// Counters of one accelerator of the ensemble, summed over its instances. A step is one call of
/// the accelerator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounters {
    /// Steps that the accelerator's workers executed.
    pub done: u64,
    /// Steps of `done` that waited in the overflow area first.
    pub overflowed: u64,
    /// Attempts that found an instance full and went on to the next one.
    pub retried: u64,
    /// Steps done by a core because the queue and overflow area of every instance were full.
    pub full: u64,
    /// Steps in which the accelerator's code panicked. The worker continues with a new copy of it.
    pub panics: u64,
    /// Steps that swapped places in a queue with an earlier step to meet a deadline.
    pub exchanged: u64,
    /// Steps that had a deadline.
    pub with_deadline: u64,
    /// Steps that ended after their deadline.
    pub late: u64,
}
