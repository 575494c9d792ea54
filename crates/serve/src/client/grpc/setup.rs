//! The settings and executors of a gRPC client, which callers' threads and the client's own thread
//! share.

use std::sync::{Arc, Mutex, PoisonError};

use accelflow_accel::{AccelError, Call, Job, Settings};
use accelflow_runtime::{Conversation, Failure, Message, Step};

use crate::client::config::{Address, ClientConfig};
use crate::client::metrics::ClientMetrics;
use crate::client::names::Names;
use crate::client::traces::{ClientImage, TraceSlot};
use crate::client::trust::TlsTrust;
use crate::scope::current_terms;
use crate::transport::engine::{Engine, EngineExecutor};
use crate::transport::ensemble::SocketPeer;

/// An idle executor, its traces, and the tenant of its last run.
pub(super) struct Free {
    executor: EngineExecutor,
    traces: Arc<ClientImage>,
    tenant: u16,
}

/// The settings of a client, and the executors that callers borrow.
pub(super) struct Setup {
    pub(super) address: Address,
    pub(super) names: Names,
    /// The address, as it appears in errors and requests.
    pub(super) name: String,
    pub(super) settings: Settings,
    pub(super) config: ClientConfig,
    pub(super) trust: Option<TlsTrust>,
    pub(super) traces: TraceSlot,
    pub(super) engine: Engine,
    pub(super) metrics: Arc<ClientMetrics>,
    /// Idle executors. Between two traces an executor has only scratch memory, and no part of a
    /// message.
    pub(super) free: Mutex<Vec<Free>>,
}

/// The result of a trace. If costs are measured, also its steps and their costs in nanoseconds.
pub(super) struct Done {
    pub(super) job: Job,
    pub(super) steps: Vec<Step>,
    pub(super) costs_ns: Vec<f64>,
}

/// The reason why a trace has no result.
pub(super) enum NoJob {
    Refused(Box<Failure>),
    NoExecutor(AccelError),
}

impl Setup {
    pub(super) fn executor(&self, traces: &ClientImage) -> Result<EngineExecutor, AccelError> {
        self.engine
            .executor(&traces.image, &traces.bodies, traces.generation)
    }

    /// Takes an executor with `traces` and without data of other tenants.
    fn take(&self, traces: &Arc<ClientImage>, tenant: u16) -> Result<EngineExecutor, AccelError> {
        let kept = self
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let Some(mut free) = kept else {
            return self.executor(traces);
        };
        if !Arc::ptr_eq(&free.traces, traces) {
            let (image, bodies) = (&traces.image, &traces.bodies);
            free.executor.set_image(image, bodies, traces.generation);
        }
        if free.tenant != tenant {
            free.executor.forget();
        }
        Ok(free.executor)
    }

    /// Runs one of `traces` on messages, and measures the costs of its steps if `noted`.
    pub(super) fn run(
        &self,
        traces: &Arc<ClientImage>,
        trace: &str,
        bytes: &[u8],
        call: Call,
        noted: bool,
    ) -> Result<Done, NoJob> {
        let terms = current_terms();
        let executor = self.take(traces, terms.tenant);
        let mut executor = executor.map_err(NoJob::NoExecutor)?;
        let mut message = match &call {
            Call::Grpc(sent) if sent.is_sent() => Message::json(bytes, call),
            _ => Message {
                call,
                ..Message::received(bytes)
            },
        };
        message.terms = terms;
        executor.note(noted);
        let conversation = &mut Conversation::default();
        let run = executor.run(trace, &message, conversation, &mut SocketPeer);
        let costs_ns = executor.take_costs();
        // A body that panicked is not reused.
        if run
            .as_ref()
            .err()
            .is_none_or(|failure| failure.error.reason != "panic")
        {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.push(Free {
                executor,
                traces: traces.clone(),
                tenant: terms.tenant,
            });
        }
        let outcome = run.map_err(NoJob::Refused)?;
        let arrival = outcome.arrivals.into_iter().next();
        let arrival = arrival.ok_or_else(|| {
            let (step, why) = ("LdB", "the trace has ended without notifying a core");
            NoJob::NoExecutor(AccelError::NoCall { step, why })
        })?;
        Ok(Done {
            job: arrival.job,
            steps: outcome.steps,
            costs_ns,
        })
    }

    /// A counter of runs on records in which a core did part of the work.
    pub(super) fn fell_back(&self) -> Box<dyn Fn(&'static str)> {
        let metrics = self.metrics.clone();
        Box::new(move |trace| metrics.fallback(trace, "control_records"))
    }
}
