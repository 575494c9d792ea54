//! The values of handlers, and their errors.

use accelflow_accel::Record;

#[derive(Debug)]
pub(crate) enum Value {
    /// The JSON text of the function's value.
    Json(Vec<u8>),
    /// The record of the function's result.
    Record(Record, Vec<u8>),
    /// A value that cannot be encoded, with the reason.
    Unfit(String),
    /// A value that does not fit the memory left by the client's unread responses.
    NoRoom,
}

/// The error of a handler, which is reported to the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandlerError {
    /// An exception that the interface declares for the function. In gRPC every method may raise
    /// the status codes, such as `NOT_FOUND` with `{"message": "..."}`.
    #[error("exception '{field}'")]
    Declared {
        /// The name of the exception's field in `throws`; in gRPC the name of the status code.
        field: String,
        /// The exception's members as a JSON object.
        body: Vec<u8>,
    },
    /// Any other error. The client gets a `TApplicationException` INTERNAL_ERROR, or gRPC's status
    /// UNKNOWN, with an id. The log has this text under that id
    /// ([`Config::verbose_errors`](crate::Config)).
    #[error("{0}")]
    Internal(String),
    /// Any other error, if the handler has logged it itself.
    #[error("{why}")]
    Logged {
        /// The id of the error in the handler's log.
        id: String,
        /// The text of the error.
        why: String,
    },
}

/// The result of a [`Handler`](crate::Handler): the function's value as JSON text, empty for a void
/// function.
pub type HandlerResult = Result<Vec<u8>, HandlerError>;
