//! The worker threads that run handlers, and the LdB that chooses between them.
//!
//! Requests for a function should find its instructions and data in the caches of their core. The
//! key of LdB's affinity policy is the function's index, which RPC has found in the interface. A
//! hash of the key determines the function's own core. While that core has a quarter more work than
//! the mean, the next cores take its requests (consistent hashing with bounded loads). Cerebros's
//! function map (MICRO 2021, section 4.3) works differently: it remembers the last functions of
//! each core, and chooses the least loaded of the cores that have the function.
//! `accelflow_cerebros::steering` simulates the map, and [`SteeringPolicy::FunctionMap`] implements
//! it here. A hash needs no shared state, and keeps a function on its core even if other functions
//! run in between.
//!
//! Each worker stands for a core and has its own run queue. Connections receive and reply; a worker
//! runs one handler at a time.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use accelflow_accel::balance::{
    Affinity, BalancingPolicy, CoreLoads, FunctionMap, Ldb, LeastLoaded,
};
use accelflow_accel::thrift::FunctionId;
use accelflow_accel::{AccelError, Accelerator, Call, Facts, Job, Record};
use accelflow_runtime::affinity::{pin, usable_cores};
use accelflow_trace::Accel;
use opentelemetry::Context;
use zeroize::Zeroizing;

use crate::config::{Steering, SteeringPolicy};
use crate::error::ServeError;
use crate::handler::kinds::AnyHandler;
use crate::handler::request::{Arguments, Request};
use crate::handler::returned::Returned;
use crate::handler::value::HandlerError;
use crate::memory::room::ResponseBudget;
use crate::scope::Carried;
use crate::server::thread_scope::ThreadScope;
use crate::transport::ensemble::NextCore;
use crate::transport::grpc::metadata::Metadata;
use crate::transport::grpc::response::ResponseMetadata;

/// The workers of a running server.
pub(crate) struct SteeredWorkers {
    settings: Steering,
    loads: CoreLoads,
    next: NextCore,
    map: FunctionMap,
    queues: Vec<Arc<RunQueue>>,
    workers: Vec<JoinHandle<()>>,
}

impl fmt::Debug for SteeredWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SteeredWorkers")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// A worker's run queue. It holds at most one request of each connection.
struct RunQueue {
    number: usize,
    loads: CoreLoads,
    tasks: Mutex<Tasks>,
    filled: Condvar,
}

#[derive(Default)]
struct Tasks {
    waiting: VecDeque<Task>,
    running: bool,
    closed: bool,
}

struct Task {
    handler: AnyHandler,
    request: OwnedRequest,
    reply: Arc<Reply>,
}

/// A request that owns its data, for another thread.
struct OwnedRequest {
    service: String,
    method: String,
    arguments: Zeroizing<Vec<u8>>,
    facts: Facts,
    peer: SocketAddr,
    peer_identities: Vec<String>,
    core: Option<usize>,
    deadline: Option<Instant>,
    metadata: Metadata,
    carried: Carried,
    response: ResponseMetadata,
    abandoned: Option<Arc<AtomicBool>>,
    context: Option<Context>,
    record: Option<OwnedArguments>,
}

/// The type of the request's arguments, as in [`Arguments`].
struct OwnedArguments {
    record: Record,
    function: FunctionId,
    is_text: bool,
    budget: Option<Arc<ResponseBudget>>,
}

type Answer = Result<Result<Returned, HandlerError>, Box<dyn Any + Send>>;

