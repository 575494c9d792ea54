//! Executors of a server's traces. A connection borrows an executor for the run of one trace. If an
//! accelerator fails on valid input, a core runs the trace again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use accelflow_accel::{AccelError, Ensemble, Settings};
use accelflow_runtime::{
    Bodies, Conversation, Detail, Executor, Failure, Finished, Message, Outcome, Pools,
    TraceRequest,
};
use accelflow_trace::Accel;

use super::tenants::gates::Tenants;
use super::traces::ServerImage;
use crate::config::Execution;
use crate::error::ServeError;
use crate::memory::buffers;
use crate::observe::measured::Measured;
use crate::observe::metrics::Metrics;
use crate::observe::run::{TraceRun, nanoseconds};
use crate::observe::times::share_of_thread;
use crate::traces::bodies::{CustomBodies, Equipment};
use crate::transport::engine::MakeEnsemble;
use crate::transport::ensemble::{NextCore, SocketPeer, ensemble};

type ServeExecutor = Executor<Measured<Ensemble>>;

/// The executors of a server. There are as many as the largest number of concurrent traces so far.
/// Between two traces an executor has only scratch memory, and no part of a message.
pub(crate) struct Executors {
    settings: Settings,
    cores: usize,
    next_core: NextCore,
    maker: Maker,
    watch: Watch,
    free: [Shelf; SHELVES],
}

/// Executors that some threads share, on a separate cache line.
#[derive(Default)]
#[repr(align(128))]
struct Shelf(Mutex<Vec<Free>>);

/// An idle executor.
struct Free {
    executor: ServeExecutor,
    /// The executor's traces.
    traces: Arc<ServerImage>,
    /// The tenant of its last run.
    tenant: u16,
}

/// The number of threads that take and return executors without contention.
const SHELVES: usize = 8;

/// The settings for measuring and limiting trace runs.
pub(crate) struct Watch {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) tenants: Option<Arc<Tenants>>,
    /// Whether to measure the cost of each step.
    pub(crate) records: bool,
    /// Whether to record the start and duration of each step.
    pub(crate) spans: bool,
}

/// Reasons of failures that the input has not caused, so that another body may process it.
const NOT_THE_INPUTS_FAULT: [&str; 2] = ["panic", "device_failed"];

impl Executors {
    pub(crate) fn new(
        traces: &Arc<ServerImage>,
        settings: Settings,
        cores: usize,
        next_core: NextCore,
        maker: Maker,
        watch: Watch,
    ) -> Result<Executors, ServeError> {
        let executors = Executors {
            settings,
            cores,
            next_core,
            maker,
            watch,
            free: Default::default(),
        };
        // Invalid settings fail here, before the first request.
        let first = executors.make(traces, 0)?;
        executors.give(first);
        Ok(executors)
    }

    /// Runs one of `traces`. If an accelerator fails through no fault of the input, a core runs the
    /// trace again with fresh software bodies (`cpu_fallback` in the paper's Listing 2).
    pub(crate) fn run(
        &self,
        traces: &Arc<ServerImage>,
        name: &str,
        message: &Message<'_>,
        conversation: &mut Conversation,
    ) -> Result<TraceRun, RunError> {
        let payload = buffers::copy_of(message.bytes);
        self.run_with(traces, name, payload, message, conversation)
    }

    /// Like [`Executors::run`], with `payload` instead of the message's bytes. Copies the payload
    /// only if the core may have to start again with it.
    pub(crate) fn run_on(
        &self,
        traces: &Arc<ServerImage>,
        name: &str,
        payload: Vec<u8>,
        message: &Message<'_>,
        conversation: &mut Conversation,
    ) -> Result<TraceRun, RunError> {
        if !self.maker.may_fail {
            return self.run_with(traces, name, payload, message, conversation);
        }
        let kept = Message {
            bytes: &payload,
            ..message.clone()
        };
        let run = self.run(traces, name, &kept, conversation);
        buffers::give_back(payload);
        run
    }

