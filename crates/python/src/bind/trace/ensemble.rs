//! Runs of traces in the ensemble of accelerators (`accelflow_runtime::Pools`), for
//! `accelflow.trace`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use accelflow_accel::thrift::Schema;
use accelflow_accel::{AccelError, Ensemble};
use accelflow_parameters::Refusal;
use accelflow_runtime::{
    Answers, Busy, DispatchPolicy, Executor, Finished, Message, Notification, PoolError,
    PoolSettings, Pools, Priority, Refused, Terms, TraceHandle, TraceRequest, demo,
};
use accelflow_trace::{Accel, Image, Kind};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

use crate::bind::parameters::shown;
use crate::bind::trace::body;
use crate::bind::trace::ending::{self, SIGNALS, is_fork_of};
use crate::bind::trace::execution::{PyArrival, PyRun, finished, message, refused};
use crate::bind::trace::failure::Failure;
use crate::bind::trace::image::PyImage;
use crate::call::call;

/// `accelflow.trace.Ensemble`.
pub(crate) struct PySettings {
    workers: usize,
    workers_of: BTreeMap<String, usize>,
    instances: usize,
    core_workers: usize,
    queue_entries: usize,
    overflow_entries: usize,
    least_bytes: usize,
    policy: String,
    most_runs: usize,
    tenant_runs: usize,
    response_timeout_s: f64,
    notification: String,
    pinned: bool,
}

/// The parameters of a run other than its payload.
pub(crate) struct PyTerms {
    call: Option<Vec<String>>,
    tenant: u16,
    priority: String,
    due_within_s: Option<f64>,
    early: bool,
}

/// An ensemble of accelerators in software: queues and worker threads that run traces.
#[pyclass(frozen, name = "TraceEnsemble", module = "accelflow._native")]
pub(crate) struct PyEnsemble {
    /// The process that has the worker threads. A fork of it has none.
    process: u32,
    pools: Mutex<Option<Arc<Pools>>>,
    /// The trace memory of the latest run.
    image: Mutex<Arc<Image>>,
    notification: Notification,
    /// How often bodies had been added when the ensemble's cores last took them.
    changes: AtomicU64,
    /// Idle executors for runs on calling threads, each with how often bodies had been added when
    /// the executor was made.
    inline: Mutex<Vec<(u64, Executor)>>,
    cores: usize,
}

