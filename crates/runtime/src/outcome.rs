//! What a run is given and what it gives back.

use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::{Call, Direction, Job, Record, Session};
use accelflow_trace::{Accel, Format, Visit};

use crate::terms::Terms;

/// The input of a run. It is borrowed, so whatever happens the caller still has it untouched.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// For a trace that begins with TCP the packets received, for any other application data.
    pub bytes: &'a [u8],
    /// Whether the bytes are what TCP and Decr would have made of the packets: these have nothing
    /// left to do. It counts on connections with TLS.
    pub opened: bool,
    /// The format of application data.
    pub format: Format,
    /// What kind of message it is. A received RPC message needs none: its header says it.
    pub call: Call,
    /// What the bytes are, if they are a record in the place of its JSON text.
    pub record: Option<Record>,
    /// The key that an affinity balancer hashes.
    pub affinity: u64,
    /// How its steps are treated where they queue.
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

    /// The plaintext of such packets, which a core has opened.
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

/// The connections that a run may use, and gets back when it ends.
#[derive(Debug, Default)]
pub struct Conversation {
    /// The connection of the message that the run begins with. Without one, a message that is
    /// sent goes over a connection that the [`Peer`](crate::Peer) lends.
    ///
    /// A run that fails before it has sent anything over it, or notified a core, leaves it as it
    /// was.
    pub session: Session,
    /// Whom error subtraces answer.
    pub caller: Option<Caller>,
}

/// The client that waits for the service's response.
#[derive(Debug)]
pub struct Caller {
    /// The request it made.
    pub call: ThriftCall,
    /// The connection with it. After a run that failed within an error subtrace it is of no use
    /// any more: records may have been protected that were never sent.
    pub session: Session,
}

/// How much runs tell of what they did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Everything.
    #[default]
    Steps,
    /// The results alone: no visits and no steps, neither of runs that fail; and the packets of an
    /// execution that ends with sending are not copied into its arrival.
    Results,
}

/// What a run did.
#[derive(Debug)]
pub struct Outcome {
    /// What each execution ended with, in order of their ends: one, and one more for each fork.
    /// Of the arms of a join one goes on; the others end there with nothing of their own.
    pub arrivals: Vec<Arrival>,
    /// Everything in order, the arms of forks one after another; empty with [`Detail::Results`].
    pub visits: Vec<Visit>,
    /// The accelerator calls in order; empty with [`Detail::Results`].
    pub steps: Vec<Step>,
    /// The packets of every message that was sent, in order.
    pub sent: Vec<Sent>,
}

impl Outcome {
    /// What the core that began the run is notified with: the end of the first execution.
    pub fn result(&self) -> Option<&Arrival> {
        self.arrivals.first()
    }

    /// The accelerators in order.
    pub fn accelerators(&self) -> impl Iterator<Item = Accel> + '_ {
        self.steps.iter().map(|step| step.accel)
    }
}

/// The end of one execution: what the core finds when it is notified.
#[derive(Debug)]
pub struct Arrival {
    /// The trace that ended.
    pub trace: String,
    /// Which execution: 0 for the first, then one number for each that a fork started.
    pub arm: usize,
    /// The payload, the facts and the core that LdB chose. The session has gone back to where it
    /// came from.
    pub job: Job,
}

/// A message that was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The trace that sent it.
    pub trace: String,
    /// What it is.
    pub call: Call,
    /// Its packets.
    pub bytes: Vec<u8>,
}

/// One accelerator call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The trace it stands in.
    pub trace: String,
    /// The accelerator.
    pub accel: Accel,
    /// Whether it is a TCP that receives.
    pub receives: bool,
    /// Which way the message travelled.
    pub direction: Direction,
    /// The execution that made the call: 0 for the first, then one number for each that a fork
    /// started.
    pub arm: usize,
    /// The size of what it read.
    pub input_bytes: usize,
    /// The size of what it wrote; for LdB, which writes nothing, of what it passed on.
    pub output_bytes: usize,
    /// The facts known after it, of those that some branch in the trace memory reads.
    pub facts: Vec<(String, i64)>,
}
