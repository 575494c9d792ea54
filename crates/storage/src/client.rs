//! The client of a storage gateway: each call runs a chain of traces.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use accelflow_accel::balance::{CoreLoads, RoundRobin};
use accelflow_accel::storage::{Operation, StorageCall};
use accelflow_accel::{AccelError, Call, Ensemble, Job, Settings};
use accelflow_runtime::thread_time;
use accelflow_runtime::trail::{self, TrailChain};
use accelflow_runtime::{Arrival, Conversation, Failure, Message, TenantBusy};
use accelflow_serve::{
    Engine, EngineExecutor, Execution, MAX_TIME_LIMIT, ServeError, Slot, SocketTcp, TlsTrust,
    answer_caller, begin_chain, current_deadline, current_terms,
};
use serde::Deserialize;

use crate::connection::{ConnectError, Destination, GatewayConnection};
use crate::traces::{self, StorageImage, StorageTraces, TracesError};

/// The settings of a [`Storage`] client: address and name of the gateway, trusted certificates,
/// number of connections, time limit and threads.
#[derive(Clone, Debug)]
pub struct StorageConfig {
    /// The address of the storage gateway, which forwards requests to Redis and PostgreSQL.
    pub address: SocketAddr,
    /// The name (DNS name or IP address) that the gateway's certificate must have.
    pub server_name: String,
    /// The path of the PEM file with the trusted certificates (authorities).
    pub roots: std::path::PathBuf,
    /// The largest number of open connections to the gateway, 1 to 4,096. A call waits while all
    /// connections are in use.
    pub connections: usize,
    /// The time limit of a read or write, from the wait for a connection to the last response. An
    /// earlier deadline of the request being handled (`accelflow_serve::current_deadline`) takes
    /// precedence.
    pub timeout: Duration,
    /// The threads that do the work of the accelerators. With [`Execution::Ensemble`], worker
    /// threads choose their next work by tenant, priority and deadline of the requests; the
    /// ensemble's `response_timeout` does not apply, since [`StorageConfig::timeout`] does.
    pub execution: Execution,
}

/// The error of a [`Storage`] client that cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The file of trusted certificates is not usable, the server name is invalid, or the worker
    /// threads of [`StorageConfig::execution`] could not be started.
    #[error(transparent)]
    Trust(#[from] ServeError),
    /// [`StorageConfig::connections`] is not from 1 to 4,096. Holds its value.
    #[error("connections = {0}: must be from 1 to 4,096")]
    Connections(usize),
    /// The client's traces could not be linked: put into one trace memory, with the addresses of
    /// the traces to which tails lead.
    #[error(transparent)]
    Traces(#[from] TracesError),
}

/// The error of a read or write through a [`Storage`] client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The database does not have the document, or not all of the documents of several keys.
    #[error("{collection}/{key} was not found")]
    NotFound {
        /// The collection of the document.
        collection: String,
        /// The key of the document.
        key: String,
    },
    /// The gateway, the cache or the database refused the operation, or failed, or the gateway got
    /// no answer from them in time. In the last two cases, a write may have been performed.
    #[error("{collection}/{key}: {why}")]
    Exception {
        /// The collection of the document.
        collection: String,
        /// The key of the document.
        key: String,
        /// The reason for the refusal or the failure.
        why: String,
    },
    /// All connections were in use until the time limit of the read or write. Holds the number of
    /// connections.
    #[error("none of the {0} connections to storage became free in time")]
    Exhausted(usize),
    /// The tenant is at its limit of concurrent calls and storage accesses, and no call or access
    /// ended in time. No request was sent.
    #[error("storage: {0}")]
    TenantBusy(#[from] TenantBusy),
    /// An error like [`StorageError::NotFound`] or [`StorageError::Exception`]. The accelerators
    /// have already sent this error to the client whose request the handler serves
    /// (`accelflow_serve::Config::errors_to_caller`). The handler's result is discarded.
    #[error(
        "{collection}/{key}: the error was already sent to the client whose request is being \
         handled"
    )]
    Answered {
        /// The collection of the document.
        collection: String,
        /// The key of the document.
        key: String,
    },
    /// No connection to the gateway could be opened, so no request was sent.
    #[error("no connection to storage: {0}")]
    Connect(#[from] ConnectError),
    /// A trace of the read or write failed. A write may or may not have been performed.
    #[error(transparent)]
    Trace(#[from] Box<Failure>),
    /// The data in the response are invalid.
    #[error(transparent)]
    Data(#[from] AccelError),
}

/// A client that reads and writes data in the cache and database behind a storage
/// [`Gateway`](crate::Gateway). Clones of the client share the connections to the gateway.
#[derive(Clone)]
pub struct Storage {
    shared: Arc<Shared>,
}

struct Shared {
    destination: Destination,
    traces: Slot<StorageImage, StorageTraces>,
    engine: Engine,
    connections: usize,
    timeout: Duration,
    pool: Mutex<Pool>,
    returned: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Worker>,
    made: usize,
}

/// A connection, and the executor of the traces that use it.
struct Worker {
    executor: EngineExecutor,
    /// The traces that the executor has.
    traces: Arc<StorageImage>,
    /// The tenant of its last access.
    tenant: u16,
    connection: GatewayConnection,
}

impl std::fmt::Debug for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Storage")
            .field("address", &self.shared.destination.address)
            .finish_non_exhaustive()
    }
}