/// Names of counters, with their values.
type Counted = Vec<(&'static str, u64)>;

/// The attribute `name` of `given`. Raises TraceError, which says what is `allowed`, for a value of
/// another type and for a number out of range.
fn field<'py, T: FromPyObjectOwned<'py>>(
    given: &Bound<'py, PyAny>,
    name: &str,
    allowed: &str,
) -> PyResult<T> {
    let value = given.getattr(name)?;
    let found = value.extract::<T>();
    found.map_err(|_| bad(Refusal::new(name, shown(&value), allowed)).into())
}

/// Like [`field`], for a number. True and False are refused, which Python counts as 1 and 0.
fn number<'py, T: FromPyObjectOwned<'py>>(
    given: &Bound<'py, PyAny>,
    name: &str,
    allowed: &str,
) -> PyResult<T> {
    let value = given.getattr(name)?;
    match value.is_instance_of::<PyBool>() {
        true => Err(bad(Refusal::new(name, shown(&value), allowed)).into()),
        false => field(given, name, allowed),
    }
}

impl PySettings {
    fn read(given: &Bound<'_, PyAny>) -> PyResult<PySettings> {
        let from = |least: usize| format!("must be a whole number of at least {least}");
        let (one, none) = (&*from(1), &*from(0));
        Ok(PySettings {
            workers: number(given, "workers", one)?,
            workers_of: field(
                given,
                "workers_of",
                "must map names of accelerators to whole numbers of at least 1",
            )?,
            instances: number(given, "instances", one)?,
            core_workers: number(given, "core_workers", one)?,
            queue_entries: number(given, "queue_entries", one)?,
            overflow_entries: number(given, "overflow_entries", none)?,
            least_bytes: number(given, "least_bytes", none)?,
            policy: field(given, "policy", "must be the name of a policy")?,
            most_runs: number(given, "most_runs", one)?,
            tenant_runs: number(given, "tenant_runs", none)?,
            response_timeout_s: number(given, "response_timeout_s", "must be a number of seconds")?,
            notification: field(given, "notification", "must be wake, poll or check")?,
            pinned: field(given, "pinned", "must be True or False")?,
        })
    }
}

impl PyTerms {
    fn read(given: &Bound<'_, PyAny>) -> PyResult<PyTerms> {
        let tenant = format!("must be a whole number from 0 to {}", u16::MAX);
        Ok(PyTerms {
            call: field(given, "call", "must be a list of texts or None")?,
            tenant: number(given, "tenant", &tenant)?,
            priority: field(given, "priority", "must be low, normal or high")?,
            due_within_s: field(given, "due_within_s", "must be a number of seconds or None")?,
            early: field(given, "early", "must be True or False")?,
        })
    }
}

fn bad(refusal: Refusal) -> Failure {
    Failure::new("bad_setting", refusal)
}

const NO_NEGATIVE: &str = "must be 0 seconds or more";

/// A number of seconds from Python; more than 30 years count as 30 years.
fn seconds(name: &str, value: f64) -> Result<Duration, Failure> {
    const LONGEST_S: f64 = 1e9;
    // The smaller of NaN and a number is the number.
    let limited = if value.is_nan() {
        value
    } else {
        value.min(LONGEST_S)
    };
    Duration::try_from_secs_f64(limited).map_err(|_| bad(Refusal::number(name, value, NO_NEGATIVE)))
}

/// The workers of single accelerators by their names, in the order of [`Accel::ALL`].
///
/// # Errors
/// The error of a name or a number.
pub(crate) fn workers_of(given: &BTreeMap<String, usize>) -> Result<[usize; Accel::COUNT], String> {
    let mut workers_of = [0; Accel::COUNT];
    for (name, workers) in given {
        let Some(accel) = Accel::ALL.into_iter().find(|accel| accel.name() == name) else {
            let refusal = Refusal::unknown("workers_of", name, Accel::ALL.map(Accel::name));
            return Err(refusal.to_string());
        };
        if *workers == 0 {
            let place = format!("workers_of.{name}");
            return Err(Refusal::new(place, 0, "must be at least 1").to_string());
        }
        workers_of[accel.index()] = *workers;
    }
    Ok(workers_of)
}

fn settings(given: &PySettings) -> Result<PoolSettings, Failure> {
    let policy = DispatchPolicy::named(&given.policy);
    let policies = || {
        Refusal::unknown(
            "policy",
            &given.policy,
            DispatchPolicy::ALL.map(DispatchPolicy::name),
        )
    };
    let workers_of = workers_of(&given.workers_of);
    let workers_of = workers_of.map_err(|why| Failure::new("bad_setting", why))?;
    Ok(PoolSettings {
        instances: given.instances,
        workers: given.workers,
        workers_of,
        core_workers: given.core_workers,
        queue_entries: given.queue_entries,
        overflow_entries: given.overflow_entries,
        least_bytes: given.least_bytes,
        policy: policy.ok_or_else(|| bad(policies()))?,
        most_runs: given.most_runs,
        tenant_runs: given.tenant_runs,
        response_timeout: seconds("response_timeout_s", given.response_timeout_s)?,
        notification: match &*given.notification {
            "wake" => Notification::Wake,
            "poll" => Notification::Poll,
            "check" => Notification::Check(Duration::from_micros(50)),
            other => {
                let known = ["wake", "poll", "check"];
                return Err(bad(Refusal::unknown("notification", other, known)));
            }
        },
        pinned: given.pinned,
    })
}

/// The software bodies, with those that Python has given.
fn bodies(cores: usize) -> Result<Ensemble, AccelError> {
    let mut bodies = Ensemble::with_cores(cores)?;
    body::give_all(&mut bodies);
    Ok(bodies)
}

fn terms(given: &PyTerms) -> Result<Terms, Failure> {
    Ok(Terms {
        tenant: given.tenant,
        priority: match &*given.priority {
            "low" => Priority::Low,
            "normal" => Priority::Normal,
            "high" => Priority::High,
            other => {
                let known = ["low", "normal", "high"];
                return Err(bad(Refusal::unknown("priority", other, known)));
            }
        },
        due: match given.due_within_s {
            Some(within) => Some(Instant::now() + seconds("due_within_s", within)?),
            None => None,
        },
    })
}

#[pymethods]
impl PyEnsemble {
    /// Starts the worker threads, with an LdB that balances over `cores` cores.
    ///
    /// `settings` has the attributes of `accelflow.trace.Ensemble`. Raises TraceError for a setting
    /// that is not allowed, and if a thread cannot start.
    #[new]
    #[pyo3(signature = (settings, *, cores))]
    fn new(py: Python<'_>, settings: &Bound<'_, PyAny>, cores: usize) -> PyResult<PyEnsemble> {
        let settings = self::settings(&PySettings::read(settings)?)?;
        let changes = AtomicU64::new(body::changes());
        let started = py.detach(|| Pools::start(settings, move || bodies(cores)));
        let pools = started.map_err(|error| match error {
            PoolError::Accel(error) => refused(error),
            PoolError::Setting(_) => Failure::new("bad_setting", error),
            PoolError::Thread(_) => Failure::new("no_thread", error),
        })?;
        Ok(PyEnsemble {
            process: std::process::id(),
            pools: Mutex::new(Some(Arc::new(pools))),
            image: Mutex::default(),
            notification: settings.notification,
            changes,
            inline: Mutex::default(),
            cores,
        })
    }

    /// Starts the trace `name` of `image` on `payload`, and returns a handle of the run at once.
    ///
    /// If the payload has fewer than `least_bytes` bytes, the calling thread first runs the trace.
    /// `terms` has the run's tenant, priority and deadline, the kind of the payload, and whether
    /// `next_arrival` will be called. Raises TraceError if the queues are full, or the tenant has
    /// too many runs in progress, and in a fork of the process that started the ensemble.
    fn enqueue(
        &self,
        py: Python<'_>,
        image: &PyImage,
        name: &str,
        payload: &[u8],
        terms: &Bound<'_, PyAny>,
    ) -> PyResult<PyHandle> {
        let given = PyTerms::read(terms)?;
        let message = Message {
            terms: self::terms(&given)?,
            ..self::message(&Schema::social_network(), payload, given.call)?
        };
        let pools = self.open()?;
        let image = self.memory(image);
        let kinds = image.kinds().to_vec();
        let changes = body::changes();
        if self.changes.swap(changes, Ordering::Relaxed) != changes {
            pools.renew_cores();
        }
        let begun = py.detach(|| {
            // If the ensemble was closed meanwhile, this thread ends the workers.
            let pools = pools;
            let request = demo::trace_request(name, &message, Answers::default());
            let request = TraceRequest {
                early: given.early,
                ..request.map_err(refused)?
            };
            match pools.enqueue(&image, request) {
                Err(Refused {
                    why: Busy::Small { .. },
                    request,
                }) => self.run_inline(&image, *request, changes),
                begun => {
                    begun.map_err(|refused| Failure::new(refused.why.reason(), &refused).of(name))
                }
            }
        });
        Ok(PyHandle {
            process: self.process,
            handle: begun?,
            kinds,
            ended: Mutex::new(None),
            notification: self.notification,
        })
    }

    /// The event counters of each accelerator, as (accelerator, [(counter, count), ...]).
    ///
    /// Raises TraceError once closed.
    #[getter]
    fn counters(&self) -> PyResult<Vec<(&'static str, Counted)>> {
        let counters = self.open()?.counters();
        let named = Accel::ALL.into_iter().zip(counters);
        Ok(named
            .map(|(accel, counted)| {
                let counted = vec![
                    ("done", counted.done),
                    ("overflowed", counted.overflowed),
                    ("retried", counted.retried),
                    ("full", counted.full),
                    ("panics", counted.panics),
                    ("exchanged", counted.exchanged),
                    ("with_deadline", counted.with_deadline),
                    ("late", counted.late),
                ];
                (accel.name(), counted)
            })
            .collect())
    }

    /// The number of runs of payloads below `least_bytes` bytes, which calling threads did.
    ///
    /// Raises TraceError once closed.
    #[getter]
    fn too_small(&self) -> PyResult<u64> {
        Ok(self.open()?.too_small())
    }

    /// Waits for runs in progress, and stops the worker threads.
    ///
    /// Runs that wait for a message from outside fail. In a fork of the process that started the
    /// ensemble, this does nothing. What a signal's handler raises, such as KeyboardInterrupt, ends
    /// the wait; the threads then end by themselves.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(pools) = self.take() else {
            return Ok(());
        };
        let ended = py.detach(|| ending::end(pools));
        ending::wait(py, ended)
    }
}

