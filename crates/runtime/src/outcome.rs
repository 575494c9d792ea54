//! Inputs and results of runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::{Call, Direction, Job, Record, Session};
use accelflow_trace::{Accel, Format, Kind, Visit};

use crate::terms::Terms;

/// The input of a run of a trace. It is borrowed, so a failed run leaves it unchanged.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// The message: the received packets for a trace that begins with TCP, application data for any
    /// other.
    pub bytes: &'a [u8],
    /// Whether the bytes are already decrypted, so that TCP and Decr do nothing. Used for TLS
    /// connections.
    pub opened: bool,
    /// The format of the bytes, if they are application data.
    pub format: Format,
    /// The kind of the message and its header. Not needed for a received RPC message, whose header
    /// states it.
    pub call: Call,
    /// The type of the bytes, if they are a record (a checked message in wire form) instead of JSON
    /// text.
    pub record: Option<Record>,
    /// The key that an affinity balancer hashes.
    pub affinity: u64,
    /// The tenant, priority and deadline of the run.
    pub terms: Terms,
}

impl<'a> Message<'a> {
    /// Creates a message of received packets, for a trace that begins with TCP and contains RPC.
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

    /// Creates a message of received bytes that a core has already decrypted.
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

/// The connections that a run of a trace may use. They return here when the run ends.
#[derive(Debug, Default)]
pub struct Conversation {
    /// The connection of the run's first message. Without one, sent messages use a connection that
    /// the [`Peer`](crate::Peer) lends.
    ///
    /// A run that fails before it has used the connection for sending, or notified a core, leaves
    /// it unchanged.
    pub session: Session,
    /// The client to which error subtraces reply, if any.
    pub caller: Option<Caller>,
}

/// The client that waits for the service's response, and to which errors are reported.
#[derive(Debug)]
pub struct Caller {
    /// The header of the client's request.
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

/// The results of a run of a trace.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The results that the run has delivered to cores, in order: one of the trace with its tails,
    /// and one of each fork. Arms of a fork that wait at a join deliver none.
    pub arrivals: Vec<Arrival>,
    /// All visits (steps) of the run in order, the arms of forks one after another; empty with
    /// [`Detail::Results`].
    pub visits: Vec<Visit>,
    /// The accelerator calls in order; empty with [`Detail::Results`].
    pub steps: Vec<Step>,
    /// The packets of every message that was sent, in order.
    pub sent: Vec<Sent>,
    /// The times of each of `steps`. Only [`Pools`](crate::Pools) measure them; empty otherwise.
    pub times: Vec<StepTime>,
}

/// The times of an accelerator call that a worker of [`Pools`](crate::Pools) executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTime {
    /// The time at which the call entered the accelerator's queue.
    pub queued: Instant,
    /// The time from then to the end of the call, including the wait in the queue.
    pub took: Duration,
    /// The processor time of the worker's thread: no waits, and no time of other threads.
    pub worked: Duration,
}

impl Step {
    /// The name of the called accelerator.
    pub fn name(&self) -> &str {
        self.own
            .as_ref()
            .map_or(self.accel.name(), |kind| kind.name())
    }
}

impl Outcome {
    /// The result of the trace and its tails, which notifies the core that began the run; `None` if
    /// it has none.
    pub fn result(&self) -> Option<&Arrival> {
        self.arrivals.first()
    }

    /// The accelerators called, in order.
    pub fn accelerators(&self) -> impl Iterator<Item = Accel> + '_ {
        self.steps.iter().map(|step| step.accel)
    }
}

/// A result that a trace, or a fork of it, delivers to the core when it ends.
#[derive(Debug)]
pub struct Arrival {
    /// The trace that ended.
    pub trace: String,
    /// Which part of the run ended: 0 for the trace with its tails, then 1 and up for the forks.
    pub arm: usize,
    /// The message with its payload, its facts and the core that LdB chose. It no longer has a
    /// connection (`session`).
    pub job: Job,
}

/// A message that a run of a trace has sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The trace that sent the message.
    pub trace: String,
    /// The kind of the message.
    pub call: Call,
    /// The packets of the message.
    pub bytes: Vec<u8>,
}

/// One accelerator call of a run of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The trace that makes the call.
    pub trace: String,
    /// The called accelerator.
    pub accel: Accel,
    /// The accelerator's declaration, if it is not one of the paper's nine.
    pub own: Option<Arc<Kind>>,
    /// Whether the accelerator is TCP and receives.
    pub receives: bool,
    /// The direction of the message.
    pub direction: Direction,
    /// Which part of the run made the call: 0 for the trace with its tails, then 1 and up for the
    /// forks.
    pub arm: usize,
    /// Bytes that the accelerator has read.
    pub input_bytes: usize,
    /// Bytes that the accelerator has written. For LdB, which writes nothing, bytes passed on.
    pub output_bytes: usize,
    /// The facts of the message after the call that branches in the trace memory test, as names and
    /// values.
    pub facts: Vec<(String, i64)>,
}
