//! The settings and executors of a gRPC client, for callers' threads and its own.

use std::sync::{Arc, Mutex, PoisonError};

use accelflow_accel::{AccelError, Call, Ensemble, Job, Settings};
use accelflow_runtime::trail::Clocked;
use accelflow_runtime::{Conversation, Detail, Executor, Failure, Message, Step};

use crate::client::config::{Address, ClientConfig};
use crate::client::metrics::ClientMetrics;
use crate::client::names::Names;
use crate::client::traces::{ClientImage, TraceSlot};
use crate::client::trust::TlsTrust;
use crate::transport::ensemble::{NextCore, SocketPeer, ensemble};

type ClientExecutor = Executor<Clocked<Ensemble>>;

/// The settings of a client, and the executors that callers borrow.
pub(super) struct Setup {
    pub(super) address: Address,
    pub(super) names: Names,
    /// The address as errors and requests name it.
    pub(super) name: String,
    pub(super) settings: Settings,
    pub(super) config: ClientConfig,
    pub(super) trust: Option<TlsTrust>,
    pub(super) traces: TraceSlot,
    pub(super) metrics: Arc<ClientMetrics>,
    /// Between two traces an executor holds scratch memory and no part of a message.
    pub(super) free: Mutex<Vec<(ClientExecutor, Arc<ClientImage>)>>,
}

/// The result of a trace; if they are noted, also its steps and the cost of each in nanoseconds.
pub(super) struct Done {
    pub(super) job: Job,
    pub(super) steps: Vec<Step>,
    pub(super) costs_ns: Vec<f64>,
}

/// Why a trace has no result.
pub(super) enum NoJob {
    Refused(Box<Failure>),
    NoExecutor(AccelError),
}

impl Setup {
    pub(super) fn executor(&self, traces: &ClientImage) -> Result<ClientExecutor, AccelError> {
        let bodies = ensemble(&self.settings, 1, &NextCore::default())?;
        Ok(Executor::new(traces.image.clone(), Clocked::new(bodies)))
    }

    /// An executor that has `traces`.
    fn take(&self, traces: &Arc<ClientImage>) -> Result<ClientExecutor, AccelError> {
        let kept = self
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let Some((mut executor, old)) = kept else {
            return self.executor(traces);
        };
        if !Arc::ptr_eq(&old, traces) {
            executor.set_image(traces.image.clone());
        }
        Ok(executor)
    }

    /// Runs one of `traces` on messages, and notes the costs of its steps if `noted`.
    pub(super) fn run(
        &self,
        traces: &Arc<ClientImage>,
        trace: &str,
        bytes: &[u8],
        call: Call,
        noted: bool,
    ) -> Result<Done, NoJob> {
        let mut executor = self.take(traces).map_err(NoJob::NoExecutor)?;
        let message = match &call {
            Call::Grpc(sent) if sent.is_sent() => Message::json(bytes, call),
            _ => Message {
                call,
                ..Message::received(bytes)
            },
        };
        executor.set_detail(match noted {
            true => Detail::Steps,
            false => Detail::Results,
        });
        executor.bodies_mut().note(noted);
        let conversation = &mut Conversation::default();
        let run = executor.run(trace, &message, conversation, &mut SocketPeer);
        let costs_ns = executor.bodies_mut().take();
        // A body that panicked is not used again.
        if run
            .as_ref()
            .err()
            .is_none_or(|failure| failure.error.reason != "panic")
        {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.push((executor, traces.clone()));
        }
        let outcome = run.map_err(NoJob::Refused)?;
        let arrival = outcome.arrivals.into_iter().next();
        let arrival = arrival.ok_or_else(|| {
            let (step, why) = ("LdB", "the trace has notified no core");
            NoJob::NoExecutor(AccelError::NoCall { step, why })
        })?;
        Ok(Done {
            job: arrival.job,
            steps: outcome.steps,
            costs_ns,
        })
    }

    /// A counter of runs on records in which a core did a part.
    pub(super) fn fell_back(&self) -> Box<dyn Fn(&'static str)> {
        let metrics = self.metrics.clone();
        Box::new(move |trace| metrics.fallback(trace, "control_records"))
    }
}
