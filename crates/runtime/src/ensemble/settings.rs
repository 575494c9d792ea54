//! The settings of an ensemble, the error of an ensemble that cannot start, and the counters of an
//! accelerator.

use std::io;
use std::time::Duration;

use accelflow_accel::AccelError;
use accelflow_parameters::Refusal;
use accelflow_shaping::dispatch::DispatchPolicy;
use accelflow_trace::Accel;

use super::handle::Notification;

/// The settings of an ensemble of software accelerators ([`Pools`](super::Pools)): the numbers of
/// threads, the sizes of queues, the limits on runs, and the order in which queues are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// The number of instances of each accelerator. Each instance has its own queues and workers. A
    /// step that finds an instance full tries the next one. Default 1, as in the paper's
    /// evaluation.
    pub instances: usize,
    /// The number of worker threads per instance. Workers correspond to the paper's processing
    /// elements, of which an accelerator has 8 (Table III). Default 1, since workers share the
    /// machine's cores.
    pub workers: usize,
    /// The number of workers per instance for individual accelerators, in the order of
    /// [`Accel::ALL`]. 0, the default, stands for the value of `workers`.
    pub workers_of: [usize; Accel::COUNT],
    /// The number of threads that act as cores. They do the steps for which the accelerators have
    /// no room, and all steps of custom accelerators. Default 1, an assumption of this project.
    pub core_workers: usize,
    /// The number of entries of each input queue, and of each output queue. Default 64, as in the
    /// paper (Table III).
    pub queue_entries: usize,
    /// The number of entries of the overflow area behind each input queue. Default 64, an
    /// assumption of this project.
    pub overflow_entries: usize,
    /// The smallest payload that is offloaded, in bytes. A run that begins with fewer bytes is
    /// refused ([`Busy::Small`](super::Busy::Small)), so that the calling core can do the work
    /// itself. The best value is the break-even size of Accelerometer's equations (2), (4) and (7);
    /// `docs/accelerometer.md` explains how to find it. Default 0: every run is offloaded.
    pub least_bytes: usize,
    /// The order in which the entries of an input queue are served. Default: first in, first out,
    /// as in the paper.
    pub policy: DispatchPolicy,
    /// The largest number of runs of traces that may be in progress at a time. Default 4,096, an
    /// assumption of this project.
    pub most_runs: usize,
    /// The largest number of concurrent runs per tenant, the paper's N (section IV.D). 0, the
    /// default, means no limit.
    pub tenant_runs: usize,
    /// The time limit for the response to a message. When it has passed, the trace fails and the
    /// core is notified (section IV.B). Default 30 s, an assumption of this project.
    pub response_timeout: Duration,
    /// How a thread of [`PooledExecutor`](super::PooledExecutor) learns that its run has ended.
    /// Default: it is woken.
    pub notification: Notification,
    /// Whether the accelerators' workers are bound to cores, round robin over the cores that the
    /// thread that starts the ensemble may use. Default false.
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

/// The error of an ensemble of software accelerators that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// A setting is out of range ([`POOL_PARAMETERS`](super::POOL_PARAMETERS)).
    #[error(transparent)]
    Setting(#[from] Refusal),
    /// The bodies of the accelerators, their software or devices, could not be created.
    #[error(transparent)]
    Accel(#[from] AccelError),
    /// The operating system could not start a thread, or could not tell which cores are usable.
    #[error("cannot start a worker thread: {0}")]
    Thread(#[from] io::Error),
}

/// Counters of the calls (steps) of one accelerator since the start of the ensemble, summed over
/// the accelerator's instances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounters {
    /// The number of steps that the accelerator's workers have done, without those that panicked.
    pub done: u64,
    /// The number of steps that waited in the overflow area before they entered the input queue.
    pub overflowed: u64,
    /// The number of times that a step found an instance full and tried the next instance.
    pub retried: u64,
    /// The number of steps that a core did because the queues and overflow areas of all instances
    /// were full.
    pub full: u64,
    /// The number of steps in which the accelerator's body panicked. The worker then continues with
    /// a new body.
    pub panics: u64,
    /// The number of steps that changed places with an earlier entry of the queue to meet a
    /// deadline.
    pub exchanged: u64,
    /// The number of steps in `done` that had a deadline.
    pub with_deadline: u64,
    /// The number of steps in `done` that ended after their deadline.
    pub late: u64,
}
