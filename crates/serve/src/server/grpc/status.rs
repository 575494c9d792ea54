//! The gRPC status with which a server answers a request that has no result.

use crate::transport::grpc::code::Code;

/// The status of a call without a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// Its label in the metrics.
    pub(crate) label: &'static str,
    pub(crate) detail: Detail,
}

/// Who may see the message of a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The client.
    Open,
    /// The operators.
    Private,
    /// The operators. Their log has the message under this id.
    Logged(String),
    /// No one. The stream is refused, so the client knows that the call was not processed and may
    /// be retried.
    Unprocessed,
}

impl Status {
    pub(crate) fn new(code: Code, label: &'static str, message: impl ToString) -> Status {
        Status {
            code,
            message: message.to_string(),
            label,
            detail: Detail::Open,
        }
    }

    /// The status of a request for which there is no memory.
    pub(crate) fn no_memory() -> Status {
        let why = "no memory for the request at present";
        Status {
            detail: Detail::Unprocessed,
            ..Status::new(Code::Unavailable, "no_memory", why)
        }
    }

    /// Creates a status whose message is only for operators.
    pub(crate) fn private(code: Code, label: &'static str, message: impl ToString) -> Status {
        Status {
            detail: Detail::Private,
            ..Status::new(code, label, message)
        }
    }
}