impl PyEnsemble {
    /// Runs a trace on the calling thread, with bodies as of `changes`.
    fn run_inline(
        &self,
        image: &Arc<Image>,
        request: TraceRequest,
        changes: u64,
    ) -> Result<TraceHandle, Failure> {
        let kept = || self.inline.lock().unwrap_or_else(PoisonError::into_inner);
        let made = kept().pop().filter(|(then, _)| *then == changes);
        let mut executor = match made {
            Some((_, executor)) => executor,
            None => Executor::new(image.clone(), bodies(self.cores).map_err(refused)?),
        };
        executor.set_image(image.clone());
        let finished = request.run_inline(&mut executor);
        kept().push((changes, executor));
        Ok(TraceHandle::ended(finished))
    }

    /// Takes the pools out, for the caller to end. `None` if they have been taken before, or if
    /// this process is a fork of the one that has their threads.
    fn take(&self) -> Option<Arc<Pools>> {
        if is_fork_of(self.process) {
            return None;
        }
        // The lock is released at once: another thread may hold the interpreter and wait for it.
        let mut open = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        open.take()
    }

    /// The pools, unless they were closed. The lock is released at once: a thread that kept it
    /// while waiting for the interpreter could deadlock with one that has the interpreter and waits
    /// for the lock.
    fn open(&self) -> Result<Arc<Pools>, Failure> {
        if is_fork_of(self.process) {
            let message = "the ensemble has threads only in the process that started it, and this \
                           is a fork of that process: start another ensemble here";
            return Err(Failure::new("forked", message));
        }
        let pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.clone().ok_or_else(ended)
    }