    fn run_with(
        &self,
        traces: &Arc<ServerImage>,
        name: &str,
        payload: Vec<u8>,
        message: &Message<'_>,
        conversation: &mut Conversation,
    ) -> Result<TraceRun, RunError> {
        let tenants = self.watch.tenants.as_ref();
        let _running = tenants.and_then(|all| all.begin_trace(message.terms.tenant));
        let payload = match self.run_in_ensemble(traces, name, payload, message, conversation) {
            Ok(done) => {
                return match done {
                    Ok(outcome) => Ok(self.watched(outcome)),
                    Err(failure) => self.run_again(traces, name, message, conversation, failure),
                };
            }
            Err(payload) => payload,
        };
        let mut free = self.take(traces, message.terms.tenant)?;
        let executor = &mut free.executor;
        let done = executor.run_on(name, payload, message, conversation, &mut SocketPeer);
        let bodies = executor.bodies_mut();
        let costs_ns = std::mem::take(&mut bodies.costs_ns);
        let times = std::mem::take(&mut bodies.times);
        match done {
            Ok(outcome) => {
                self.give(free);
                Ok(TraceRun {
                    outcome,
                    costs_ns,
                    times,
                    elsewhere: Duration::ZERO,
                })
            }
            Err(failure) => {
                match NOT_THE_INPUTS_FAULT.contains(&failure.error.reason) {
                    // A body that panicked is not reused.
                    true => drop(free),
                    false => self.give(free),
                }
                self.run_again(traces, name, message, conversation, failure)
            }
        }
    }

    /// Runs a trace in the ensemble, if there is one. Returns the payload if there is no room; this
    /// thread then runs the trace itself.
    fn run_in_ensemble(
        &self,
        traces: &Arc<ServerImage>,
        name: &str,
        payload: Vec<u8>,
        message: &Message<'_>,
        conversation: &mut Conversation,
    ) -> Result<Result<Outcome, Box<Failure>>, Vec<u8>> {
        let Some(pools) = &self.maker.pools else {
            return Err(payload);
        };
        let equipment = &self.maker.equipment;
        if equipment.replace(&traces.bodies, traces.generation) {
            pools.renew_cores();
        }
        let request = TraceRequest {
            conversation: std::mem::take(conversation),
            detail: self.detail(),
            ..TraceRequest::new(name, payload, message, Box::new(SocketPeer))
        };
        match pools.enqueue(&traces.image, request) {
            Ok(handle) => {
                handle.wait_by(pools.settings().notification, None);
                let Finished {
                    result,
                    conversation: returned,
                } = handle.wait();
                *conversation = returned;
                Ok(result)
            }
            Err(refused) => {
                *conversation = refused.request.conversation;
                Err(refused.request.payload)
            }
        }
    }

    /// Returns a run in the ensemble with the costs and times to record.
    fn watched(&self, mut outcome: Outcome) -> TraceRun {
        let times = std::mem::take(&mut outcome.times);
        let costs_ns = match self.watch.records {
            true => times.iter().map(|time| nanoseconds(time.worked)).collect(),
            false => Vec::new(),
        };
        TraceRun {
            outcome,
            costs_ns,
            elsewhere: times.iter().map(|time| time.worked).sum(),
            times: match self.watch.spans {
                true => times.iter().map(|time| (time.queued, time.took)).collect(),
                false => Vec::new(),
            },
        }
    }

    /// After a failure, runs the trace again on the core if another body may succeed.
    fn run_again(
        &self,
        traces: &Arc<ServerImage>,
        name: &str,
        message: &Message<'_>,
        conversation: &mut Conversation,
        failure: Box<Failure>,
    ) -> Result<TraceRun, RunError> {
        let reason = failure.error.reason;
        self.watch.metrics.fallback(name, reason);
        // The core's own bodies would fail again.
        if !self.maker.may_fail || !NOT_THE_INPUTS_FAULT.contains(&reason) {
            return Err(RunError::Trace(failure));
        }
        let bodies = ensemble(&self.settings, self.cores, &self.next_core);
        let mut bodies = bodies.map_err(ServeError::from)?;
        traces.bodies.equip(&mut bodies);
        let mut core: Executor<Ensemble> = Executor::new(traces.image.as_ref().clone(), bodies);
        Ok(TraceRun {
            outcome: core.run(name, message, conversation, &mut SocketPeer)?,
            costs_ns: Vec::new(),
            times: Vec::new(),
            elsewhere: Duration::ZERO,
        })
    }

    /// The detail of outcomes.
    fn detail(&self) -> Detail {
        // The steps show the work of an ensemble's workers.
        let charges = self.watch.tenants.is_some() && self.maker.pools.is_some();
        match self.watch.records || self.watch.spans || charges {
            true => Detail::Steps,
            false => Detail::Results,
        }
    }

