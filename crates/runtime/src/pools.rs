//! Ensemble execution: each accelerator is workers of its own behind a bounded queue.
//!
//! As in the paper's hardware (AccelFlow, section IV.A), an accelerator has an input queue, and an
//! overflow area behind it that is larger. A step that finds both full is done by the core that
//! asked for it: a full queue is a value and not a reason to grow. The bodies and the traces are
//! those of inline execution, and so are the results, byte for byte.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use accelflow_accel::{AccelError, Accelerator, Ensemble, Job};
use accelflow_trace::{Accel, Transform};

use crate::bodies::Bodies;

/// What goes first where a queue has both: the order within one priority is that of arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Before everything else.
    High,
    /// As a rule.
    #[default]
    Normal,
    /// When there is nothing else to do.
    Low,
}

impl Priority {
    const COUNT: usize = 3;
}

/// How large the pools are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// Workers of each accelerator: the paper's processing elements, of which it has 8 (Table III).
    /// Default 1, since here they share the machine's cores.
    pub workers: usize,
    /// Entries of each input queue. Default 64, as in the paper (Table III).
    pub queue_entries: usize,
    /// Entries of the overflow area behind each queue. Default 64, an assumption of this project.
    pub overflow_entries: usize,
}

impl Default for PoolSettings {
    fn default() -> PoolSettings {
        PoolSettings {
            workers: 1,
            queue_entries: 64,
            overflow_entries: 64,
        }
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

/// What one accelerator's pool did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounters {
    /// Steps that the workers did.
    pub done: u64,
    /// Of those, steps that had to wait in the overflow area first.
    pub overflowed: u64,
    /// Steps that a core did, since both queue and overflow area were full.
    pub full: u64,
    /// Steps in which the body panicked. The worker goes on with a new body.
    pub panics: u64,
}

type MakeEnsemble = dyn Fn() -> Result<Ensemble, AccelError> + Send + Sync;
type Choose = dyn Fn(&Job) -> Priority + Send + Sync;

/// The worker pools of all nine accelerators. Dropping them lets the workers finish what is
/// queued and ends them.
pub struct Pools {
    queues: [Arc<Queue>; Accel::COUNT],
    make: Arc<MakeEnsemble>,
    choose: Box<Choose>,
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
    /// Starts the workers. `make` gives each of them its bodies, and `choose` the priority of a
    /// job whenever it comes to a queue.
    ///
    /// # Errors
    /// [`PoolError`].
    pub fn start(
        settings: PoolSettings,
        make: impl Fn() -> Result<Ensemble, AccelError> + Send + Sync + 'static,
        choose: impl Fn(&Job) -> Priority + Send + Sync + 'static,
    ) -> Result<Pools, PoolError> {
        for (name, count) in [
            ("workers", settings.workers),
            ("queue_entries", settings.queue_entries),
        ] {
            if count == 0 {
                return Err(PoolError::Nothing(name));
            }
        }
        let queues = Accel::ALL.map(|accel| Arc::new(Queue::new(accel, settings)));
        let make: Arc<MakeEnsemble> = Arc::new(make);
        let mut pools = Pools {
            queues,
            make,
            choose: Box::new(choose),
            workers: Vec::new(),
        };
        for number in 0..settings.workers {
            for body in (pools.make)()?.into_bodies() {
                let accel = body.kind();
                let queue = pools.queues[accel.index()].clone();
                let make = pools.make.clone();
                let worker = thread::Builder::new()
                    .name(format!("{accel}-{number}"))
                    .spawn(move || work(&queue, body, &make))?;
                pools.workers.push(worker);
            }
        }
        Ok(pools)
    }

    /// What each pool did, in the order of [`Accel::ALL`].
    pub fn counters(&self) -> [PoolCounters; Accel::COUNT] {
        Accel::ALL.map(|accel| self.queues[accel.index()].counters())
    }

    /// Jobs that wait now, in the order of [`Accel::ALL`].
    pub fn waiting(&self) -> [usize; Accel::COUNT] {
        Accel::ALL.map(|accel| self.queues[accel.index()].lock().length())
    }
}

impl Drop for Pools {
    fn drop(&mut self) {
        for queue in &self.queues {
            queue.lock().closed = true;
            queue.filled.notify_all();
        }
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

/// Bodies that let the pools work and wait for them; those of one executor.
pub struct PooledBodies {
    pools: Arc<Pools>,
    /// What does a step that finds no room.
    core: Ensemble,
    reply: Arc<Reply>,
}

impl fmt::Debug for PooledBodies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledBodies")
            .field("pools", &self.pools)
            .finish_non_exhaustive()
    }
}

impl PooledBodies {
    /// Bodies for one executor.
    ///
    /// # Errors
    /// Those of the function that makes ensembles.
    pub fn new(pools: Arc<Pools>) -> Result<PooledBodies, AccelError> {
        let core = (pools.make)()?;
        Ok(PooledBodies {
            pools,
            core,
            reply: Arc::default(),
        })
    }
}

impl Bodies for PooledBodies {
    fn run(&mut self, accel: Accel, job: &mut Job) -> Result<(), AccelError> {
        let queue = &self.pools.queues[accel.index()];
        let priority = (self.pools.choose)(job);
        let entry = Entry {
            job: std::mem::take(job),
            reply: self.reply.clone(),
        };
        if let Err(refused) = queue.push(entry, priority) {
            *job = refused.job;
            return self.core.run(accel, job);
        }
        let (returned, end) = self.reply.take();
        *job = returned;
        match end {
            End::Done(done) => done,
            // As if the body had panicked here, where the executor makes an error of it.
            End::Panicked(payload) => resume_unwind(payload),
        }
    }

