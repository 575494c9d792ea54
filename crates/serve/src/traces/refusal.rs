//! Errors of custom traces that a service cannot use.

use std::path::PathBuf;

use accelflow_parameters::Refusal;
use accelflow_trace::text::TextError;
use accelflow_trace::{Accel, FileError, LinkError, RegisterError};

/// The error of a server, RPC client or storage client whose custom traces cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceRefusal {
    /// A setting names a trace that does not exist, or a custom accelerator that the traces call
    /// has no matching body.
    #[error(transparent)]
    Name(#[from] Refusal),
    /// A trace does not do what the setting that names it requires.
    #[error("{place} = '{root}': {misfit}")]
    Misfit {
        /// The setting that names the trace, such as `receive`.
        place: String,
        /// The name of the trace in the setting.
        root: String,
        /// What is wrong, and in which trace: the named trace or one that it leads to.
        misfit: Box<Misfit>,
    },
    /// A trace belongs to another service.
    #[error(
        "{place} = '{root}': trace '{trace}' belongs to the service '{owner}': must belong to this \
         service or to none"
    )]
    Owned {
        /// The setting that names the trace, such as `receive`.
        place: String,
        /// The name of the trace in the setting.
        root: String,
        /// The name of the foreign trace, to which `root` leads.
        trace: String,
        /// The service that owns the foreign trace.
        owner: String,
    },
    /// The traces cannot be linked, for example because a tail has no target.
    #[error("traces: {0}")]
    Link(#[from] LinkError),
    /// A trace cannot be registered, for example because its name is taken.
    #[error("traces: {0}")]
    Register(#[from] RegisterError),
    /// A file of traces cannot be read, or does not contain valid traces.
    #[error("{path}: {why}")]
    File {
        /// The path of the file of traces.
        path: PathBuf,
        /// The reason why the file cannot be used.
        why: Box<FileFault>,
    },
    /// The traces cannot be read again, since they were not read from a file.
    #[error("the traces were not read from a file, so they cannot be read again")]
    NoFile,
}

/// The reason why a file of traces cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// The operating system cannot read the file.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is larger than this limit, in bytes.
    #[error("must have at most {0} bytes")]
    Large(u64),
    /// The file is neither a trace file nor UTF-8 text.
    #[error("must be a trace file or a text of traces, in UTF-8")]
    Neither,
    /// The file is a trace file, but damaged.
    #[error(transparent)]
    Image(#[from] FileError),
    /// The words of the trace file are not a valid trace memory.
    #[error(transparent)]
    Words(#[from] LinkError),
    /// The text of the file does not describe traces.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The text of the file has an invalid trace.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

/// The error of a trace that is unfit for its task, such as a trace for receiving requests that
/// sends a message. A setting of the server, RPC client or storage client determines the task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("trace '{trace}': {fault}")]
pub struct Misfit {
    /// The name of the trace with the error: the trace that the setting names, or one that this
    /// trace leads to.
    pub trace: String,
    /// What is wrong in this trace.
    pub fault: FitFault,
}

/// The reason why a trace is unfit for its task, such as receiving requests. A setting of the
/// server, RPC client or storage client determines the task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitFault {
    /// An accelerator is in the wrong place of a trace.
    #[error(
        "{found}: must be {expected} at this place, since a message {passes} {order} in this order"
    )]
    Order {
        /// The accelerator that is in the wrong place.
        found: Accel,
        /// The accelerator that must be in this place, or `the end of the trace`.
        expected: String,
        /// The direction of messages: `arrives through` or `leaves through` the accelerators in
        /// `order`.
        passes: &'static str,
        /// The accelerators that messages of this connection need, in order.
        order: String,
    },
    /// The trace ends before its task is done.
    #[error(
        "the trace ends too early: {expected} must follow, since a message {passes} {order} in this order"
    )]
    Early {
        /// The accelerator that must follow.
        expected: String,
        /// The direction of messages: `arrives through` or `leaves through` the accelerators in
        /// `order`.
        passes: &'static str,
        /// The accelerators that messages of this connection need, in order.
        order: String,
    },
    /// The step of this name is at a place where the payload is not application data. The step is a
    /// change of format (`trans`), Cmp, Dcmp or a custom accelerator.
    #[error(
        "{0}: must be where the payload is application data: after Dser of a received message, or \
         before Ser of a sent one"
    )]
    NotData(String),
    /// This compression accelerator is at a place where the payload is not the serialized message.
    /// The text names the two accelerators between which the compression accelerator must be.
    #[error("{0}: must be between {1}, since gRPC compresses serialized messages")]
    Message(Accel, &'static str),
    /// A trace sends a message with this accelerator, but may only receive: it must not send.
    #[error("{0} sends, but this trace must only receive")]
    Sends(Accel),
    /// A trace waits for a message, but may only send: it must not receive.
    #[error("the trace waits for a message, but this trace must only send")]
    Waits,
    /// A trace waits for a response without having sent a message.
    #[error("the trace waits for a response before it has sent a message")]
    Unasked,
    /// A trace ends after sending a message, but must continue with the trace of this name, which
    /// receives the response.
    #[error(
        "the trace ends after sending: must continue with tail '{0}', which receives the answer"
    )]
    NoAnswer(String),
    /// A trace of a storage access ends after sending the request, but must continue with a trace
    /// that receives the response.
    #[error("the trace ends after sending: must continue with a tail that receives the response")]
    NoResponse,
    /// A trace continues with a different trace than the one that is configured to receive the
    /// response.
    #[error("tail after sending = '{found}': must be '{expected}', which receives the answer")]
    OtherAnswer {
        /// The name of the trace with which the faulty trace continues.
        found: String,
        /// The name of the trace that is configured to receive the response.
        expected: String,
    },
    /// This accelerator comes after the message has been sent, but must come before.
    #[error(
        "{0} comes after the message was sent: must come before, since only one message may be sent"
    )]
    Gone(Accel),
    /// The trace has a fork, which could send more than one message.
    #[error("a fork would send more than one message: use a join instead")]
    Forks,
    /// A trace continues with the error subtrace of this name, which answers the client of the
    /// request being handled. This is not allowed, since the server itself sends such errors.
    #[error(
        "'{0}' answers the service's caller: must not follow this trace; the server itself sends \
         errors to its caller if errors_to_caller is on"
    )]
    Caller(String),
}