impl Storage {
    /// Creates a client of the gateway at `config.address`. The client opens connections only when
    /// reads or writes need them.
    ///
    /// # Errors
    /// [`SetupError`] for unusable certificates, an invalid server name, a number of connections
    /// outside 1 to 4,096, or workers (threads) that cannot be started.
    pub fn new(config: &StorageConfig) -> Result<Storage, SetupError> {
        if !(1..=4_096).contains(&config.connections) {
            return Err(SetupError::Connections(config.connections));
        }
        let trust = TlsTrust::from_pem_file(&config.roots, &config.server_name)?;
        let destination = Destination {
            address: config.address,
            // Session tickets would arrive between the gateway's messages.
            trust: trust.without_resumption(),
            limits: Settings::default().limits,
        };
        Ok(Storage {
            shared: Arc::new(Shared {
                destination,
                traces: Slot::new(None, traces::link)?,
                engine: Engine::new(config.execution, ensemble)?,
                connections: config.connections,
                timeout: config.timeout.min(MAX_TIME_LIMIT),
                pool: Mutex::default(),
                returned: Condvar::new(),
            }),
        })
    }

    /// Replaces the traces (short programs of accelerator calls) by which this client reads and
    /// writes; `None` restores the default traces. Reads and writes in progress keep the old
    /// traces. Returns the number of replacements so far, this one included.
    ///
    /// # Errors
    /// [`TracesError::Own`] for traces that are invalid or do not fit a read or write. The client
    /// then keeps the old traces.
    pub fn set_traces(&self, traces: Option<StorageTraces>) -> Result<u64, TracesError> {
        self.shared.traces.replace(traces, traces::link)
    }

    /// Reads this client's trace file again, and replaces the traces by which the client reads and
    /// writes, like [`Storage::set_traces`]. Returns the number of replacements so far, this one
    /// included.
    ///
    /// # Errors
    /// [`TracesError::Own`] if the client has no trace file, or if the file cannot be read or has
    /// traces that are invalid or do not fit a read or write. The client then keeps the old traces.
    pub fn reload_traces(&self) -> Result<u64, TracesError> {
        self.shared.traces.reload(traces::link)
    }