    fn transform(&mut self, step: Transform, job: &mut Job) -> Result<(), AccelError> {
        // The transformation engine stands at every output dispatcher and has no queue.
        self.core.transform(step, job)
    }
}

/// A job that waits, and where its owner waits for it.
struct Entry {
    job: Job,
    reply: Arc<Reply>,
}

enum End {
    Done(Result<(), AccelError>),
    Panicked(Box<dyn Any + Send>),
}

/// Where one executor waits: it has one job at a time.
#[derive(Default)]
struct Reply {
    slot: Mutex<Option<(Job, End)>>,
    filled: Condvar,
}

impl Reply {
    fn put(&self, job: Job, end: End) {
        *lock(&self.slot) = Some((job, end));
        self.filled.notify_one();
    }

    fn take(&self) -> (Job, End) {
        let mut slot = lock(&self.slot);
        loop {
            if let Some(done) = slot.take() {
                return done;
            }
            let waited = self.filled.wait(slot);
            slot = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The input queue of one accelerator with its overflow area.
struct Queue {
    accel: Accel,
    settings: PoolSettings,
    waiting: Mutex<Waiting>,
    filled: Condvar,
    done: AtomicU64,
    overflowed: AtomicU64,
    full: AtomicU64,
    panics: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    queue: [VecDeque<Entry>; Priority::COUNT],
    overflow: VecDeque<(Entry, Priority)>,
    closed: bool,
}

impl Waiting {
    fn queued(&self) -> usize {
        self.queue.iter().map(VecDeque::len).sum()
    }

    fn length(&self) -> usize {
        self.queued() + self.overflow.len()
    }

    /// Takes the first entry of the highest priority; the place goes to what overflowed first.
    fn pop(&mut self) -> Option<Entry> {
        let entry = self.queue.iter_mut().find_map(VecDeque::pop_front)?;
        if let Some((next, priority)) = self.overflow.pop_front() {
            self.queue[priority as usize].push_back(next);
        }
        Some(entry)
    }
}

impl Queue {
    fn new(accel: Accel, settings: PoolSettings) -> Queue {
        Queue {
            accel,
            settings,
            waiting: Mutex::default(),
            filled: Condvar::new(),
            done: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            full: AtomicU64::new(0),
            panics: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }

    fn counters(&self) -> PoolCounters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PoolCounters {
            done: read(&self.done),
            overflowed: read(&self.overflowed),
            full: read(&self.full),
            panics: read(&self.panics),
        }
    }

    /// Gives the entry back if there is no room.
    fn push(&self, entry: Entry, priority: Priority) -> Result<(), Box<Entry>> {
        let mut waiting = self.lock();
        if waiting.queued() < self.settings.queue_entries {
            waiting.queue[priority as usize].push_back(entry);
        } else if waiting.overflow.len() < self.settings.overflow_entries {
            waiting.overflow.push_back((entry, priority));
            self.overflowed.fetch_add(1, Ordering::Relaxed);
        } else {
            self.full.fetch_add(1, Ordering::Relaxed);
            return Err(Box::new(entry));
        }
        drop(waiting);
        self.filled.notify_one();
        Ok(())
    }

    /// Waits for an entry; `None` once the pools have ended and nothing is left.
    fn next(&self) -> Option<Entry> {
        let mut waiting = self.lock();
        loop {
            if let Some(entry) = waiting.pop() {
                return Some(entry);
            }
            if waiting.closed {
                return None;
            }
            let waited = self.filled.wait(waiting);
            waiting = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What a worker does, to the end of the pools.
fn work(queue: &Queue, mut body: Box<dyn Accelerator>, make: &Arc<MakeEnsemble>) {
    while let Some(Entry { mut job, reply }) = queue.next() {
        let end = match catch_unwind(AssertUnwindSafe(|| body.run(&mut job))) {
            Ok(done) => {
                queue.done.fetch_add(1, Ordering::Relaxed);
                End::Done(done)
            }
            Err(payload) => {
                queue.panics.fetch_add(1, Ordering::Relaxed);
                // Whatever state the panic left behind, nobody sees it.
                if let Some(new) = make().ok().and_then(|it| of_kind(it, queue.accel)) {
                    body = new;
                }
                End::Panicked(payload)
            }
        };
        reply.put(job, end);
    }
}

fn of_kind(ensemble: Ensemble, accel: Accel) -> Option<Box<dyn Accelerator>> {
    let mut bodies = ensemble.into_bodies().into_iter();
    bodies.find(|body| body.kind() == accel)
}
