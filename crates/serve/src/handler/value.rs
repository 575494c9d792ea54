//! The values of handlers, and their errors.

use accelflow_accel::Record;

#[derive(Debug)]
pub(crate) enum Value {
    /// The JSON text of the function's value.
    Json(Vec<u8>),
    /// The record of the function's result.
    Record(Record, Vec<u8>),
    /// A value that cannot be encoded, and why.
    Unfit(String),
    /// A value that was too large for the memory that the client's unread responses leave.
    NoRoom,
}

/// An error of a handler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandlerError {
    /// An exception that the interface declares for the function. In gRPC every method may raise
    /// the status codes: `NOT_FOUND` with `{"message": "..."}`.
    #[error("exception '{field}'")]
    Declared {
        /// The name of its field in `throws`.
        field: String,
        /// The JSON object of its members.
        body: Vec<u8>,
    },
    /// Any other error. The client gets a `TApplicationException` INTERNAL_ERROR, or gRPC's status
    /// UNKNOWN, with the id under which the log has this text
    /// ([`Config::verbose_errors`](crate::Config)).
    #[error("{0}")]
    Internal(String),
    /// Any other error, which the handler has logged itself.
    #[error("{why}")]
    Logged {
        /// Its id in the log.
        id: String,
        /// The error's text.
        why: String,
    },
}

/// The result of a [`Handler`](crate::Handler): the JSON text of the function's value, empty for a
/// void function.
pub type HandlerResult = Result<Vec<u8>, HandlerError>;
