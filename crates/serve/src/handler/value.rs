//! A handler's value, and the errors that it may end in.

use accelflow_accel::Record;

#[derive(Debug)]
pub(crate) enum Value {
    /// The JSON of the function's value.
    Json(Vec<u8>),
    /// The record of the function's result.
    Record(Record, Vec<u8>),
    /// Nothing that can be sent, and why.
    Unfit(String),
    /// What was too large for what the client has not taken yet.
    NoRoom,
}

/// Why a handler gives no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandlerError {
    /// An exception that the interface declares for the function. In gRPC every method has the
    /// status codes for exceptions: `NOT_FOUND` with `{"message": "..."}`.
    #[error("exception '{field}'")]
    Declared {
        /// The name of its field in `throws`.
        field: String,
        /// The JSON object of its members.
        body: Vec<u8>,
    },
    /// Anything else. The client is sent a `TApplicationException` INTERNAL_ERROR, of gRPC the
    /// status UNKNOWN, with the id under which the log has this text
    /// ([`Config::verbose_errors`](crate::Config)).
    #[error("{0}")]
    Internal(String),
    /// The same, of which the handler has told the log itself.
    #[error("{why}")]
    Logged {
        /// What the log has it under.
        id: String,
        /// What went wrong.
        why: String,
    },
}

/// What a handler returns: the JSON of the function's value, for a void function nothing.
pub type HandlerResult = Result<Vec<u8>, HandlerError>;
