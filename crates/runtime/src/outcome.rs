//! The inputs and results of runs of traces.

use std::sync::Arc;
use std::time::{Duration, Instant};

use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::{Call, Direction, Job, Record, Session};
use accelflow_trace::{Accel, Format, Kind, Visit};

use crate::terms::Terms;

/// The message that a run of a trace begins with: its bytes, their format, and the message's kind
/// and header. The bytes are borrowed, so a failed run leaves them unchanged.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// The bytes of the message: received packets for a trace that begins with TCP, application
    /// data for any other trace.
    pub bytes: &'a [u8],
    /// Whether a core has already decrypted the bytes. The run then moves them to the TLS state of
    /// the connection ([`ahead`](accelflow_accel::tls::TlsSession::ahead)), so that TCP gets an
    /// empty payload and Decr outputs the bytes. The connection must have TLS state, and the TCP
    /// accelerator must accept an empty payload, which [`Tcp`](accelflow_accel::tcp::Tcp) does not.
    ///
    /// A core decrypts, for example, a message that ends inside a TLS record, since Decr would also
    /// decrypt the part of the next message in this record.
    pub opened: bool,
    /// The data format of the bytes, if they are application data.
    pub format: Format,
    /// The kind of the message (Thrift, gRPC, storage or HTTP) and its header. [`Call::None`] for a
    /// received Thrift message, whose bytes contain the header; every other message needs its call.
    pub call: Call,
    /// The type of the bytes, if they are a record instead of JSON text: an encoded message that
    /// was checked against its schema.
    pub record: Option<Record>,
    /// The key by which LdB (load balancing) chooses a core under the policies
    /// [`Affinity`](accelflow_accel::balance::Affinity) and
    /// [`FunctionMap`](accelflow_accel::balance::FunctionMap). Equal keys prefer the same core.
    pub affinity: u64,
    /// The tenant, priority and deadline of the run.
    pub terms: Terms,
}

impl<'a> Message<'a> {
    /// Creates a message from `bytes`, the received TCP packets of a Thrift message. It is an input
    /// for a trace that begins with TCP.
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

    /// Creates a message from received `bytes` that a core has already decrypted
    /// ([`Message::opened`](field@Message::opened)).
    pub fn opened(bytes: &'a [u8]) -> Message<'a> {
        Message {
            opened: true,
            ..Message::received(bytes)
        }
    }

    /// Creates a message to be sent: the JSON text `bytes`. `call` is the message's kind and
    /// header.
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

    /// Creates a message to be sent whose content `bytes` is a record: an encoded message that was
    /// checked against its schema. `record` is the record's type, `call` the message's kind and
    /// header.
    pub fn record(bytes: &'a [u8], record: Record, call: Call) -> Message<'a> {
        Message {
            record: Some(record),
            ..Message::json(bytes, call)
        }
    }
}

/// The connections that a run of a trace may use: one for the message with which the run begins,
/// and one to the service's caller. The run takes them from this value, and puts them back when it
/// ends.
#[derive(Debug, Default)]
pub struct Conversation {
    /// The connection of the message with which the run begins. If this is an empty [`Session`],
    /// the run sends over connections that the [`Peer`](crate::Peer) lends.
    ///
    /// A failed run leaves this connection unchanged, unless the run has already sent a message
    /// over it or notified a core.
    pub session: Session,
    /// The client to which error subtraces reply; `None` if there is no such client.
    pub caller: Option<Caller>,
}

/// The client that waits for the service's response: its connection, and the header of its request.
/// Error subtraces (traces that report an error) reply to it.
#[derive(Debug)]
pub struct Caller {
    /// The header of the client's request, to which an error subtrace replies.
    pub call: ThriftCall,
    /// The connection to the client. Unusable after a failure within an error subtrace, since its
    /// TLS sequence number may count records that were never sent.
    pub session: Session,
}

/// How much the [`Outcome`] of a run records: every step, or only the results and sent messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Everything: the results, all visits and all accelerator calls.
    #[default]
    Steps,
    /// Only the results and the sent messages: no visits and no accelerator calls, also for failed
    /// runs. The packets of an execution that ends with sending are not copied into its
    /// [`Arrival`].
    Results,
}

/// The results of a completed run of a trace, and a record of its accelerator calls, sent messages
/// and times.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The results that the run has delivered to cores, in order: one for the trace with its tails,
    /// and one for each fork. Arms that end at a join deliver none.
    pub arrivals: Vec<Arrival>,
    /// All actions of the run in order (calls, transformations, forks and so on), with the arms of
    /// forks one after another. Empty with [`Detail::Results`].
    pub visits: Vec<Visit>,
    /// The accelerator calls of the run in order. Empty with [`Detail::Results`].
    pub steps: Vec<Step>,
    /// The messages that the run has sent, in order, with their packets.
    pub sent: Vec<Sent>,
    /// The times of each call in `steps`, in the same order. Empty unless [`Pools`](crate::Pools)
    /// executed the run.
    pub times: Vec<StepTime>,
}

