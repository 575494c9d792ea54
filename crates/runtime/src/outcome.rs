//! Inputs and results of runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::{Call, Direction, Job, Record, Session};
use accelflow_trace::{Accel, Format, Kind, Visit};

use crate::terms::Terms;

/// The input of a run. It is borrowed, so a failed run leaves it unchanged.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// The received packets for a trace that begins with TCP, application data for any other.
    pub bytes: &'a [u8],
    /// Whether the bytes are already decrypted, so that TCP and Decr do nothing. Used for TLS
    /// connections.
    pub opened: bool,
    /// The format of application data.
    pub format: Format,
    /// The kind of message. Not needed for a received RPC message, whose header states it.
    pub call: Call,
    /// The type of the record, if the bytes are a record instead of JSON text.
    pub record: Option<Record>,
    /// The key that an affinity balancer hashes.
    pub affinity: u64,
    /// Tenant, priority and deadline.
    pub terms: Terms,
}

impl<'a> Message<'a> {
    /// Creates a message of received packets, for a trace that begins with TCP and has RPC.
    pub fn received(bytes: &'a [u8]) -> Message<'a> {
        Message {
            bytes,
            opened: false,
            format: Format::Str,
            call: Call::None,
            record: None,
            affinity: 0,
            terms: Terms::default(),
        }
    }

    /// Creates a message of received packets that a core has already decrypted.
    pub fn opened(bytes: &'a [u8]) -> Message<'a> {
        Message {
            opened: true,
            ..Message::received(bytes)
        }
    }

    /// Creates a message of kind `call` from JSON text to send.
    pub fn json(bytes: &'a [u8], call: Call) -> Message<'a> {
        Message {
            bytes,
            opened: false,
            format: Format::Json,
            call,
            record: None,
            affinity: 0,
            terms: Terms::default(),
        }
    }

    /// Creates a message of kind `call` from a record to send.
    pub fn record(bytes: &'a [u8], record: Record, call: Call) -> Message<'a> {
        Message {
            record: Some(record),
            ..Message::json(bytes, call)
        }
    }
}

/// The connections that a run may use. They return here when the run ends.
#[derive(Debug, Default)]
pub struct Conversation {
    /// The connection of the run's first message. Without one, sent messages use a connection that
    /// the [`Peer`](crate::Peer) lends.
    ///
    /// A run that fails before it has used the connection for sending, or notified a core, leaves
    /// it unchanged.
    pub session: Session,
    /// The client to which error subtraces reply.
    pub caller: Option<Caller>,
}

/// The client that waits for the service's response.
#[derive(Debug)]
pub struct Caller {
    /// The request it made.
    pub call: ThriftCall,
    /// The connection to the client. It is unusable after a failure within an error subtrace, since
    /// encrypted records may not have been sent.
    pub session: Session,
}

/// How much of a run an [`Outcome`] records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The results, all visits and all steps.
    #[default]
    Steps,
    /// Only the results, also for failed runs: no visits and no steps. The packets of an execution
    /// that ends with sending are not copied into its arrival.
    Results,
}

/// The results of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The ends of the executions, in order: one for the first, and one for each fork. Arms that
    /// wait at a join have no arrival.
    pub arrivals: Vec<Arrival>,
    /// All visits in order, the arms of forks one after another; empty with [`Detail::Results`].
    pub visits: Vec<Visit>,
    /// The accelerator calls in order; empty with [`Detail::Results`].
    pub steps: Vec<Step>,
    /// The packets of every message that was sent, in order.
    pub sent: Vec<Sent>,
    /// The times of each of `steps`. Only [`Pools`](crate::Pools) measure them; empty otherwise.
    pub times: Vec<StepTime>,
}

/// The times of a step that a worker of [`Pools`](crate::Pools) executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTime {
    /// When the step entered the queue.
    pub queued: Instant,
    /// The time from then to the end of the step, including the wait in the queue.
    pub took: Duration,
    /// The processor time of the worker's thread: no waits, and no time of other threads.
    pub worked: Duration,
}

impl Step {
    /// The name of the visited accelerator.
    pub fn name(&self) -> &str {
        self.own
            .as_ref()
            .map_or(self.accel.name(), |kind| kind.name())
    }
}

impl Outcome {
    /// The end of the first execution, which notifies the core that began the run.
    pub fn result(&self) -> Option<&Arrival> {
        self.arrivals.first()
    }

    /// The accelerators called, in order.
    pub fn accelerators(&self) -> impl Iterator<Item = Accel> + '_ {
        self.steps.iter().map(|step| step.accel)
    }
}

/// The result that one execution of a run delivers to the core when it ends.
#[derive(Debug)]
pub struct Arrival {
    /// The trace that ended.
    pub trace: String,
    /// The number of the execution: 0 for the first, then one for each fork.
    pub arm: usize,
    /// The job with its payload, its facts and the core that LdB chose. The job no longer has a
    /// session.
    pub job: Job,
}

/// A message that was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The trace that sent it.
    pub trace: String,
    /// The kind of the message.
    pub call: Call,
    /// The packets of the message.
    pub bytes: Vec<u8>,
}

/// One accelerator call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The trace that makes the call.
    pub trace: String,
    /// The visited accelerator.
    pub accel: Accel,
    /// The accelerator's declaration, if it is not one of the paper's nine.
    pub own: Option<Arc<Kind>>,
    /// Whether the accelerator is TCP and receives.
    pub receives: bool,
    /// The direction of the message.
    pub direction: Direction,
    /// The number of the execution that made the call: 0 for the first, then one for each fork.
    pub arm: usize,
    /// Bytes read.
    pub input_bytes: usize,
    /// Bytes written. For LdB, which writes nothing, bytes passed on.
    pub output_bytes: usize,
    /// The facts that are known after the call and that branches in the trace memory read.
    pub facts: Vec<(String, i64)>,
}
