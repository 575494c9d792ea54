//! Errors of traces that a service cannot use.

use std::path::PathBuf;

use accelflow_parameters::Refusal;
use accelflow_trace::text::TextError;
use accelflow_trace::{Accel, FileError, LinkError, RegisterError};

/// The error for a trace that cannot be used in the setting that names it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceRefusal {
    /// No trace has the name.
    #[error(transparent)]
    Name(#[from] Refusal),
    /// A trace is not suitable for its task.
    #[error("{place} = '{root}': {misfit}")]
    Misfit {
        /// The setting that has the trace's name, such as `receive`.
        place: String,
        /// The trace in the setting.
        root: String,
        /// The defect and its place.
        misfit: Box<Misfit>,
    },
    /// A trace belongs to another service.
    #[error("{place} = '{root}': trace '{trace}' belongs to the service '{owner}'")]
    Owned {
        /// The setting that has the trace's name.
        place: String,
        /// The trace in the setting.
        root: String,
        /// The foreign trace, to which `root` leads.
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
        /// The reason.
        why: Box<FileFault>,
    },
    /// The traces were not read from a file.
    #[error("the traces were not given as a file, so they cannot be read again")]
    NoFile,
}

/// The error of a file without readable traces.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// The system's error.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is larger than any file of traces.
    #[error("must have at most {0} bytes")]
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

/// The defect that makes a trace unsuitable for its task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("trace '{trace}': {fault}")]
pub struct Misfit {
    /// The trace with the defect.
    pub trace: String,
    /// The defect.
    pub fault: FitFault,
}

/// The kind of defect that makes a trace unsuitable for its task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitFault {
    /// An accelerator in the wrong place.
    #[error("{found}: must be {expected} at this place, since a message {passes} {order}")]
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
    #[error("it ends too early: {expected} must follow, since a message {passes} {order}")]
    Early {
        /// What must follow.
        expected: String,
        /// `arrives by` or `leaves by`.
        passes: &'static str,
        /// The accelerators of this connection, in order.
        order: String,
    },
    /// A change of format, or a compression, at a place where the payload is not application data.
    #[error("{0}: must be at a place where the payload is application data")]
    NotData(String),
    /// A compression at a place where the payload is not the serialized message.
    #[error("{0}: must be between {1}, since gRPC compresses serialized messages")]
    Message(Accel, &'static str),
    /// A receiving trace sends a message.
    #[error("{0} sends, but this trace must only receive")]
    Sends(Accel),
    /// A sending trace waits for a message.
    #[error("it waits for a message, but this trace must only send")]
    Waits,
    /// A trace waits for a response without having sent a message.
    #[error("it waits for a response before it has sent a message")]
    Unasked,
    /// A trace ends although it must wait for the answer.
    #[error("it ends after sending: must continue with tail '{0}', which receives the answer")]
    NoAnswer(String),
    /// A different trace than the configured one receives the answer.
    #[error("its tail after sending is '{found}': must be '{expected}', which receives the answer")]
    OtherAnswer {
        /// The trace in its tail.
        found: String,
        /// The configured trace.
        expected: String,
    },
    /// An accelerator after the message has left.
    #[error("{0} follows the sending of the message")]
    Gone(Accel),
    /// More than one message would be sent.
    #[error("a fork would send more than one message; use join")]
    Forks,
    /// An error subtrace in a service that does not allow these to answer its caller.
    #[error("'{0}' answers the service's caller: the setting errors_to_caller must be on")]
    Caller(String),
}