#[derive(Default)]
struct Reply {
    slot: Mutex<Option<Answer>>,
    filled: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SteeredWorkers {
    pub(crate) fn start(
        settings: Steering,
        scope: &Arc<ThreadScope>,
    ) -> Result<SteeredWorkers, ServeError> {
        let loads = CoreLoads::idle(settings.workers);
        let cores = match settings.pinned {
            true => usable_cores()?,
            false => Vec::new(),
        };
        let mut steered = SteeredWorkers {
            settings,
            loads,
            next: NextCore::default(),
            map: FunctionMap::new(settings.function_map_depth),
            queues: Vec::new(),
            workers: Vec::new(),
        };
        for number in 0..settings.workers {
            let queue = Arc::new(RunQueue {
                number,
                loads: steered.loads.clone(),
                tasks: Mutex::default(),
                filled: Condvar::new(),
            });
            steered.queues.push(queue.clone());
            let core = number.checked_rem(cores.len()).map(|at| cores[at]);
            let scope = scope.clone();
            let worker = thread::Builder::new()
                .name(format!("accelflow-core-{number}"))
                .spawn(move || {
                    // If the core is no longer usable, pinning fails and the worker runs on any
                    // core.
                    let _ = core.map(pin);
                    scope(&mut || queue.work());
                })?;
            steered.workers.push(worker);
        }
        Ok(steered)
    }

    /// Makes the LdB that chooses between the workers.
    pub(crate) fn balancer(&self) -> Box<dyn Accelerator> {
        let policy: Box<dyn BalancingPolicy> = match self.settings.policy {
            SteeringPolicy::RoundRobin => Box::new(self.next.clone()),
            SteeringPolicy::LeastLoaded => Box::new(LeastLoaded),
            SteeringPolicy::Affinity => Box::new(Affinity::default()),
            SteeringPolicy::FunctionMap => Box::new(self.map.clone()),
        };
        Box::new(ByFunction(Ldb::new(policy, self.loads.clone())))
    }

    /// Calls a handler on the worker that LdB chose, and waits for it. A panic of the handler
    /// continues on this thread.
    pub(crate) fn call(
        &self,
        handler: &AnyHandler,
        request: &Request<'_>,
    ) -> Result<Returned, HandlerError> {
        let reply = Arc::<Reply>::default();
        let queue = request.core.unwrap_or(0) % self.queues.len();
        self.queues[queue].push(Task {
            handler: handler.clone(),
            request: OwnedRequest {
                service: request.service.to_owned(),
                method: request.method.to_owned(),
                arguments: Zeroizing::new(request.arguments.to_vec()),
                facts: request.facts.clone(),
                peer: request.peer,
                peer_identities: request.peer_identities.to_vec(),
                core: request.core,
                deadline: request.deadline,
                metadata: request.metadata.clone(),
                carried: request.carried.clone(),
                response: request.response(),
                abandoned: request.abandoned.cloned(),
                context: request.context.cloned(),
                record: request.record.map(|arguments| OwnedArguments {
                    record: arguments.record.clone(),
                    function: arguments.function,
                    is_text: arguments.is_text,
                    budget: arguments.budget.cloned(),
                }),
            },
            reply: reply.clone(),
        });
        let mut slot = lock(&reply.slot);
        loop {
            match slot.take() {
                Some(Ok(answer)) => return answer,
                Some(Err(payload)) => resume_unwind(payload),
                None => {
                    let waited = reply.filled.wait(slot);
                    slot = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

impl Drop for SteeredWorkers {
    fn drop(&mut self) {
        for queue in &self.queues {
            lock(&queue.tasks).closed = true;
            queue.filled.notify_all();
        }
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

impl RunQueue {
    fn push(&self, task: Task) {
        let mut tasks = lock(&self.tasks);
        tasks.waiting.push_back(task);
        self.tell(&tasks);
        drop(tasks);
        self.filled.notify_one();
    }

    /// Updates the number of requests that wait or run, for LdB.
    fn tell(&self, tasks: &Tasks) {
        let load = tasks.waiting.len() + usize::from(tasks.running);
        self.loads
            .set(self.number, u32::try_from(load).unwrap_or(u32::MAX));
    }

    fn finish(&self) {
        let mut tasks = lock(&self.tasks);
        tasks.running = false;
        self.tell(&tasks);
    }

    fn next(&self) -> Option<Task> {
        let mut tasks = lock(&self.tasks);
        loop {
            let next = tasks.waiting.pop_front();
            tasks.running = next.is_some();
            self.tell(&tasks);
            if next.is_some() || tasks.closed {
                return next;
            }
            let waited = self.filled.wait(tasks);
            tasks = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn work(&self) {
        while let Some(Task {
            handler,
            request,
            reply,
        }) = self.next()
        {
            let other = OnceLock::new();
            let borrowed = Request {
                service: &request.service,
                method: &request.method,
                arguments: &request.arguments,
                facts: &request.facts,
                peer: request.peer,
                peer_identities: &request.peer_identities,
                core: request.core,
                deadline: request.deadline,
                metadata: &request.metadata,
                carried: &request.carried,
                response: &request.response,
                abandoned: request.abandoned.as_ref(),
                context: request.context.as_ref(),
                record: request.record.as_ref().map(|owned| Arguments {
                    record: &owned.record,
                    function: owned.function,
                    is_text: owned.is_text,
                    other: &other,
                    budget: owned.budget.as_ref(),
                }),
            };
            let answer = catch_unwind(AssertUnwindSafe(|| handler.call(&borrowed)));
            // Called before the answer, so that the client's next request finds this worker free.
            self.finish();
            *lock(&reply.slot) = Some(answer);
            reply.filled.notify_one();
        }
    }
}

/// LdB with the called function as its key.
struct ByFunction(Ldb);

impl Accelerator for ByFunction {
    fn kind(&self) -> Accel {
        Accel::Ldb
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        let before = job.affinity;
        match &job.call {
            Call::Thrift(call) => job.affinity = call.function.0 as u64,
            Call::Grpc(call) => {
                if let Ok((method, _)) = call.find() {
                    job.affinity = method.0 as u64;
                }
            }
            _ => {}
        }
        let done = self.0.run(job);
        job.affinity = before;
        done
    }
}
