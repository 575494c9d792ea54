//! The worker pools of all accelerators: starting, choosing an instance, ending.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use accelflow_accel::{AccelError, Ensemble};
use accelflow_trace::Accel;

use super::instance::{Entry, Instance, MakeEnsemble, work};
use super::pace::TraceWork;
use super::settings::{PoolCounters, PoolError, PoolSettings};

/// The worker pools of all nine accelerators. Dropping them lets the workers finish what is
/// queued and ends them.
pub struct Pools {
    pub(super) instances: [Vec<Arc<Instance>>; Accel::COUNT],
    retried: [AtomicU64; Accel::COUNT],
    full: [AtomicU64; Accel::COUNT],
    pub(super) traces: TraceWork,
    pub(super) make: Arc<MakeEnsemble>,
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

    /// The counters of each accelerator's pools, in the order of [`Accel::ALL`].
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

    /// The number of waiting jobs of each accelerator, in the order of [`Accel::ALL`].
    pub fn waiting(&self) -> [usize; Accel::COUNT] {
        let of = |accel: Accel| self.instances[accel.index()].iter();
        Accel::ALL.map(|accel| of(accel).map(|instance| instance.waiting()).sum())
    }

    /// Gives the entry to the least loaded instance, or to the next with room; returns it if all
    /// are full.
    pub(super) fn push(&self, accel: Accel, mut entry: Entry) -> Result<(), Box<Entry>> {
        let at = accel.index();
        let instances = &self.instances[at];
        let all = 0..instances.len();
        let first = all.clone().min_by_key(|number| instances[*number].load());
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