    /// Reads the document or list under `key` of `collection` from the cache or, after a miss, from
    /// the database. Returns the data uncompressed, in the form that [`Kind`](crate::Kind)
    /// documents.
    ///
    /// Runs the AccelFlow paper's traces T4 (sends the request) and T5 (receives the cache's
    /// response). After a miss, T5 asks the database, T6 receives the data and fills the cache, and
    /// T7 receives the cache's confirmation.
    ///
    /// # Errors
    /// [`StorageError`] if there is no such document or the access failed.
    pub fn read(&self, collection: &str, key: &str) -> Result<Vec<u8>, StorageError> {
        let call = StorageCall::request(Operation::CacheGet, collection, key);
        self.run(
            |traces| &traces.read,
            call,
            &[],
            |job| Ok(job.data()?.0.into_owned()),
        )
    }

    /// Writes a JSON document under `key` of `collection` to the database, by the AccelFlow paper's
    /// traces T8 (sends the request) and T7 (receives the response). In a collection of lists, adds
    /// the JSON value to lists instead ([`Kind::Lists`](crate::Kind)). When the method returns
    /// `Ok`, the write is committed.
    ///
    /// # Errors
    /// [`StorageError`] if the cache or database refused the write, or the access failed.
    pub fn write(&self, collection: &str, key: &str, json: &[u8]) -> Result<(), StorageError> {
        let call = StorageCall::request(Operation::DbInsert, collection, key);
        self.run(|traces| &traces.write, call, json, |_| Ok(()))
    }

    /// Writes a JSON document like [`Storage::write`], but compresses the document before it is
    /// sent to the gateway.
    ///
    /// # Errors
    /// The errors of [`Storage::write`].
    pub fn write_compressed(
        &self,
        collection: &str,
        key: &str,
        json: &[u8],
    ) -> Result<(), StorageError> {
        let call = StorageCall::request(Operation::DbInsert, collection, key);
        self.run(|traces| &traces.write_compressed, call, json, |_| Ok(()))
    }

    /// Writes a JSON document under `key` of `collection` to the cache only, not to the database,
    /// by the AccelFlow paper's traces T8 (sends the request) and T7 (receives the response). For
    /// several keys, separated by commas, `json` is the array of their documents. In a collection
    /// of lists, `json` is `{"items":[...]}`, which replaces the cached list.
    ///
    /// # Errors
    /// The errors of [`Storage::write`].
    pub fn cache(&self, collection: &str, key: &str, json: &[u8]) -> Result<(), StorageError> {
        let call = StorageCall::request(Operation::CacheSet, collection, key);
        self.run(|traces| &traces.write, call, json, |_| Ok(()))
    }

    fn run<T>(
        &self,
        trace: fn(&StorageImage) -> &String,
        call: StorageCall,
        json: &[u8],
        value: impl FnOnce(&Job) -> Result<T, AccelError>,
    ) -> Result<T, StorageError> {
        let own = Instant::now() + self.shared.timeout;
        let deadline = current_deadline().map_or(own, |given| given.min(own));
        let _running = begin_chain(deadline)?;
        let traces = self.shared.traces.now();
        let mut worker = Lent {
            worker: Some(self.shared.take(deadline)?),
            shared: &self.shared,
        };
        match &mut worker.worker {
            Some(worker) => {
                worker.take_up(&traces, current_terms().tenant);
                worker.run(trace(&traces), &call, json, deadline, value)
            }
            None => Err(StorageError::Exhausted(self.shared.connections)),
        }
    }
}

/// A worker that is returned to the pool when this is dropped.
struct Lent<'s> {
    worker: Option<Worker>,
    shared: &'s Shared,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.take() {
            self.shared.give(worker);
        }
    }
}

impl Shared {
    fn take(&self, deadline: Instant) -> Result<Worker, StorageError> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(worker) = pool.idle.pop() {
                return Ok(worker);
            }
            if pool.made < self.connections {
                pool.made += 1;
                drop(pool);
                return self.worker().inspect_err(|_| self.forget());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(StorageError::Exhausted(self.connections));
            }
            let waited = self.returned.wait_timeout(pool, left);
            pool = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn give(&self, worker: Worker) {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.idle.push(worker);
        self.returned.notify_one();
    }