    fn make(&self, traces: &Arc<ServerImage>, tenant: u16) -> Result<Free, ServeError> {
        let mut inner = (self.maker.make)()?;
        traces.bodies.equip(&mut inner);
        let metrics = self.watch.metrics.clone();
        let mut executor = Executor::new(
            traces.image.as_ref().clone(),
            Measured {
                inner,
                metrics,
                costs_ns: Vec::new(),
                records: self.watch.records,
                times: Vec::new(),
                spans: self.watch.spans,
                last: Instant::now(),
            },
        );
        executor.set_detail(self.detail());
        let traces = traces.clone();
        Ok(Free {
            executor,
            traces,
            tenant,
        })
    }

    /// Takes an executor with `traces` and without data of other tenants.
    fn take(&self, traces: &Arc<ServerImage>, tenant: u16) -> Result<Free, ServeError> {
        let mine = share_of_thread(SHELVES);
        let shelves = (0..SHELVES).map(|turn| &self.free[(mine + turn) % SHELVES]);
        let Some(mut free) = shelves.into_iter().find_map(Shelf::take) else {
            return self.make(traces, tenant);
        };
        if !Arc::ptr_eq(&free.traces, traces) {
            free.executor.set_image(traces.image.as_ref().clone());
            traces.bodies.equip(&mut free.executor.bodies_mut().inner);
            free.traces = traces.clone();
        }
        if free.tenant != tenant {
            free.executor.bodies_mut().forget();
            free.tenant = tenant;
        }
        Ok(free)
    }

    fn give(&self, free: Free) {
        self.free[share_of_thread(SHELVES)].give(free);
    }
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, Vec<Free>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Free> {
        self.lock().pop()
    }

    fn give(&self, free: Free) {
        self.lock().push(free);
    }
}

/// Returns the maker of executors' bodies. If `execution` is an ensemble, starts it; its cores also
/// have the custom bodies `own`. `may_fail` states that `ensemble` creates bodies other than the
/// core's own.
pub(crate) fn bodies(
    execution: Execution,
    own: &CustomBodies,
    ensemble: impl Fn() -> Result<Ensemble, AccelError> + Send + Sync + 'static,
    may_fail: bool,
    metrics: &Arc<Metrics>,
) -> Result<Maker, ServeError> {
    let ensemble = Arc::new(ensemble);
    let make = ensemble.clone();
    let equipment = Equipment::of(own);
    let pools = match execution {
        Execution::Inline => None,
        Execution::Ensemble(settings) => {
            // The metrics own the ensemble, so the ensemble must not own the metrics.
            let metrics_of = Arc::downgrade(metrics);
            let observe = move |accel, own: Option<&str>, spent| {
                if let Some(metrics) = metrics_of.upgrade() {
                    match own {
                        Some(name) => metrics.own_step(name, spent),
                        None => metrics.step(accel, spent),
                    }
                }
            };
            let equipment = equipment.clone();
            let ensemble = move || {
                let mut ensemble = ensemble()?;
                equipment.equip(&mut ensemble);
                Ok(ensemble)
            };
            let pools = Pools::start_observed(settings, ensemble, observe)?;
            let pools = Arc::new(pools);
            metrics.watch(pools.clone());
            Some(pools)
        }
    };
    Ok(Maker {
        make: Box::new(move || make()),
        may_fail: may_fail || pools.is_some(),
        pools,
        equipment,
    })
}

/// Creates the bodies of executors.
pub(crate) struct Maker {
    make: Box<MakeEnsemble>,
    /// Whether these bodies can fail on input that the core's bodies process.
    may_fail: bool,
    /// The ensemble that runs the traces for which it has room.
    pools: Option<Arc<Pools>>,
    /// The custom bodies of the ensemble's cores.
    equipment: Equipment,
}

/// The reason why a trace has no outcome.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// The trace ended early.
    #[error(transparent)]
    Trace(#[from] Box<Failure>),
    /// No executor could be created.
    #[error(transparent)]
    Set(#[from] ServeError),
}

impl RunError {
    /// Whether `accel` refused its input.
    pub(crate) fn is_at(&self, accel: Accel) -> bool {
        match self {
            RunError::Trace(failure) => failure.error.accelerator == Some(accel),
            RunError::Set(_) => false,
        }
    }
}
