//! One instance of an accelerator: an input queue, an overflow area, workers.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use accelflow_accel::{AccelError, Accelerator, Ensemble, Job};
use accelflow_shaping::dispatch::{self, Elements, InputQueue, Owner, Placed, Policy};
use accelflow_trace::Accel;
use accelflow_units::Time;

use super::pace::{moved, since};
use super::settings::{PoolCounters, PoolSettings};
use crate::terms::Terms;

/// Makes the bodies of a worker.
pub(super) type MakeEnsemble = dyn Fn() -> Result<Ensemble, AccelError> + Send + Sync;

/// A waiting job, and the slot in which its owner waits for the result.
pub(super) struct Entry {
    pub(super) job: Job,
    pub(super) reply: Arc<Reply>,
    pub(super) terms: Terms,
    /// The deadline of the step; [`Time::MAX`] for none.
    pub(super) due: Time,
}

/// The end of a step.
pub(super) enum End {
    Done(Result<(), AccelError>),
    Panicked(Box<dyn Any + Send>),
}

/// The slot in which one executor waits; it has one job at a time.
#[derive(Default)]
pub(super) struct Reply {
    slot: Mutex<Option<(Job, End)>>,
    filled: Condvar,
}

impl Reply {
    fn put(&self, job: Job, end: End) {
        *lock(&self.slot) = Some((job, end));
        self.filled.notify_one();
    }