/// The times of one accelerator call: its arrival in a queue, its duration, and its processor time.
/// Only calls that a thread of [`Pools`](crate::Pools) executed have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTime {
    /// The time at which the call entered a queue of the ensemble.
    pub queued: Instant,
    /// The time from `queued` to the end of the call, including the wait in the queue.
    pub took: Duration,
    /// The processor time that the executing thread used for the call, without waits.
    pub worked: Duration,
}

impl Step {
    /// Returns the name of the called accelerator: the paper's, such as `TCP`, or the declared name
    /// of a custom accelerator.
    pub fn name(&self) -> &str {
        self.own
            .as_ref()
            .map_or(self.accel.name(), |kind| kind.name())
    }
}

impl Outcome {
    /// Returns the result of the trace for the core that began the run: the first element of
    /// `arrivals`. Returns `None` if `arrivals` is empty.
    ///
    /// If [`TraceHandle::next_arrival`](crate::TraceHandle::next_arrival) has already returned this
    /// result, `arrivals` no longer has it. The first element is then the result of a fork (a
    /// parallel arm of the trace).
    pub fn result(&self) -> Option<&Arrival> {
        self.arrivals.first()
    }

    /// The accelerators that the run called, in order. Empty with [`Detail::Results`].
    pub fn accelerators(&self) -> impl Iterator<Item = Accel> + '_ {
        self.steps.iter().map(|step| step.accel)
    }
}

/// A result that a trace delivers to a core at its end. Each fork (parallel arm) of the trace
/// delivers a result of its own.
#[derive(Debug)]
pub struct Arrival {
    /// The name of the trace that ended.
    pub trace: String,
    /// The index of the execution that ended: 0 for the one with which the run began, 1 and up for
    /// the further arms of forks and joins. An execution that continues after a join has the index
    /// of the joined arm that would reach the join last if one thread executed all arms.
    pub arm: usize,
    /// The message with its payload, its facts and the core that LdB chose. The message no longer
    /// has a connection (`session`).
    pub job: Job,
}

/// A message that a run has sent: the trace that sent it, its kind and header, and its packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The name of the trace that sent the message.
    pub trace: String,
    /// The kind of the sent message, and its header.
    pub call: Call,
    /// The packets of the sent message.
    pub bytes: Vec<u8>,
}

/// One accelerator call of a run of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name of the trace that makes this accelerator call.
    pub trace: String,
    /// The called accelerator.
    pub accel: Accel,
    /// The declaration of the called accelerator if it is a custom one; `None` for the paper's
    /// nine.
    pub own: Option<Arc<Kind>>,
    /// Whether the accelerator is a TCP that receives a message. False for a TCP that sends, and
    /// for all other accelerators.
    pub receives: bool,
    /// Whether the processed message is being received or sent.
    pub direction: Direction,
    /// The index of the execution that made the call: 0 for the one with which the run began, 1 and
    /// up for the further arms of forks and joins.
    pub arm: usize,
    /// The number of bytes that the accelerator has read.
    pub input_bytes: usize,
    /// The number of bytes that the accelerator has written. For LdB, which writes nothing, it is
    /// the number of bytes that LdB passes on.
    pub output_bytes: usize,
    /// The names of payload values (facts) that the trace memory's conditions test, each with its
    /// value after the call. Values that the message does not have are left out.
    pub facts: Vec<(String, i64)>,
}
