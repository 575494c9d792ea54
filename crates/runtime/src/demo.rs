//! A client and a server with fixed keys, for trying traces without any setup.
//!
//! Every run starts with a fresh connection, so a trace can run on the packets of [`request`] any
//! number of times. The TLS secrets are public constants, so the connections are not secure.

use accelflow_accel::compress::{Cmp, DEFAULT_LEVEL};
use accelflow_accel::rpc::{MessageType, ThriftCall};
use accelflow_accel::storage::Role;
use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_accel::{AccelError, Call, Codec, Ensemble, Job, Limits, Packed, Session, messages};
use accelflow_trace::{Accel, Format};

pub use crate::connection::{connection, secrets};
use crate::ensemble::TraceRequest;
use crate::error::{Cause, Failure, TraceError};
use crate::outcome::{Caller, Conversation, Message, Outcome};
use crate::peer::{Answers, LoopbackPeer};
use crate::run_traces::RunTraces;

/// The name of the method that the demo's client is assumed to have called if a run begins with a
/// request that the service sends. An error subtrace (a trace that reports an error) replies to
/// this call.
pub const CALLER_METHOD: &str = "ComposePost";

/// Returns the TCP packets of a Thrift call of `method` by the demo's client. They are an input for
/// the paper's trace T1, which receives a request. `seed` and `index` determine the call's
/// arguments ([`messages::request`]). The arguments are compressed with Zstandard if `compressed`.
///
/// # Errors
/// `unknown_method` for a method that is not in [`messages::METHODS`].
pub fn request(
    method: &str,
    seed: u64,
    index: u64,
    compressed: bool,
) -> Result<Vec<u8>, AccelError> {
    let arguments = messages::request(method, seed, index)?.to_string();
    let schema = Schema::social_network();
    let call = ThriftCall::request(&schema, method, Protocol::Binary, index as i32)?;
    let (client, _) = connection(0)?;
    let mut ensemble = Ensemble::with_cores(1)?;
    let job = client_request(
        &mut ensemble,
        client,
        call,
        arguments.into_bytes(),
        compressed,
    )?;
    Ok(job.bytes)
}

/// Builds a client's function call. The returned job has the packets and the session.
pub(crate) fn client_request(
    ensemble: &mut Ensemble,
    session: Session,
    call: ThriftCall,
    arguments: Vec<u8>,
    compressed: bool,
) -> Result<Job, AccelError> {
    let mut job = Job::send(arguments, Format::Json, Call::Thrift(call), session);
    if compressed {
        let mut cmp = Cmp::new(Codec::Zstd, DEFAULT_LEVEL, Limits::default())?;
        job.bytes = cmp.compress(&job.bytes)?;
        job.packed = Some(Packed {
            codec: Codec::Zstd,
            format: std::mem::replace(&mut job.format, Format::Str),
        });
    }
    for step in [Accel::Ser, Accel::Rpc, Accel::Encr, Accel::Tcp] {
        ensemble.run(step, &mut job)?;
    }
    Ok(job)
}

/// Runs the trace `name` on `packets` from the demo's client ([`request`]). The trace must begin
/// with TCP.
///
/// # Errors
/// The errors of [`RunTraces::run_trace`].
pub fn run_trace<E: RunTraces>(
    executor: &mut E,
    name: &str,
    packets: &[u8],
) -> Result<Outcome, Box<Failure>> {
    run_trace_as(
        executor,
        name,
        &Message::received(packets),
        Answers::default(),
    )
}

/// Runs the trace `name` on a message of any kind.
///
/// If the service receives `message`, or sends it as a reply, the run uses the connection of the
/// demo's client. A message counts as received if its [`call`](Message::call) is [`Call::None`] or
/// a storage response. If the service sends `message` as a request, a [`LoopbackPeer`] gets the
/// request and returns `answers`. Every gRPC and HTTP message counts as such a request. Error
/// subtraces (traces that report an error) then reply to the demo's client, as if the client had
/// called [`CALLER_METHOD`].
///
/// # Errors
/// The errors of [`RunTraces::run_trace`].
pub fn run_trace_as<E: RunTraces>(
    executor: &mut E,
    name: &str,
    message: &Message<'_>,
    answers: Answers,
) -> Result<Outcome, Box<Failure>> {
    let set_up = conversation(message)
        .and_then(|conversation| Ok((conversation, LoopbackPeer::new(answers)?)));
    let (mut conversation, peer) = set_up.map_err(|error| {
        let cause = Cause::from(error);
        Box::new(Failure {
            error: TraceError {
                reason: cause.reason,
                trace: name.to_owned(),
                step: None,
                accelerator: None,
                message: cause.message,
            },
            visits: Vec::new(),
            arrivals: Vec::new(),
        })
    })?;
    executor.run_trace(name, message, &mut conversation, Box::new(peer))
}

/// Builds a request to the ensemble ([`Pools`](crate::Pools)) to run the trace `name` on `message`.
/// The run has the same connections as with [`run_trace_as`], and a peer that returns `answers`.
///
/// # Errors
/// None in practice: the constructors fail only for invalid keys.
pub fn trace_request(
    name: &str,
    message: &Message<'_>,
    answers: Answers,
) -> Result<TraceRequest, AccelError> {
    let peer = LoopbackPeer::new(answers)?;
    Ok(TraceRequest {
        conversation: conversation(message)?,
        ..TraceRequest::new(name, message.bytes.to_vec(), message, Box::new(peer))
    })
}

fn conversation(message: &Message<'_>) -> Result<Conversation, AccelError> {
    let (_, server) = connection(0)?;
    let with_client = match &message.call {
        Call::None => true,
        Call::Thrift(call) => {
            matches!(
                call.message_type,
                MessageType::Reply | MessageType::Exception
            )
        }
        Call::Storage(call) => call.role == Role::Response,
        Call::Http(_) | Call::Grpc(_) => false,
    };
    if with_client {
        return Ok(Conversation {
            session: server,
            caller: None,
        });
    }
    let schema = Schema::social_network();
    let call = ThriftCall::request(&schema, CALLER_METHOD, Protocol::Binary, 0)?;
    Ok(Conversation {
        session: Session::default(),
        caller: Some(Caller {
            call,
            session: server,
        }),
    })
}
