//! One instance of an accelerator: its queues (a station) and its counters.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use accelflow_shaping::dispatch::{Entry, Owner, Placed};
use accelflow_trace::Accel;
use accelflow_units::Time;

use super::flow::Flow;
use super::pace::{moved, since};
use super::settings::{PoolCounters, PoolSettings};
use super::station::{Pushed, Sizes, Station};

/// One instance of an accelerator.
pub(super) struct Instance {
    pub(super) accel: Accel,
    pub(super) station: Station<Box<Flow>>,
    pub(super) epoch: Instant,
    /// The number of jobs that wait or run. Readable without the lock.
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

impl Instance {
    pub(super) fn new(accel: Accel, settings: PoolSettings, epoch: Instant) -> Instance {
        Instance {
            accel,
            station: Station::new(Sizes {
                workers: settings.workers_of(accel),
                input: settings.queue_entries,
                overflow: settings.overflow_entries,
                output: settings.queue_entries,
                policy: settings.policy,
            }),
            epoch,
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

    pub(super) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    /// The expected time in the body.
    pub(super) fn mean(&self) -> Time {
        Time::from_ps(self.mean_ps.load(Ordering::Relaxed))
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

    /// Puts an entry into the queues. Returns it if there is no room.
    pub(super) fn push(&self, entry: Entry<Box<Flow>>) -> Result<(), Entry<Box<Flow>>> {
        let now = since(self.epoch, Instant::now());
        // Counted before a worker can take it.
        self.load.fetch_add(1, Ordering::Relaxed);
        match self.station.push(entry, now) {
            Ok(Pushed::Queued(Placed::Exchanged)) => {
                self.exchanged.fetch_add(1, Ordering::Relaxed);
            }
            Ok(Pushed::Queued(_)) => {}
            Ok(Pushed::Overflowed) => {
                self.overflowed.fetch_add(1, Ordering::Relaxed);
            }
            Err(entry) => {
                self.load.fetch_sub(1, Ordering::Relaxed);
                return Err(entry);
            }
        }
        Ok(())
    }

    /// Waits for an entry for the worker `element`.
    pub(super) fn next(&self, element: usize) -> Option<Entry<Box<Flow>>> {
        let now = || since(self.epoch, Instant::now());
        self.station.next(element, now)
    }

    /// Counts a finished step and updates the mean time.
    pub(super) fn count(&self, begun: Instant, due: Time, panicked: bool) {
        self.load.fetch_sub(1, Ordering::Relaxed);
        if panicked {
            self.panics.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let ended = Instant::now();
        let mean = moved(self.mean(), since(begun, ended));
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

/// The queue entry of an execution.
pub(super) fn entry(flow: Box<Flow>, due: Time, work: Time) -> Entry<Box<Flow>> {
    let terms = flow.run.terms;
    Entry {
        owner: Owner {
            tenant: terms.tenant,
            service: 0,
        },
        priority: terms.priority as u8,
        due,
        work,
        item: flow,
    }
}