    /// The trace memory that runs of `image` share.
    fn memory(&self, image: &PyImage) -> Arc<Image> {
        let mut latest = self.image.lock().unwrap_or_else(PoisonError::into_inner);
        if **latest != *image.inner() {
            *latest = Arc::new(image.inner().clone());
        }
        latest.clone()
    }
}

impl Drop for PyEnsemble {
    /// Does not wait for the runs in progress, so that the program may go on, and be interrupted.
    fn drop(&mut self) {
        if is_fork_of(self.process) {
            // Their end would wait for threads that only the other process has.
            let pools = self.pools.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(pools.take());
            return;
        }
        if let Some(pools) = self.take() {
            Python::attach(|py| py.detach(|| ending::end(pools)));
        }
    }
}

fn ended() -> Failure {
    Failure::new("ensemble_ended", "the ensemble was closed")
}

/// A run of a trace in the software ensemble.
#[pyclass(frozen, name = "TraceHandle", module = "accelflow._native")]
pub(crate) struct PyHandle {
    /// The process in which the trace runs.
    process: u32,
    handle: TraceHandle,
    /// The custom accelerators that its traces call.
    kinds: Vec<Arc<Kind>>,
    /// The end of the run, after the first call that read it.
    ended: Mutex<Option<Result<Py<PyRun>, PyErr>>>,
    notification: Notification,
}

#[pymethods]
impl PyHandle {
    /// Returns whether the run has ended.
    fn done(&self) -> bool {
        self.handle.is_done()
    }