    fn forget(&self) {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.made -= 1;
        self.returned.notify_one();
    }

    fn worker(&self) -> Result<Worker, StorageError> {
        let traces = self.traces.now();
        Ok(Worker {
            executor: self
                .engine
                .executor(&traces.image, &traces.bodies, traces.generation)?,
            traces,
            tenant: 0,
            connection: GatewayConnection::new(self.destination.clone()),
        })
    }
}

/// The bodies of a worker.
fn ensemble() -> Result<Ensemble, AccelError> {
    let (settings, policy) = (Settings::default(), Box::new(RoundRobin::default()));
    let mut bodies = Ensemble::software(&settings, policy, CoreLoads::idle(1))?;
    bodies.replace(Box::new(SocketTcp::new(settings.limits)));
    Ok(bodies)
}

impl Worker {
    /// Prepares the executor for the next access: gives it `traces`, and discards the data of other
    /// tenants.
    fn take_up(&mut self, traces: &Arc<StorageImage>, tenant: u16) {
        if std::mem::replace(&mut self.tenant, tenant) != tenant {
            self.executor.forget();
        }
        if !Arc::ptr_eq(&self.traces, traces) {
            let (image, bodies) = (&traces.image, &traces.bodies);
            self.executor.set_image(image, bodies, traces.generation);
            self.traces = traces.clone();
        }
    }

    fn run<T>(
        &mut self,
        trace: &str,
        call: &StorageCall,
        json: &[u8],
        deadline: Instant,
        value: impl FnOnce(&Job) -> Result<T, AccelError>,
    ) -> Result<T, StorageError> {
        let measured = trail::is_open();
        let begun = match measured {
            true => thread_time(),
            false => Duration::ZERO,
        };
        self.connection.begin(deadline, measured)?;
        self.executor.note(measured);
        let message = Message {
            terms: current_terms(),
            ..Message::json(json, Call::Storage(call.clone()))
        };
        let mut conversation = Conversation::default();
        let run = self
            .executor
            .run(trace, &message, &mut conversation, &mut self.connection);
        let (costs_ns, exchanges) = (self.executor.take_costs(), self.connection.take_exchanges());
        let arrivals = match run {
            Ok(outcome) => {
                if measured {
                    let chain = TrailChain::new(outcome.steps, costs_ns, &exchanges);
                    trail::add(begun, chain);
                }
                outcome.arrivals
            }
            // The data are good even if the cache could not be filled with them.
            Err(failure) if !failure.arrivals.is_empty() => failure.arrivals,
            Err(failure) => return Err(failure.into()),
        };
        match arrivals.first() {
            Some(first) if first.trace == self.traces.notified => Err(refusal(call, first)),
            Some(first) => Ok(value(&first.job)?),
            None => Err(AccelError::NoCall {
                step: "LdB",
                why: "the trace has ended without notifying a core, so there is no result",
            }
            .into()),
        }
    }
}

/// The error for an operation that the store did not carry out.
fn refusal(call: &StorageCall, arrival: &Arrival) -> StorageError {
    #[derive(Deserialize)]
    struct Response {
        message: Option<String>,
    }
    let (collection, key) = (call.collection.to_string(), call.key.to_string());
    let trace = match &arrival.job.call {
        Call::Storage(call) if call.operation == Operation::DbFind => "T6_error",
        _ => "T7_error",
    };
    if answer_caller(trace, &arrival.job) {
        return StorageError::Answered { collection, key };
    }
    let response: Option<Response> = serde_json::from_slice(&arrival.job.bytes).ok();
    match response.and_then(|response| response.message) {
        Some(why) => StorageError::Exception {
            collection,
            key,
            why,
        },
        None => StorageError::NotFound { collection, key },
    }
}
