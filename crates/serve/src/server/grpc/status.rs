//! gRPC's status codes, and the headers that carry them.

use crate::transport::grpc::code::Code;

/// Why a call has no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// What it is counted under.
    pub(crate) label: &'static str,
    pub(crate) detail: Detail,
}

/// For whom a status's message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The client.
    Open,
    /// The operators.
    Private,
    /// The operators, who have it in their log under this id.
    Logged(String),
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

    /// One whose message says more than clients should know.
    pub(crate) fn private(code: Code, label: &'static str, message: impl ToString) -> Status {
        Status {
            detail: Detail::Private,
            ..Status::new(code, label, message)
        }
    }
}
