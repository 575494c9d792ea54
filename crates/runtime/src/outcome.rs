//! Inputs and results of runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::{Call, Direction, Job, Record, Session};
use accelflow_trace::{Accel, Format, Kind, Visit};

use crate::terms::Terms;

/// The input of a run. It is borrowed: a failed run leaves it untouched.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// The received packets for a trace that begins with TCP, application data for any other.
    pub bytes: &'a [u8],
    /// Whether the bytes are already decrypted, so that TCP and Decr have nothing left to do. Used
    /// for connections with TLS.
    pub opened: bool,
    /// The format of application data.
    pub format: Format,
    /// The kind of message. A received RPC message needs none: RPC reads it from the header.
    pub call: Call,
    /// The type of the record, if the bytes are one instead of JSON text.
    pub record: Option<Record>,
    /// The key that an affinity balancer hashes.
    pub affinity: u64,
    /// Tenant, priority and deadline.
    pub terms: Terms,
}

impl<'a> Message<'a> {
    /// Packets from a connection, for a trace that begins with TCP and has RPC.
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

    /// The plaintext of received packets that a core has decrypted.
    pub fn opened(bytes: &'a [u8]) -> Message<'a> {
        Message {
            opened: true,
            ..Message::received(bytes)
        }
    }

    /// JSON to send as a message of kind `call`.
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

    /// A record to send as a message of kind `call`.
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
    /// The connection of the message that the run begins with. Without one, a message that is
    /// sent goes over a connection that the [`Peer`](crate::Peer) lends.
    ///
    /// A run that fails before it has sent anything over it, or notified a core, leaves it as it
    /// was.
    pub session: Session,
    /// The client that error subtraces answer.
    pub caller: Option<Caller>,
}

/// The client that waits for the service's response.
#[derive(Debug)]
pub struct Caller {
    /// The request it made.
    pub call: ThriftCall,
    /// The connection with it. It is unusable after a run that failed within an error subtrace:
    /// records may have been encrypted that were never sent.
    pub session: Session,
}

/// The detail of outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Everything.
    #[default]
    Steps,
    /// The results alone: no visits and no steps, also of failed runs; the packets of an execution
    /// that ends with sending are not copied into its arrival.
    Results,
}

/// The results of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The end of each execution, in order: one, and one more for each fork. Arms that wait at a
    /// join have no arrival of their own.
    pub arrivals: Vec<Arrival>,
    /// All visits in order, the arms of forks one after another; empty with [`Detail::Results`].
    pub visits: Vec<Visit>,
    /// The accelerator calls in order; empty with [`Detail::Results`].
    pub steps: Vec<Step>,
    /// The packets of every message that was sent, in order.
    pub sent: Vec<Sent>,
    /// When each of `steps` began, and how long it took including its wait in the queue. Only the
    /// accelerators of [`Pools`](crate::Pools) have clocks; empty otherwise.
    pub times: Vec<(Instant, Duration)>,
}

impl Step {
    /// The accelerator's name.
    pub fn name(&self) -> &str {
        self.own
            .as_ref()
            .map_or(self.accel.name(), |kind| kind.name())
    }
}

impl Outcome {
    /// The end of the first execution, of which the core that began the run is notified.
    pub fn result(&self) -> Option<&Arrival> {
        self.arrivals.first()
    }

    /// The accelerators called, in order.
    pub fn accelerators(&self) -> impl Iterator<Item = Accel> + '_ {
        self.steps.iter().map(|step| step.accel)
    }
}

/// The end of one execution, of which the core is notified.
#[derive(Debug)]
pub struct Arrival {
    /// The trace that ended.
    pub trace: String,
    /// The number of the execution: 0 for the first, then one for each fork.
    pub arm: usize,
    /// The payload, the facts and the core that LdB chose. Its session has returned to its owner.
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
    /// The accelerator.
    pub accel: Accel,
    /// The accelerator's declaration, if it is not one of the paper's nine.
    pub own: Option<Arc<Kind>>,
    /// Whether the accelerator is TCP and receives.
    pub receives: bool,
    /// The direction of the message.
    pub direction: Direction,
    /// The execution that made the call: 0 for the first, then one number for each that a fork
    /// started.
    pub arm: usize,
    /// Bytes read.
    pub input_bytes: usize,
    /// Bytes written; for LdB, which writes nothing, bytes passed on.
    pub output_bytes: usize,
    /// The facts known after the call that branches in the trace memory read.
    pub facts: Vec<(String, i64)>,
}