    /// Waits for the end of the run, for at most `timeout_s` seconds, and returns its record.
    ///
    /// With 0, it does not wait. Raises TraceError if the run failed, and TimeoutError if it has
    /// not ended in time.
    #[pyo3(signature = (timeout_s=None))]
    fn wait(&self, py: Python<'_>, timeout_s: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyRun>> {
        let until = until(timeout_s)?;
        self.sleep(py, until, |slice| {
            self.handle.wait_by(self.notification, slice).then_some(())
        })?
        .ok_or_else(|| PyTimeoutError::new_err("the trace has not ended within timeout_s"))?;
        self.result(py)
    }

    /// Waits for the next result that the run delivers before its end, and returns it.
    ///
    /// The trace and each arm that a fork starts deliver a result when they end. Returns None once
    /// the run has ended. Raises TimeoutError without a result within `timeout_s` seconds; with 0,
    /// it does not wait.
    #[pyo3(signature = (timeout_s=None))]
    fn next_arrival(
        &self,
        py: Python<'_>,
        timeout_s: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<PyArrival>> {
        let until = until(timeout_s)?;
        let found = self.sleep(py, until, |slice| {
            let arrival = self.handle.next_arrival(slice);
            (arrival.is_some() || self.handle.is_done()).then_some(arrival)
        })?;
        match found {
            Some(Some(arrival)) => Ok(Some(PyArrival::of(&arrival).map_err(refused)?)),
            Some(None) => Ok(None),
            None => Err(PyTimeoutError::new_err(
                "no execution of the trace has ended within timeout_s",
            )),
        }
    }

    /// Calls `callback()` when the run ends, or at once if it has ended.
    ///
    /// Callbacks that wait for the end are called in the order in which they were given.
    /// Exceptions of `callback` are reported like those of a destructor, and have no other effect.
    /// Raises TraceError in a fork of the process in which the trace runs.
    fn on_done(&self, callback: Py<PyAny>) -> PyResult<()> {
        self.check_process()?;
        self.handle.on_done(move || {
            Python::attach(|py| {
                if let Err(error) = call(callback.bind(py), &PyTuple::empty(py)) {
                    error.write_unraisable(py, Some(callback.bind(py)));
                }
            });
        });
        Ok(())
    }
}

impl PyHandle {
    /// The end of the run, which has ended.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyRun>> {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Finished { result, .. }) = self.handle.take() {
            let run = finished(result, self.kinds.clone());
            *ended = Some(run.and_then(|run| Py::new(py, run)));
        }
        match &*ended {
            Some(Ok(run)) => Ok(run.clone_ref(py)),
            Some(Err(error)) => Err(error.clone_ref(py)),
            None => Err(Failure::new("not_done", "the trace has not ended").into()),
        }
    }

    /// Refuses to wait in a fork for a run that the process before it goes on with.
    fn check_process(&self) -> Result<(), Failure> {
        if is_fork_of(self.process) && !self.handle.is_done() {
            let message = "the trace ends in the process that began it, and this is a fork of that \
                           process";
            return Err(Failure::new("forked", message));
        }
        Ok(())
    }

    /// Waits in slices, and checks for signals between them; `None` after `until`.
    fn sleep<T: Send>(
        &self,
        py: Python<'_>,
        until: Option<Instant>,
        attempt: impl Fn(Option<Instant>) -> Option<T> + Sync,
    ) -> PyResult<Option<T>> {
        if body::is_running() {
            let message =
                "an accelerator's body cannot wait for a trace: both may need the same thread";
            return Err(Failure::new("within_body", message).into());
        }
        self.check_process()?;
        loop {
            let slice = Instant::now() + SIGNALS;
            let end = until.map_or(slice, |until| until.min(slice));
            if let Some(found) = py.detach(|| attempt(Some(end))) {
                return Ok(Some(found));
            }
            py.check_signals()?;
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(None);
            }
        }
    }
}

fn until(timeout_s: Option<&Bound<'_, PyAny>>) -> Result<Option<Instant>, Failure> {
    let Some(timeout_s) = timeout_s else {
        return Ok(None);
    };
    let Ok(number) = timeout_s.extract::<f64>() else {
        let allowed = format!("{NO_NEGATIVE}, or None");
        return Err(bad(Refusal::new("timeout_s", shown(timeout_s), allowed)));
    };
    Ok(Some(Instant::now() + seconds("timeout_s", number)?))
}
