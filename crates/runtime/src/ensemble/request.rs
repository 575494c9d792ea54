//! Requests to run a trace in the ensemble, and refusals of requests.

use accelflow_accel::{Call, Record};
use accelflow_trace::{Accel, Format};

use super::handle::Finished;
use crate::bodies::Bodies;
use crate::executor::Executor;
use crate::limit::TenantBusy;
use crate::outcome::{Conversation, Detail, Message};
use crate::peer::Peer;
use crate::terms::Terms;

/// A request to run a trace in the ensemble ([`Pools::enqueue`](super::Pools::enqueue)): the name
/// of the trace, its payload, its connections, and its tenant, priority and deadline. The request
/// owns all this, so that the run can continue without the thread that began it.
pub struct TraceRequest {
    /// The name of the trace to run.
    pub name: String,
    /// The bytes that the trace's first accelerator reads.
    pub payload: Vec<u8>,
    /// Whether the payload is already decrypted ([`Message::opened`](field@Message::opened)).
    pub opened: bool,
    /// The data format of the payload, if the payload is application data.
    pub format: Format,
    /// The kind of the message (Thrift, gRPC, storage or HTTP) and its header. [`Call::None`] for a
    /// received Thrift message, whose bytes contain the header; every other message needs its call.
    pub call: Call,
    /// The type of the payload, if the payload is a record (an encoded message that was checked
    /// against its schema) instead of JSON text.
    pub record: Option<Record>,
    /// The key by which LdB (load balancing) chooses a core under the policies
    /// [`Affinity`](accelflow_accel::balance::Affinity) and
    /// [`FunctionMap`](accelflow_accel::balance::FunctionMap). Equal keys prefer the same core.
    pub affinity: u64,
    /// The tenant, priority and deadline of the run.
    pub terms: Terms,
    /// The connections that the run may use. At the end of the run, [`Finished::conversation`] has
    /// them.
    pub conversation: Conversation,
    /// The caches, databases and services to which the run sends requests. The peer lends the run a
    /// connection for each such request, and supplies the responses.
    pub peer: Box<dyn Peer + Send>,
    /// How much the run's [`Outcome`](crate::Outcome) records.
    pub detail: Detail,
    /// Whether [`TraceHandle::next_arrival`](super::TraceHandle::next_arrival) returns results
    /// before the whole run has ended, such as the trace's own result while its forks still run.
    /// Default false.
    pub early: bool,
}

impl std::fmt::Debug for TraceRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceRequest")
            .field("name", &self.name)
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}

impl TraceRequest {
    /// Creates a request to run the trace `name` on `payload`. `message` describes the payload, but
    /// `message.bytes` is ignored. `peer` answers the messages that the run sends.
    pub fn new(
        name: &str,
        payload: Vec<u8>,
        message: &Message<'_>,
        peer: Box<dyn Peer + Send>,
    ) -> TraceRequest {
        TraceRequest {
            name: name.to_owned(),
            payload,
            opened: message.opened,
            format: message.format,
            call: message.call.clone(),
            record: message.record.clone(),
            affinity: message.affinity,
            terms: message.terms,
            conversation: Conversation::default(),
            peer,
            detail: Detail::default(),
            early: false,
        }
    }

    /// Runs the requested trace on the calling thread with `executor`, for example after the
    /// ensemble has refused the request. Also sets the [`Detail`] of `executor` to `self.detail`.
    pub fn run_inline<B: Bodies>(self, executor: &mut Executor<B>) -> Finished {
        let message = self.message();
        let TraceRequest {
            name,
            payload,
            mut conversation,
            mut peer,
            ..
        } = self;
        executor.set_detail(self.detail);
        Finished {
            result: executor.run_on(&name, payload, &message, &mut conversation, &mut peer),
            conversation,
        }
    }

    /// The message that the run begins with, without its payload.
    pub(super) fn message(&self) -> Message<'static> {
        Message {
            bytes: &[],
            opened: self.opened,
            format: self.format,
            call: self.call.clone(),
            record: self.record.clone(),
            affinity: self.affinity,
            terms: self.terms,
        }
    }
}

/// The reason why the ensemble refuses a run of a trace: no room, a limit of runs, a small payload,
/// or shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Busy {
    /// The input queues of all instances of the trace's first accelerator are full; their overflow
    /// areas do not accept new runs. Holds the accelerator.
    #[error("all input queues of the accelerator {0} are full: try again later")]
    Queue(Accel),
    /// The ensemble already has as many runs in progress as its settings allow.
    #[error(
        "the ensemble already has {most} runs in progress, the most that it may have (most_runs): \
         try again when one of them has ended"
    )]
    Runs {
        /// The largest number of runs that may be in progress.
        most: usize,
    },
    /// The payload has fewer bytes than the ensemble's settings require for an offload.
    #[error("payload = {bytes} bytes: must be at least {least} bytes to be offloaded")]
    Small {
        /// The size of the payload, in bytes.
        bytes: usize,
        /// The smallest payload that is offloaded, in bytes.
        least: usize,
    },
    /// The tenant already runs as many traces as it may run at a time.
    #[error(transparent)]
    Tenant(#[from] TenantBusy),
    /// The ensemble is shutting down and begins no new runs.
    #[error("the ensemble is shutting down")]
    Ended,
}

impl Busy {
    /// Returns a name for why the run was refused, such as `queue_full`. Names do not change, so
    /// counters and tests can rely on them.
    pub fn reason(&self) -> &'static str {
        match self {
            Busy::Queue(_) => "queue_full",
            Busy::Runs { .. } => "too_many_runs",
            Busy::Small { .. } => "payload_small",
            Busy::Tenant(_) => "tenant_busy",
            Busy::Ended => "ensemble_ended",
        }
    }
}

/// The error of a run of a trace that the ensemble has refused, with the reason and the request.
/// The core may try again later, or run the trace itself ([`TraceRequest::run_inline`]).
#[derive(Debug, thiserror::Error)]
#[error("trace {}: {why}", request.name)]
pub struct Refused {
    /// The reason why the ensemble has refused the run.
    pub why: Busy,
    /// The refused request, including its payload.
    pub request: Box<TraceRequest>,
}
