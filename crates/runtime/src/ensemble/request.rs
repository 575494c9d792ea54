//! Requests to run a trace in the ensemble, and their refusals.

use accelflow_accel::{Call, Record};
use accelflow_trace::{Accel, Format};

use super::handle::Finished;
use crate::bodies::Bodies;
use crate::executor::Executor;
use crate::limit::TenantBusy;
use crate::outcome::{Conversation, Detail, Message};
use crate::peer::Peer;
use crate::terms::Terms;

/// A trace to run with its payload, connections and terms. The run does not need the thread that
/// began it.
pub struct TraceRequest {
    /// The name of the trace.
    pub name: String,
    /// The input of the first accelerator.
    pub payload: Vec<u8>,
    /// As in [`Message::opened`].
    pub opened: bool,
    /// As in [`Message::format`].
    pub format: Format,
    /// As in [`Message::call`].
    pub call: Call,
    /// As in [`Message::record`].
    pub record: Option<Record>,
    /// As in [`Message::affinity`].
    pub affinity: u64,
    /// Tenant, priority and deadline.
    pub terms: Terms,
    /// The connections that the run may use. They return with its end.
    pub conversation: Conversation,
    /// Supplies the connections of messages that the trace sends, and the responses.
    pub peer: Box<dyn Peer + Send>,
    /// How much the outcome contains.
    pub detail: Detail,
    /// Whether [`TraceHandle::next_arrival`](super::TraceHandle::next_arrival) gives arrivals
    /// before the run ends.
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
    /// A request to run the trace called `name` on `payload`, which `message` describes. The bytes
    /// of `message` are ignored.
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

    /// Runs the trace on the calling thread, with the bodies of `executor`: what a core does with a
    /// request that the ensemble has refused. `executor` keeps the request's detail.
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

/// Why a run cannot begin now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Busy {
    /// The input queues of all instances of the trace's first accelerator are full.
    #[error("the input queues of {0} are full")]
    Queue(Accel),
    /// The ensemble runs as many traces as it may.
    #[error("{most} runs are in progress, the largest number allowed")]
    Runs {
        /// The largest number.
        most: usize,
    },
    /// The payload is smaller than what is worth handing over.
    #[error("the payload has {bytes} bytes, fewer than the {least} that are worth handing over")]
    Small {
        /// The bytes of the payload.
        bytes: usize,
        /// The smallest payload that is handed over.
        least: usize,
    },
    /// The tenant runs as many traces as its limit allows.
    #[error(transparent)]
    Tenant(#[from] TenantBusy),
    /// The ensemble is shutting down.
    #[error("the ensemble is shutting down")]
    Ended,
}

impl Busy {
    /// A stable machine-readable name, for counters and tests.
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

/// A run that did not begin: the core may try again later, or do the work itself
/// ([`TraceRequest::run_inline`]).
#[derive(Debug, thiserror::Error)]
#[error("trace {}: {why}", request.name)]
pub struct Refused {
    /// The reason.
    pub why: Busy,
    /// The request, as it was given.
    pub request: Box<TraceRequest>,
}
