//! Runs of traces on real bytes (`accelflow_runtime`), for `accelflow.trace.run_trace`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accelflow_accel::http::HttpCall;
use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::storage::{Operation, Role, StorageCall};
use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_accel::{AccelError, Call};
use accelflow_parameters::{Refusal, quoted};
use accelflow_runtime::{Answers, Arrival, Counters, Executor, Message, Outcome, demo};
use accelflow_trace::{Image, Kind};
use pyo3::prelude::*;

use crate::bind::trace::body;
use crate::bind::trace::failure::Failure;
use crate::bind::trace::image::{PyImage, describe};
use crate::bind::trace::node::PyNode;

/// Runs traces on bytes, on the calling thread.
///
/// Software does the operations of the accelerators. Several threads may use it at the same time.
#[pyclass(frozen, name = "TraceExecutor", module = "accelflow._native")]
pub(crate) struct PyExecutor {
    cores: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Idle executors. There are as many executors as threads have ever run at once.
    free: Vec<Free>,
    ended: Counters,
}

/// An executor between two runs.
struct Free {
    executor: Executor,
    /// How often bodies had been added when the executor got them.
    changes: u64,
}

impl PyExecutor {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An executor with all bodies that were added.
    fn take(&self) -> Result<Free, AccelError> {
        let free = self.lock().free.pop();
        let mut free = match free {
            Some(free) => free,
            None => Free {
                executor: Executor::with_cores(Image::default(), self.cores)?,
                changes: 0,
            },
        };
        if free.changes != body::changes() {
            free.changes = body::give_all(free.executor.bodies_mut());
        }
        Ok(free)
    }

    fn give(&self, free: Free, ended: Result<(), &'static str>) {
        let mut inner = self.lock();
        inner.free.push(free);
        inner.ended.count(ended);
    }
}

#[pymethods]
impl PyExecutor {
    /// Creates an executor whose LdB balances over `cores` cores.
    ///
    /// Raises TraceError for 0 cores.
    #[new]
    #[pyo3(signature = (*, cores))]
    fn new(cores: usize) -> PyResult<PyExecutor> {
        let executor = PyExecutor {
            cores,
            inner: Mutex::default(),
        };
        // Invalid settings fail here.
        let first = executor.take().map_err(refused)?;
        executor.lock().free.push(first);
        Ok(executor)
    }

    /// Runs the trace `name` of `image` on `payload`, to its end.
    ///
    /// `call` is the kind of message, as for `accelflow.trace.run_trace`. With `call`, `payload` is
    /// the JSON to send or, for a cache's response, the packets received. Without `call`, `payload`
    /// is the packets of a request, as `demo_request` returns them. Raises TraceError, with the
    /// index of the step, for the first step that fails. Exceptions of a body that are not an
    /// Exception, such as KeyboardInterrupt, are raised unchanged.
    #[pyo3(signature = (image, name, payload, *, call=None))]
    fn run(
        &self,
        py: Python<'_>,
        image: &PyImage,
        name: &str,
        payload: &[u8],
        call: Option<Vec<String>>,
    ) -> PyResult<PyRun> {
        let message = message(&Schema::social_network(), payload, call)?;
        if body::is_running() {
            let message =
                "an accelerator's body cannot run a trace on the executor that runs the body";
            return Err(Failure::new("within_body", message).of(name).into());
        }
        let done = py.detach(|| {
            let mut free = self.take()?;
            let executor = &mut free.executor;
            if executor.image() != image.inner() {
                executor.set_image(image.inner().clone());
            }
            let (done, ending) =
                body::watch(|| demo::run_trace_as(executor, name, &message, Answers::default()));
            let ended = done.as_ref().map(|_| ());
            self.give(free, ended.map_err(|failure| failure.error.reason));
            Ok((done, ending))
        });
        let (done, ending) = done.map_err(refused)?;
        if let Some(ending) = ending {
            return Err(ending);
        }
        finished(done, image.inner().kinds().to_vec())
    }

