//! The values that handlers return, and their errors.

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

/// The error with which a handler answers a request. The client gets an exception, or in gRPC an
/// error status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandlerError {
    /// An exception that the interface declares for the function. In gRPC it is an error status,
    /// which every method may raise: `field` is a name such as `NOT_FOUND`, and `body` has the
    /// status text as `{"message": "..."}`, and perhaps `details`, a list of messages in the JSON
    /// form of `google.protobuf.Any`.
    #[error("exception '{field}'")]
    Declared {
        /// The name of the exception's field in `throws`; in gRPC the name of the status code.
        field: String,
        /// The exception's members as a JSON object.
        body: Vec<u8>,
    },
    /// Any other error, with its text. The client gets INTERNAL_ERROR (a `TApplicationException`),
    /// in gRPC the status UNKNOWN. By default the client gets only an id of the error instead of
    /// the text, and the error log has the text under this id
    /// ([`Config::verbose_errors`](crate::Config)).
    #[error("{0}")]
    Internal(String),
    /// An error like [`HandlerError::Internal`] that the handler has already logged. The client
    /// gets the handler's id of the error (with [`Config::verbose_errors`](crate::Config) the text
    /// instead), and the server's error log gets nothing.
    #[error("{why}")]
    Logged {
        /// The id of the error in the handler's log.
        id: String,
        /// The text of the error.
        why: String,
    },
}

/// The result of a [`Handler`](crate::Handler): the function's value as JSON text, which is empty
/// for a void function, or an error.
pub type HandlerResult = Result<Vec<u8>, HandlerError>;
