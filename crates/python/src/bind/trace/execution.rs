//! Traces on bytes (`accelflow_runtime`) for `accelflow.trace.run_trace`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accelflow_accel::http::HttpCall;
use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::storage::{Operation, Role, StorageCall};
use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_accel::{AccelError, Call};
use accelflow_runtime::{Answers, Executor, Message, Outcome, demo};
use accelflow_trace::{Image, Kind};
use pyo3::prelude::*;

use crate::bind::trace::body::{self, PyBody};
use crate::bind::trace::failure::Failure;
use crate::bind::trace::image::{PyImage, describe};
use crate::bind::trace::node::PyNode;

/// Runs traces on bytes, inline on the calling thread, with the software bodies. Runs of several
/// threads wait for one another.
#[pyclass(frozen, name = "TraceExecutor", module = "accelflow._native")]
pub(crate) struct PyExecutor {
    inner: Mutex<Executor>,
}

impl PyExecutor {
    fn lock(&self) -> MutexGuard<'_, Executor> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyExecutor {
    /// An executor whose LdB balances over `cores` cores. Raises TraceError for none.
    #[new]
    #[pyo3(signature = (*, cores))]
    fn new(cores: usize) -> PyResult<PyExecutor> {
        let inner = Executor::with_cores(Image::default(), cores).map_err(refused)?;
        Ok(PyExecutor {
            inner: Mutex::new(inner),
        })
    }

    /// Runs the trace `name` of `image` on `payload`: without `call` on packets from the demo's
    /// client, with it on JSON to be sent as that kind of message, or for a cache's response on
    /// packets again. Raises TraceError, with the step, for the first thing that cannot be done.
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
            let message = "a body cannot run traces on the executor that runs it";
            return Err(Failure::new("within_body", message).of(name).into());
        }
        let done = py.detach(|| {
            let mut executor = self.lock();
            if executor.image() != image.inner() {
                executor.set_image(image.inner().clone());
            }
            demo::run_trace_as(&mut executor, name, &message, Answers::default())
        });
        finished(done, image.inner().kinds().to_vec())
    }

    /// Has the accelerator beside the nine that `kind` calls done by `body`, in the place of an earlier
    /// one: a function of the payload and a dict of the facts, which returns the new payload, or None
    /// to keep it, or a pair of that and a dict of the facts that `kind` yields. A run in which it
    /// raises fails.
    fn add_body(&self, py: Python<'_>, kind: &PyNode, body: Py<PyAny>) -> PyResult<()> {
        let Some(kind) = kind.own() else {
            let message = "a body is for an accelerator beside the nine";
            return Err(Failure::new("bad_kind", message).into());
        };
        let body = Box::new(PyBody::new(kind.clone(), body));
        py.detach(|| self.lock().bodies_mut().add(body));
        Ok(())
    }

    /// How many runs reached their end, and how many ended early, by reason.
    #[getter]
    fn counters(&self) -> (u64, BTreeMap<&'static str, u64>) {
        let executor = self.lock();
        let counters = executor.counters();
        (counters.completed, counters.failed.clone())
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
                "call is {other:?}; allowed are (rpc, METHOD), (reply, METHOD), \
                 (cache_get, COLLECTION, KEY), cache_set, db_find, db_insert and cache_response \
                 likewise, and (http, HOST, TARGET)"
            ),
        )),
    }
}

/// What a run did.
#[pyclass(frozen, name = "TraceRun", module = "accelflow._native")]
pub(crate) struct PyRun {
    outcome: Outcome,
    kinds: Vec<Arc<Kind>>,
}

#[pymethods]
impl PyRun {
    /// What each execution ended with, in order of their ends: one, and one more for each fork.
    #[getter]
    fn arrivals(&self) -> PyResult<Vec<PyArrival>> {
        let read = |arrival: &accelflow_runtime::Arrival| -> Result<PyArrival, AccelError> {
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
        };
        let arrivals: Result<_, _> = self.outcome.arrivals.iter().map(read).collect();
        Ok(arrivals.map_err(refused)?)
    }

    /// Everything that was visited, in the form of `TraceImage.walk`.
    #[getter]
    fn visits(&self) -> Vec<(&'static str, String)> {
        let visits = self.outcome.visits.iter().cloned();
        visits.map(|visit| describe(visit, &self.kinds)).collect()
    }

    /// The accelerator calls: trace, arm, accelerator, bytes read, bytes written.
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

    /// The messages that were sent: trace and packets.
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

/// The end of one execution: what the core finds when it is notified.
#[pyclass(frozen, get_all, name = "TraceArrival", module = "accelflow._native")]
pub(crate) struct PyArrival {
    /// The trace that ended.
    trace: String,
    /// Which execution: 0 for the first, then one number for each that a fork started.
    arm: usize,
    /// The application data, or the packets where the execution ended with sending.
    data: Vec<u8>,
    /// The format of the data.
    format: &'static str,
    /// The core that LdB chose, if LdB ran.
    core: Option<usize>,
    /// The integer facts that branches can test.
    facts: BTreeMap<String, i64>,
    /// The facts that are text, such as the method.
    texts: BTreeMap<String, String>,
}

/// The packets in which the demo's client calls `method`: input for T1. Raises TraceError for an
/// unknown method.
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

/// The TLS application traffic secrets of a demo connection: the client's, the server's.
#[pyfunction]
#[pyo3(signature = (number=0))]
pub(crate) fn demo_secrets(number: u64) -> (Cow<'static, [u8]>, Cow<'static, [u8]>) {
    let [client, server] = demo::secrets(number).map(|secret| Cow::Owned(secret.to_vec()));
    (client, server)
}