    /// Sets the software of the custom accelerator that the node `kind` calls.
    ///
    /// The software serves all executors and ensembles of the process, and replaces earlier
    /// software of that accelerator. `body` is a function of the payload and a dict of the facts.
    /// `body` returns the new payload (None: unchanged), or a pair of the new payload and a dict of
    /// the facts that `kind` yields. If `body` raises an Exception, the run fails. Raises
    /// TraceError for a node that calls no custom accelerator.
    #[allow(clippy::unused_self, reason = "it is a method in Python")]
    fn add_body(&self, kind: &PyNode, body: Py<PyAny>) -> PyResult<()> {
        let Some(kind) = kind.own() else {
            let allowed = "must be a custom accelerator, not one of the paper's nine";
            let message = Refusal::new("kind", quoted(kind.name().unwrap_or_default()), allowed);
            return Err(Failure::new("bad_kind", message).into());
        };
        body::add(kind.clone(), body);
        Ok(())
    }

    /// The number of runs that reached their end, and the number of failed runs by reason.
    #[getter]
    fn counters(&self) -> (u64, BTreeMap<&'static str, u64>) {
        let inner = self.lock();
        (inner.ended.completed, inner.ended.failed.clone())
    }
}

pub(crate) fn refused(error: AccelError) -> Failure {
    Failure::new(error.reason(), error)
}

/// The message that a run begins with.
pub(crate) fn message<'p>(
    schema: &Arc<Schema>,
    payload: &'p [u8],
    call: Option<Vec<String>>,
) -> Result<Message<'p>, Failure> {
    let Some(call) = call else {
        return Ok(Message::received(payload));
    };
    Ok(match read_call(schema, &call)? {
        Call::Storage(call) if call.role == Role::Response => Message {
            call: Call::Storage(call),
            ..Message::received(payload)
        },
        call => Message::json(payload, call),
    })
}

/// The record of a run, or the TraceError of one that failed.
pub(crate) fn finished(
    done: Result<Outcome, Box<accelflow_runtime::Failure>>,
    kinds: Vec<Arc<Kind>>,
) -> PyResult<PyRun> {
    let failure = match done {
        Ok(outcome) => return Ok(PyRun { outcome, kinds }),
        Err(failure) => failure,
    };
    let error = &failure.error;
    let found = Failure::new(error.reason, error).of(&error.trace);
    Err(match error.step {
        Some(step) => found.at_step(step).into(),
        None => found.into(),
    })
}

fn read_call(schema: &Arc<Schema>, words: &[String]) -> Result<Call, Failure> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let thrift = |method| ThriftCall::request(schema, method, Protocol::Binary, 0).map_err(refused);
    let storage = |operation, collection, key| {
        let call = StorageCall::request(operation, collection, key);
        Ok(Call::Storage(call))
    };
    match words.as_slice() {
        ["rpc", method] => Ok(Call::Thrift(thrift(method)?)),
        ["reply", method] => Ok(Call::Thrift(thrift(method)?.reply())),
        ["cache_get", collection, key] => storage(Operation::CacheGet, collection, key),
        ["cache_set", collection, key] => storage(Operation::CacheSet, collection, key),
        ["db_find", collection, key] => storage(Operation::DbFind, collection, key),
        ["db_insert", collection, key] => storage(Operation::DbInsert, collection, key),
        ["cache_response", collection, key] => Ok(Call::Storage(StorageCall {
            role: Role::Response,
            ..StorageCall::request(Operation::CacheGet, collection, key)
        })),
        ["http", host, target] => Ok(Call::Http(HttpCall::post(host, target))),
        other => Err(Failure::new(
            "bad_call",
            format!(
                "call = ({}): must be (rpc, METHOD), (reply, METHOD), (http, HOST, TARGET), or \
                 (OPERATION, COLLECTION, KEY) with the operation cache_get, cache_set, db_find, \
                 db_insert or cache_response",
                other.join(", ")
            ),
        )),
    }
}

/// The record of a finished run of a trace.
#[pyclass(frozen, name = "TraceRun", module = "accelflow._native")]
pub(crate) struct PyRun {
    outcome: Outcome,
    kinds: Vec<Arc<Kind>>,
}