    pub(super) fn take(&self) -> (Job, End) {
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

/// The part of an instance that threads share.
pub(super) struct Instance {
    accel: Accel,
    settings: PoolSettings,
    epoch: Instant,
    queues: Mutex<Queues>,
    filled: Condvar,
    /// Jobs that wait or run, for a look without the lock.
    load: AtomicUsize,
    /// The mean time in the body, in picoseconds.
    mean_ps: AtomicU64,
    done: AtomicU64,
    overflowed: AtomicU64,
    panics: AtomicU64,
    exchanged: AtomicU64,
    with_deadline: AtomicU64,
    late: AtomicU64,
}

struct Queues {
    input: InputQueue<Entry>,
    overflow: InputQueue<Entry>,
    /// For each worker, the expected end of its step.
    running: Vec<Option<Time>>,
    closed: bool,
}

impl Queues {
    /// Takes the next entry, and moves one from the overflow area into its place.
    fn pop(&mut self, elements: Elements, now: Time) -> Option<dispatch::Entry<Entry>> {
        let entry = self.input.pop()?;
        if let Some(next) = self.overflow.pop() {
            self.input.push(next, elements, now);
        }
        Some(entry)
    }

    fn elements(&self, now: Time) -> Elements {
        let left = |end: &Option<Time>| end.map(|end| end.saturating_sub(now));
        Elements {
            count: self.running.len() as u64,
            idle: self.input.is_empty() && self.running.contains(&None),
            remaining: self.running.iter().filter_map(left).sum(),
        }
    }
}

impl Instance {
    pub(super) fn new(accel: Accel, settings: PoolSettings, epoch: Instant) -> Instance {
        // The order of deadlines is estimated from the front of the input queue, so it is no
        // order for the overflow area.
        let overflow = match settings.policy {
            Policy::Deadline => Policy::Fifo,
            policy => policy,
        };
        Instance {
            accel,
            settings,
            epoch,
            queues: Mutex::new(Queues {
                input: InputQueue::new(settings.policy, 0),
                overflow: InputQueue::new(overflow, 0),
                running: vec![None; settings.workers],
                closed: false,
            }),
            filled: Condvar::new(),
            load: AtomicUsize::new(0),
            mean_ps: AtomicU64::new(0),
            done: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            panics: AtomicU64::new(0),
            exchanged: AtomicU64::new(0),
            with_deadline: AtomicU64::new(0),
            late: AtomicU64::new(0),
        }
    }

    pub(super) fn epoch(&self) -> Instant {
        self.epoch
    }

    pub(super) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    /// The expected time in the body.
    pub(super) fn mean(&self) -> Time {
        Time::from_ps(self.mean_ps.load(Ordering::Relaxed))
    }

    pub(super) fn waiting(&self) -> usize {
        let queues = lock(&self.queues);
        queues.input.len() + queues.overflow.len()
    }

    pub(super) fn close(&self) {
        lock(&self.queues).closed = true;
        self.filled.notify_all();
    }

    pub(super) fn add_to(&self, sum: &mut PoolCounters) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        sum.done += read(&self.done);
        sum.overflowed += read(&self.overflowed);
        sum.panics += read(&self.panics);
        sum.exchanged += read(&self.exchanged);
        sum.with_deadline += read(&self.with_deadline);
        sum.late += read(&self.late);
    }

    /// Gives the entry back if there is no room.
    pub(super) fn push(&self, entry: Entry) -> Result<(), Box<Entry>> {
        let entry = dispatch::Entry {
            owner: Owner {
                tenant: entry.terms.tenant,
                service: 0,
            },
            priority: entry.terms.priority as u8,
            due: entry.due,
            work: self.mean(),
            item: entry,
        };
        let now = since(self.epoch, Instant::now());
        let mut queues = lock(&self.queues);
        let elements = queues.elements(now);
        if queues.input.len() < self.settings.queue_entries {
            if queues.input.push(entry, elements, now) == Placed::Exchanged {
                self.exchanged.fetch_add(1, Ordering::Relaxed);
            }
        } else if queues.overflow.len() < self.settings.overflow_entries {
            queues.overflow.push(entry, elements, now);
            self.overflowed.fetch_add(1, Ordering::Relaxed);
        } else {
            return Err(Box::new(entry.item));
        }
        self.load.fetch_add(1, Ordering::Relaxed);
        drop(queues);
        self.filled.notify_one();
        Ok(())
    }

    /// Waits for an entry for the worker `element`; `None` once the pools have ended and nothing
    /// is left.
    fn next(&self, element: usize) -> Option<dispatch::Entry<Entry>> {
        let mut queues = lock(&self.queues);
        queues.running[element] = None;
        loop {
            let now = since(self.epoch, Instant::now());
            let elements = queues.elements(now);
            if let Some(entry) = queues.pop(elements, now) {
                queues.running[element] = Some(now + entry.work);
                return Some(entry);
            }
            if queues.closed {
                return None;
            }
            let waited = self.filled.wait(queues);
            queues = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Counts a step that has ended, and updates the mean time.
    fn count(&self, begun: Instant, due: Time) {
        let ended = Instant::now();
        let spent = since(begun, ended);
        let mean = moved(self.mean(), spent);
        self.mean_ps.store(mean.as_ps(), Ordering::Relaxed);
        self.done.fetch_add(1, Ordering::Relaxed);
        if due < Time::MAX {
            self.with_deadline.fetch_add(1, Ordering::Relaxed);
            if since(self.epoch, ended) > due {
                self.late.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// The loop of a worker, until the pools end.
pub(super) fn work(
    instance: &Instance,
    element: usize,
    mut body: Box<dyn Accelerator>,
    make: &Arc<MakeEnsemble>,
) {
    // The tenant whose jobs the body may hold a part of.
    let mut last = None;
    while let Some(dispatch::Entry {
        item, due, owner, ..
    }) = instance.next(element)
    {
        if last
            .replace(owner.tenant)
            .is_some_and(|last| last != owner.tenant)
        {
            body.forget();
        }
        let Entry { mut job, reply, .. } = item;
        let begun = Instant::now();
        let end = match catch_unwind(AssertUnwindSafe(|| body.run(&mut job))) {
            Ok(done) => {
                instance.count(begun, due);
                End::Done(done)
            }
            Err(payload) => {
                instance.panics.fetch_add(1, Ordering::Relaxed);
                // The new body shares no state with the one that panicked.
                if let Some(new) = make()
                    .ok()
                    .and_then(|ensemble| of_kind(ensemble, instance.accel))
                {
                    body = new;
                }
                End::Panicked(payload)
            }
        };
        instance.load.fetch_sub(1, Ordering::Relaxed);
        reply.put(job, end);
    }
}

fn of_kind(ensemble: Ensemble, accel: Accel) -> Option<Box<dyn Accelerator>> {
    let mut bodies = ensemble.into_bodies().into_iter();
    bodies.find(|body| body.kind() == accel)
}
