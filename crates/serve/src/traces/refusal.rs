//! Refusals of traces that a service cannot use.

use std::path::PathBuf;

use accelflow_parameters::Refusal;
use accelflow_trace::text::TextError;
use accelflow_trace::{Accel, FileError, LinkError, RegisterError};

/// The reason why traces cannot be used in the place that they were given for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceRefusal {
    /// No trace has the name.
    #[error(transparent)]
    Name(#[from] Refusal),
    /// A trace does not fit its task.
    #[error("{place} = '{root}': {misfit}")]
    Misfit {
        /// The setting that names the trace, such as `receive`.
        place: String,
        /// The trace that it names.
        root: String,
        /// The defect and its place.
        misfit: Box<Misfit>,
    },
    /// A trace belongs to another service.
    #[error("{place} = '{root}': trace '{trace}' belongs to the service '{owner}'")]
    Owned {
        /// The setting that names the trace.
        place: String,
        /// The trace that it names.
        root: String,
        /// The trace, which that one leads to.
        trace: String,
        /// The service.
        owner: String,
    },
    /// The traces cannot be linked.
    #[error("traces: {0}")]
    Link(#[from] LinkError),
    /// The traces cannot be registered.
    #[error("traces: {0}")]
    Register(#[from] RegisterError),
    /// A file cannot be read.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        why: Box<FileFault>,
    },
    /// There is no file to read the traces from again.
    #[error("the traces were not given as a file, so they cannot be read again")]
    NoFile,
}

/// The reason why no traces can be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// The system's error.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is too large to be one of traces.
    #[error("more than {0} bytes; files of traces are smaller")]
    Large(u64),
    /// Neither a trace file nor text.
    #[error("must be a trace file or a text of traces, in UTF-8")]
    Neither,
    /// A damaged trace file.
    #[error(transparent)]
    Image(#[from] FileError),
    /// Words that are not a valid trace memory.
    #[error(transparent)]
    Words(#[from] LinkError),
    /// A text that does not describe traces.
    #[error(transparent)]
    Text(#[from] TextError),
    /// An invalid trace.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

/// What is wrong with a trace for its task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("trace '{trace}': {fault}")]
pub struct Misfit {
    /// The trace in which it is wrong.
    pub trace: String,
    /// The defect.
    pub fault: FitFault,
}

/// What can be wrong with a trace for its task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitFault {
    /// An accelerator in the wrong place.
    #[error("{found} comes where {expected} must: a message {passes} {order}")]
    Order {
        /// The accelerator.
        found: Accel,
        /// The accelerator that must be there.
        expected: String,
        /// `arrives by` or `leaves by`.
        passes: &'static str,
        /// The accelerators of this connection, in order.
        order: String,
    },
    /// The trace ends too early.
    #[error("it ends where {expected} must follow: a message {passes} {order}")]
    Early {
        /// What must follow.
        expected: String,
        /// `arrives by` or `leaves by`.
        passes: &'static str,
        /// The accelerators of this connection, in order.
        order: String,
    },
    /// A change of format or a compression of something that is not application data.
    #[error("{0} must stand where the payload is application data")]
    NotData(String),
    /// A compression that is not of the serialised message.
    #[error("{0} must stand between {1}: gRPC compresses serialised messages")]
    Message(Accel, &'static str),
    /// A trace that receives sends.
    #[error("{0} sends, but this trace must only receive")]
    Sends(Accel),
    /// A trace that must answer waits for another message.
    #[error("it waits for a message, but this trace must only send")]
    Waits,
    /// A trace waits for a response although nothing was sent before.
    #[error("it waits for a response before anything was sent")]
    Unasked,
    /// A trace that must wait for the answer ends.
    #[error("it ends after sending, but must continue with the trace of the answer: tail '{0}'")]
    NoAnswer(String),
    /// The answer is received by another trace than the one that was named.
    #[error("its tail after sending is '{found}': must be '{expected}', which receives the answer")]
    OtherAnswer {
        /// The trace that it leads to.
        found: String,
        /// The one that was named.
        expected: String,
    },
    /// An accelerator after the message has left.
    #[error("{0} comes after the message has left")]
    Gone(Accel),
    /// More than one message would be sent.
    #[error("a fork would send more than one message; use join")]
    Forks,
    /// An error subtrace on a service that does not let these answer its caller.
    #[error("'{0}' answers the service's caller, which the setting errors_to_caller must allow")]
    Caller(String),
}