impl PyArrival {
    pub(crate) fn of(arrival: &Arrival) -> Result<PyArrival, AccelError> {
        let (data, format) = arrival.job.data()?;
        let facts = &arrival.job.facts;
        Ok(PyArrival {
            trace: arrival.trace.clone(),
            arm: arrival.arm,
            data: data.into_owned(),
            format: format.name(),
            core: arrival.job.core,
            facts: facts.iter().map(|(n, v)| (n.to_owned(), v)).collect(),
            texts: facts
                .texts()
                .map(|(n, v)| (n.to_owned(), v.to_owned()))
                .collect(),
        })
    }
}

#[pymethods]
impl PyRun {
    /// The ends of the trace and of each arm that a fork started, in the order of notification.
    ///
    /// Left out are those that `TraceHandle.next_arrival` has returned.
    #[getter]
    fn arrivals(&self) -> PyResult<Vec<PyArrival>> {
        let arrivals: Result<_, _> = self.outcome.arrivals.iter().map(PyArrival::of).collect();
        Ok(arrivals.map_err(refused)?)
    }

    /// The steps that were executed, in the form of `TraceImage.walk`.
    #[getter]
    fn visits(&self) -> Vec<(&'static str, String)> {
        let visits = self.outcome.visits.iter().cloned();
        visits.map(|visit| describe(visit, &self.kinds)).collect()
    }

    /// The calls: (trace, index of the execution, accelerator, bytes read, bytes written).
    #[getter]
    fn steps(&self) -> Vec<(String, usize, String, usize, usize)> {
        let steps = self.outcome.steps.iter();
        steps
            .map(|step| {
                let (input, output) = (step.input_bytes, step.output_bytes);
                (
                    step.trace.clone(),
                    step.arm,
                    step.name().to_owned(),
                    input,
                    output,
                )
            })
            .collect()
    }

    /// The sent messages, each as (name of the sending trace, packets of the message).
    #[getter]
    fn sent(&self) -> Vec<(String, Vec<u8>)> {
        let sent = self.outcome.sent.iter();
        sent.map(|message| (message.trace.clone(), message.bytes.clone()))
            .collect()
    }

    fn __repr__(&self) -> String {
        let (steps, sent) = (self.outcome.steps.len(), self.outcome.sent.len());
        format!("<TraceRun of {steps} accelerator calls, {sent} messages sent>")
    }
}

/// The end of one execution of a trace: what the core finds when it is notified.
#[pyclass(frozen, get_all, name = "TraceArrival", module = "accelflow._native")]
pub(crate) struct PyArrival {
    /// The name of the trace that ended.
    trace: String,
    /// The index of the execution: 0 for the trace itself, 1 and up for those of forks.
    arm: usize,
    /// The payload: application data, or the packets if the execution ended with sending.
    data: Vec<u8>,
    /// The name of the payload's format.
    format: &'static str,
    /// The index of the core that LdB chose; None if LdB did not run.
    core: Option<usize>,
    /// The facts of the payload that are integers, by name.
    facts: BTreeMap<String, i64>,
    /// The facts of the payload that are text, such as the method, by name.
    texts: BTreeMap<String, String>,
}

/// Returns the packets of a call of `method` by the demo's client, which T1 receives.
///
/// `seed` and `index` choose the content of the message. Raises TraceError for an unknown method.
#[pyfunction]
#[pyo3(signature = (method, *, seed=1, index=0, compressed=false))]
pub(crate) fn demo_request(
    method: &str,
    seed: u64,
    index: u64,
    compressed: bool,
) -> PyResult<Vec<u8>> {
    Ok(demo::request(method, seed, index, compressed).map_err(refused)?)
}

/// Returns the TLS traffic secrets of the demo connection `number`: (client's, server's).
#[pyfunction]
#[pyo3(signature = (number=0))]
pub(crate) fn demo_secrets(number: u64) -> (Cow<'static, [u8]>, Cow<'static, [u8]>) {
    let [client, server] = demo::secrets(number).map(|secret| Cow::Owned(secret.to_vec()));
    (client, server)
}
