//! Errors of traces that a service cannot use.

use std::path::PathBuf;

use accelflow_parameters::Refusal;
use accelflow_trace::text::TextError;
use accelflow_trace::{Accel, FileError, LinkError, RegisterError};

/// The error of a setting whose trace cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceRefusal {
    /// No trace has the name in the setting.
    #[error(transparent)]
    Name(#[from] Refusal),
    /// A trace does not do what its setting requires.
    #[error("{place} = '{root}': {misfit}")]
    Misfit {
        /// The setting that names the trace, such as `receive`.
        place: String,
        /// The name of the trace in the setting.
        root: String,
        /// What is wrong, and in which trace.
        misfit: Box<Misfit>,
    },
    /// A trace belongs to another service.
    #[error("{place} = '{root}': trace '{trace}' belongs to the service '{owner}'")]
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
    /// A file of traces cannot be read.
    #[error("{path}: {why}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The reason why the file cannot be read.
        why: Box<FileFault>,
    },
    /// Traces are to be read again, but they were not read from a file.
    #[error("the traces were not read from a file, so they cannot be read again")]
    NoFile,
}

/// What is wrong with a file of traces.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// The operating system's error.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is larger than any file of traces; the largest size in bytes.
    #[error("must have at most {0} bytes")]
    Large(u64),
    /// The file is neither a trace file nor text.
    #[error("must be a trace file or a text of traces, in UTF-8")]
    Neither,
    /// The trace file is damaged.
    #[error(transparent)]
    Image(#[from] FileError),
    /// The words in the file are not a valid trace memory.
    #[error(transparent)]
    Words(#[from] LinkError),
    /// The text in the file does not describe traces.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The file has an invalid trace.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

/// The error of a trace that does not do what its setting requires.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("trace '{trace}': {fault}")]
pub struct Misfit {
    /// The name of the trace with the error.
    pub trace: String,
    /// What is wrong in this trace.
    pub fault: FitFault,
}

/// Why a trace does not do what its setting requires.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitFault {
    /// An accelerator is in the wrong place.
    #[error("{found}: must be {expected} at this place, since a message {passes} {order}")]
    Order {
        /// The accelerator that is in the wrong place.
        found: Accel,
        /// The accelerator that must be in this place.
        expected: String,
        /// Whether a message `arrives by` or `leaves by` these accelerators.
        passes: &'static str,
        /// The accelerators that messages of this connection need, in order.
        order: String,
    },
    /// The trace ends too early.
    #[error("it ends too early: {expected} must follow, since a message {passes} {order}")]
    Early {
        /// The accelerator that must follow.
        expected: String,
        /// Whether a message `arrives by` or `leaves by` these accelerators.
        passes: &'static str,
        /// The accelerators that messages of this connection need, in order.
        order: String,
    },
    /// A change of format, a compression or a custom accelerator (its name) is at a place where the
    /// payload is not application data.
    #[error(
        "{0}: must come after the layers of a received message are removed, and before those of a \
         sent one are added"
    )]
    NotData(String),
    /// A compression, by this accelerator, is at a place where the payload is not the serialized
    /// message. The text names the two accelerators between which it must be.
    #[error("{0}: must be between {1}, since gRPC compresses serialized messages")]
    Message(Accel, &'static str),
    /// A trace that must only receive sends a message, with this accelerator.
    #[error("{0} sends, but this trace must only receive")]
    Sends(Accel),
    /// A trace that must only send waits for a message.
    #[error("it waits for a message, but this trace must only send")]
    Waits,
    /// A trace waits for a response without having sent a message.
    #[error("it waits for a response before it has sent a message")]
    Unasked,
    /// A trace ends although it must continue with the trace, of this name, that receives the
    /// answer.
    #[error("it ends after sending: must continue with tail '{0}', which receives the answer")]
    NoAnswer(String),
    /// A trace continues with a different trace than the one that is configured to receive the
    /// answer.
    #[error("its tail after sending is '{found}': must be '{expected}', which receives the answer")]
    OtherAnswer {
        /// The name of the trace in its tail.
        found: String,
        /// The name of the configured trace.
        expected: String,
    },
    /// This accelerator follows after the message has been sent.
    #[error("{0} follows the sending of the message: must come before it")]
    Gone(Accel),
    /// A fork would send more than one message.
    #[error("a fork would send more than one message; use join")]
    Forks,
    /// A trace continues with an error subtrace, of this name, which the service does not allow to
    /// answer its caller.
    #[error("'{0}' answers the service's caller: the setting errors_to_caller must be on")]
    Caller(String),
}
