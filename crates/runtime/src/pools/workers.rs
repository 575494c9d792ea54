//! Ensemble execution: each accelerator is workers of its own behind bounded queues.
//!
//! As in the paper's hardware (AccelFlow, section IV.A), an accelerator has an input queue, and an
//! overflow area behind it; there may be several instances of each. A step that finds all of them
//! full is done by the core that asked for it: a full queue is a value and not a reason to grow.
//! The bodies and the traces are those of inline execution, and so are the results, byte for byte.

mod bodies;
mod instance;
mod pace;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use accelflow_accel::{AccelError, Ensemble};
use accelflow_shaping::dispatch::Policy;
use accelflow_trace::Accel;

pub use bodies::PooledBodies;
use instance::{Entry, Instance, work};
use pace::TraceWork;

/// What goes first where a queue has both and orders by priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// When there is nothing else to do.
    Low,
    /// As a rule.
    #[default]
    Normal,
    /// Before everything else.
    High,
}

/// How the steps of a run are treated where they queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Whose run it is.
    pub tenant: u16,
    /// How urgent it is, under [`Policy::Priority`].
    pub priority: Priority,
    /// When the run is to have ended. It is a soft deadline: a step that comes too late is
    /// counted and done all the same.
    pub due: Option<Instant>,
}

/// How large the pools are.
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
    /// In which order a queue is worked off. Default first in, first out, as in the paper.
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
    fn check(&self) -> Result<(), PoolError> {
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

/// Why there are no pools.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// Nobody would work, or nothing could wait.
    #[error("{0} = 0: must be at least 1")]
    Nothing(&'static str),
    /// The bodies could not be made.
    #[error(transparent)]
    Accel(#[from] AccelError),
    /// The system has no thread left.
    #[error("worker thread: {0}")]
    Thread(#[from] io::Error),
}

/// What the pools of one accelerator did, all instances together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounters {
    /// Steps that the workers did.
    pub done: u64,
    /// Of those, steps that had to wait in the overflow area first.
    pub overflowed: u64,
    /// Times that a step found an instance full and tried the next one.
    pub retried: u64,
    /// Steps that a core did, since queue and overflow area of every instance were full.
    pub full: u64,
    /// Steps in which the body panicked. The worker goes on with a new body.
    pub panics: u64,
    /// Steps that changed places with an earlier one to meet their deadline.
    pub exchanged: u64,
    /// Steps that had a deadline, and those of them that ended after it.
    pub with_deadline: u64,
    /// See `with_deadline`.
    pub late: u64,
}

type MakeEnsemble = dyn Fn() -> Result<Ensemble, AccelError> + Send + Sync;

/// The worker pools of all nine accelerators. Dropping them lets the workers finish what is
/// queued and ends them.
pub struct Pools {
    instances: [Vec<Arc<Instance>>; Accel::COUNT],
    retried: [AtomicU64; Accel::COUNT],
    full: [AtomicU64; Accel::COUNT],
    traces: TraceWork,
    make: Arc<MakeEnsemble>,
    workers: Vec<JoinHandle<()>>,
}

impl fmt::Debug for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pools")
            .field("workers", &self.workers.len())
            .finish_non_exhaustive()
    }
}

impl Pools {
    /// Starts the workers. `make` gives each of them its bodies.
    ///
    /// # Errors
    /// [`PoolError`].
    pub fn start(
        settings: PoolSettings,
        make: impl Fn() -> Result<Ensemble, AccelError> + Send + Sync + 'static,
    ) -> Result<Pools, PoolError> {
        settings.check()?;
        let epoch = Instant::now();
        let instances = Accel::ALL.map(|accel| {
            let instance = |_| Arc::new(Instance::new(accel, settings, epoch));
            (0..settings.instances).map(instance).collect::<Vec<_>>()
        });
        let make: Arc<MakeEnsemble> = Arc::new(make);
        let mut pools = Pools {
            instances,
            retried: Default::default(),
            full: Default::default(),
            traces: TraceWork::default(),
            make,
            workers: Vec::new(),
        };
        for number in 0..settings.instances * settings.workers {
            let (instance, element) = (number / settings.workers, number % settings.workers);
            for body in (pools.make)()?.into_bodies() {
                let accel = body.kind();
                let own = pools.instances[accel.index()][instance].clone();
                let make = pools.make.clone();
                let worker = thread::Builder::new()
                    .name(format!("{accel}-{number}"))
                    .spawn(move || work(&own, element, body, &make))?;
                pools.workers.push(worker);
            }
        }
        Ok(pools)
    }

    /// What each pool did, in the order of [`Accel::ALL`].
    pub fn counters(&self) -> [PoolCounters; Accel::COUNT] {
        Accel::ALL.map(|accel| {
            let at = accel.index();
            let mut sum = PoolCounters {
                retried: self.retried[at].load(Ordering::Relaxed),
                full: self.full[at].load(Ordering::Relaxed),
                ..PoolCounters::default()
            };
            for instance in &self.instances[at] {
                instance.add_to(&mut sum);
            }
            sum
        })
    }

    /// Jobs that wait now, in the order of [`Accel::ALL`].
    pub fn waiting(&self) -> [usize; Accel::COUNT] {
        let of = |accel: Accel| self.instances[accel.index()].iter();
        Accel::ALL.map(|accel| of(accel).map(|it| it.waiting()).sum())
    }

    /// Gives the entry to the instance with the least to do, or else to the next with room; back
    /// if there is none.
    fn push(&self, accel: Accel, mut entry: Entry) -> Result<(), Box<Entry>> {
        let at = accel.index();
        let instances = &self.instances[at];
        let all = 0..instances.len();
        let first = all.clone().min_by_key(|it| instances[*it].load());
        for step in all {
            let number = (first.unwrap_or(0) + step) % instances.len();
            match instances[number].push(entry) {
                Ok(()) => return Ok(()),
                Err(refused) => entry = *refused,
            }
            if step + 1 < instances.len() {
                self.retried[at].fetch_add(1, Ordering::Relaxed);
            }
        }
        self.full[at].fetch_add(1, Ordering::Relaxed);
        Err(Box::new(entry))
    }
}

impl Drop for Pools {
    fn drop(&mut self) {
        for instance in self.instances.iter().flatten() {
            instance.close();
        }
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}
