//! The state that the threads of the ensemble share: all instances of accelerators, the queue of
//! steps that cores do, and the parked traces.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use accelflow_accel::{AccelError, Ensemble};
use accelflow_shaping::dispatch::{DispatchPolicy, Entry};
use accelflow_trace::Accel;
use accelflow_units::Time;

use super::flow::Flow;
use super::instance::{Instance, entry};
use super::pace::{TraceWork, since};
use super::rendezvous::Rendezvous;
use super::runs::Runs;
use super::settings::{PoolCounters, PoolSettings};
use super::station::{Sizes, Station};
use crate::peer::PeerError;

/// Creates the bodies of a worker.
pub(super) type MakeEnsemble = dyn Fn() -> Result<Ensemble, AccelError> + Send + Sync;

/// Called after each step with the accelerator and the step's time, including the wait in the
/// queue.
pub(super) type Observe = dyn Fn(Accel, Option<&str>, Duration) + Send + Sync;

/// The place where an execution waits for a response.
pub(super) type Parked = Rendezvous<Box<Flow>, Result<Vec<u8>, PeerError>>;

/// The state that the threads of the ensemble share.
pub(super) struct Hub {
    pub(super) settings: PoolSettings,
    pub(super) epoch: Instant,
    pub(super) instances: [Vec<Arc<Instance>>; Accel::COUNT],
    retried: [AtomicU64; Accel::COUNT],
    full: [AtomicU64; Accel::COUNT],
    /// The number of runs refused since their payloads were too small.
    pub(super) too_small: AtomicU64,
    /// The cores' queue, for steps that found all instances full. It is unbounded, but the number
    /// of runs is not.
    pub(super) core: Station<Box<Flow>>,
    /// Executions that wait for a response, in the order of their timeouts.
    pub(super) parked: Mutex<VecDeque<(Instant, Weak<Parked>)>>,
    pub(super) runs: Arc<Runs>,
    pub(super) traces: Arc<TraceWork>,
    pub(super) make: Box<MakeEnsemble>,
    /// The number of times that cores were asked to replace their bodies.
    pub(super) renewals: AtomicU64,
    pub(super) observe: Option<Box<Observe>>,
}

impl Hub {
    pub(super) fn new(
        settings: PoolSettings,
        make: Box<MakeEnsemble>,
        observe: Option<Box<Observe>>,
    ) -> Hub {
        let epoch = Instant::now();
        let instances = Accel::ALL.map(|accel| {
            let instance = |_| Arc::new(Instance::new(accel, settings, epoch));
            (0..settings.instances).map(instance).collect::<Vec<_>>()
        });
        Hub {
            settings,
            epoch,
            instances,
            retried: Default::default(),
            full: Default::default(),
            too_small: AtomicU64::new(0),
            core: Station::new(Sizes {
                workers: settings.core_workers,
                input: usize::MAX,
                overflow: 0,
                output: 1,
                policy: match settings.policy {
                    // The order by deadline is estimated for one accelerator's work, but this queue
                    // has steps of all.
                    DispatchPolicy::Deadline => DispatchPolicy::Fifo,
                    policy => policy,
                },
            }),
            parked: Mutex::default(),
            runs: Arc::new(Runs::new(settings.most_runs, settings.tenant_runs)),
            traces: Arc::default(),
            make,
            renewals: AtomicU64::new(0),
            observe,
        }
    }

    pub(super) fn counters(&self, accel: Accel) -> PoolCounters {
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
    }

    /// Whether an instance's input queue has room. Always true for custom accelerators, whose
    /// steps cores do.
    pub(super) fn has_room(&self, accel: Accel) -> bool {
        let Some(instances) = self.instances.get(accel.index()) else {
            return true;
        };
        let mut instances = instances.iter();
        instances.any(|instance| instance.station.has_room())
    }

    /// Queues an execution at the accelerator that it calls, at the least loaded instance or the
    /// next with room. If all are full, a core does the step. A core also does all steps of custom
    /// accelerators. Never blocks.
    pub(super) fn push(&self, mut flow: Box<Flow>, accel: Accel) {
        let at = accel.index();
        let Some(instances) = self.instances.get(at) else {
            // The work of custom accelerators is not measured, so it does not affect the pace.
            let due = flow.pace.next(Time::ZERO);
            return self.push_to_core(entry(flow, due, Time::ZERO));
        };
        let work = instances[0].mean();
        let due = flow.pace.next(work);
        let mut entry = entry(flow, due, work);
        let all = 0..instances.len();
        let first = all.clone().min_by_key(|number| instances[*number].load());
        for step in all {
            let number = (first.unwrap_or(0) + step) % instances.len();
            match instances[number].push(entry) {
                Ok(()) => return,
                Err(refused) => entry = refused,
            }
            if step + 1 < instances.len() {
                self.retried[at].fetch_add(1, Ordering::Relaxed);
            }
        }
        self.full[at].fetch_add(1, Ordering::Relaxed);
        self.push_to_core(entry);
    }

    /// Queues the work before the first accelerator of an execution for a core.
    pub(super) fn begin_on_core(&self, mut flow: Box<Flow>) {
        let due = flow.pace.next(Time::ZERO);
        self.push_to_core(entry(flow, due, Time::ZERO));
    }

    fn push_to_core(&self, entry: Entry<Box<Flow>>) {
        let now = since(self.epoch, Instant::now());
        // The cores' queue is unbounded, so a push never fails.
        let _ = self.core.push(entry, now);
    }

    /// Registers an execution that will wait for a response.
    pub(super) fn park(&self, parked: &Arc<Parked>) {
        let until = Instant::now() + self.settings.response_timeout;
        let mut all = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        while all.front().is_some_and(|(_, one)| one.strong_count() == 0) {
            all.pop_front();
        }
        all.push_back((until, Arc::downgrade(parked)));
    }

    /// Reports a step to the observer; `own` is the name of a custom accelerator.
    pub(super) fn observe(&self, accel: Accel, own: Option<&str>, spent: Duration) {
        if let Some(observe) = &self.observe {
            observe(accel, own, spent);
        }
    }

    /// The present time on the clock of deadlines.
    pub(super) fn now(&self) -> Time {
        since(self.epoch, Instant::now())
    }
}
