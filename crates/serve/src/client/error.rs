//! Errors of a client's calls to a service.

use std::io;

use accelflow_accel::AccelError;
use accelflow_runtime::Failure;

use crate::transport::grpc::code::Code as GrpcCode;
use crate::transport::grpc::response::ReceivedMetadata;

/// The error of a client's call to a service.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The service raised an exception that the interface declares (Thrift).
    #[error("the service raised the declared exception '{field}': {body}")]
    Declared {
        /// The name of the exception's field in the function's `throws` clause.
        field: String,
        /// The exception's members, as a JSON object.
        body: String,
    },
    /// The service answered with a `TApplicationException` (Thrift).
    #[error("the service raised TApplicationException: {message} (type {kind})")]
    Application {
        /// The exception's type, as numbered by Apache Thrift.
        kind: i64,
        /// The exception's message.
        message: String,
    },
    /// The service answered with a gRPC status other than OK, with an HTTP status other than 200,
    /// or without gRPC's content type, or it reset the stream of a call that it was processing.
    #[error("{address}: {}: {message}", code.name())]
    Status {
        /// The address of the service.
        address: String,
        /// The gRPC status code with which the service answered, or the code that gRPC assigns to
        /// the HTTP status or to the reset.
        code: GrpcCode,
        /// The text of the gRPC status, or a description of the other answer.
        message: String,
        /// The custom metadata of the response, and details of the status.
        metadata: Box<ReceivedMetadata>,
    },
    /// The service did not process the call, because the service is shutting down or overloaded.
    #[error("{address}: the service did not process the call: {why}")]
    Unprocessed {
        /// The address of the service.
        address: String,
        /// The reason that the service gave for refusing the call.
        why: String,
    },
    /// The interface has no such function, the gRPC method is not unary, the client could not
    /// create an executor for the call's traces, or [`Client::check_arguments`](super::Client)
    /// refuses the arguments.
    #[error(transparent)]
    Unknown(#[from] AccelError),
    /// The trace that sends the request failed, for example because the arguments do not fit the
    /// interface.
    #[error("{0}")]
    Request(Box<Failure>),
    /// All connections are in use, and [`ClientConfig::max_waiting`](super::ClientConfig) calls are
    /// already waiting for one.
    #[error(
        "{address}: all {connections} connections are in use, and {waiting} calls already wait for \
         one, the most that may wait (max_waiting)"
    )]
    PoolFull {
        /// The address of the service.
        address: String,
        /// The number of the client's connections, all in use.
        connections: usize,
        /// The number of calls that already wait for a connection.
        waiting: usize,
    },
    /// No connection became free before the call's deadline.
    #[error("{address}: none of the {connections} connections became free in time")]
    PoolTimeout {
        /// The address of the service.
        address: String,
        /// The number of the client's connections, all in use.
        connections: usize,
    },
    /// The service answered with an exception (in gRPC, an error status), and the ensemble has
    /// already sent this error to the client of the request being handled
    /// ([`Config::errors_to_caller`](crate::Config)). The handler's result is discarded.
    #[error(
        "{address}: the service's exception was already sent to the client whose request is being \
         handled"
    )]
    Answered {
        /// The address of the service.
        address: String,
    },
    /// The tenant of the request being handled has as many concurrent calls and storage accesses as
    /// [`Tenant::max_traces`](crate::Tenant) allows, and none of them ended before this call's
    /// deadline.
    #[error(
        "{address}: the tenant of the request being handled has as many concurrent calls and \
         storage accesses as allowed (max_traces), and none ended in time"
    )]
    TenantBusy {
        /// The address of the service.
        address: String,
    },
    /// No connection to the service could be opened.
    #[error("cannot connect to {address}: {error}")]
    Connect {
        /// The address of the service.
        address: String,
        /// The reason, such as the operating system's error or the end of the time limit.
        error: io::Error,
    },
    /// The TLS handshake failed, for example because of a rejected certificate or no common cipher
    /// suite. Also: the service ended the connection later with a TLS alert, or renewed its keys
    /// too often.
    #[error("{address}: TLS failed: {why}")]
    Tls {
        /// The address of the service.
        address: String,
        /// What is wrong with the handshake or the connection.
        why: String,
    },
    /// The connection was lost before any part of the request was sent.
    #[error("{address}: the connection was lost before the request was sent: {error}")]
    NotSent {
        /// The address of the service.
        address: String,
        /// The reason why the connection was lost.
        error: io::Error,
    },
    /// The connection was lost after a part of the request was sent and before the response was
    /// complete.
    #[error("{address}: the connection was lost before the response was complete: {why}")]
    Lost {
        /// The address of the service.
        address: String,
        /// The reason why the connection was lost.
        why: String,
    },
    /// The deadline of the call passed.
    #[error("{address}: deadline exceeded while {during}")]
    Timeout {
        /// The address of the service.
        address: String,
        /// What the client did when the deadline passed: `connecting`, `sending`, `waiting for
        /// the response`, or (gRPC) `waiting to repeat the call, which the service had refused`.
        during: &'static str,
        /// Whether the last attempt may have written any part of the request to a connection,
        /// except if the service has refused that attempt. False between two attempts: an earlier
        /// one that the service may have executed is in [`CallError::Repeated`].
        sent: bool,
    },
    /// The call was cancelled with [`Cancel::cancel`](super::Cancel::cancel).
    #[error("{address}: the call was cancelled by this program")]
    Cancelled {
        /// The address of the service.
        address: String,
        /// Whether the last attempt may have written any part of the request to a connection,
        /// except if the service has refused that attempt. False between two attempts: an earlier
        /// one that the service may have executed is in [`CallError::Repeated`].
        sent: bool,
    },
    /// The trace that receives the response failed, for example because the response does not fit
    /// the interface.
    #[error("{address}: unreadable response: {failure}")]
    Response {
        /// The address of the service.
        address: String,
        /// The place and the reason of the trace's failure.
        failure: Box<Failure>,
    },
    /// The service sent a malformed message or unsolicited data, or the client could not run the
    /// trace that receives the response.
    #[error("{address}: malformed response: {error}")]
    Malformed {
        /// The address of the service.
        address: String,
        /// The error that was found in the response.
        error: AccelError,
    },
    /// The service answered a different call than the one in progress.
    #[error("{address}: received {found}: must be a reply to {expected}")]
    OutOfStep {
        /// The address of the service.
        address: String,
        /// The call in progress: its sequence number and method.
        expected: String,
        /// What was received instead, such as a reply to another call.
        found: String,
    },
    /// The last attempt of the call was certainly not executed, but an earlier attempt may have
    /// been. Only calls that allow repetition have such attempts
    /// ([`CallOptions::idempotent`](super::CallOptions)).
    #[error("{last}; an earlier attempt of the call may have been executed: {earlier}")]
    Repeated {
        /// The error of the last attempt, which also gives the reason and the gRPC code.
        last: Box<CallError>,
        /// The error of the latest attempt that the service may have executed.
        earlier: Box<CallError>,
    },
}

/// The `TApplicationException` type of a service that has no such function.
const UNKNOWN_METHOD: i64 = 1;

/// Whether the service has executed a client's call that failed: no, perhaps or yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executed {
    /// The service has certainly not executed the call, in any of its attempts: the call was not
    /// sent, or the service reported that it did not process the call or has no such function.
    No,
    /// The client cannot know whether the service has executed the call.
    Perhaps,
    /// The service has processed the call and answered with an error.
    Yes,
}

impl CallError {
    /// Returns a stable, machine-readable name of the kind of error, such as `pool_full`, for
    /// counters and tests.
    pub fn reason(&self) -> &'static str {
        match self {
            CallError::Declared { .. } => "declared",
            CallError::Application { .. } => "application",
            CallError::Status { .. } => "status",
            CallError::Unprocessed { .. } => "unprocessed",
            CallError::Unknown(error) => error.reason(),
            CallError::Request(failure) => failure.error.reason,
            CallError::PoolFull { .. } => "pool_full",
            CallError::PoolTimeout { .. } => "pool_timeout",
            CallError::Answered { .. } => "answered",
            CallError::TenantBusy { .. } => "tenant_busy",
            CallError::Connect { .. } => "connect",
            CallError::Tls { .. } => "tls",
            CallError::NotSent { .. } => "not_sent",
            CallError::Lost { .. } => "lost",
            CallError::Timeout { .. } => "timeout",
            CallError::Cancelled { .. } => "cancelled",
            CallError::Response { .. } => "bad_response",
            CallError::Malformed { .. } => "malformed_response",
            CallError::OutOfStep { .. } => "out_of_step",
            CallError::Repeated { last, .. } => last.reason(),
        }
    }

    /// Returns whether the service has executed the call.
    pub fn executed(&self) -> Executed {
        match self {
            CallError::Application {
                kind: UNKNOWN_METHOD,
                ..
            } => Executed::No,
            CallError::Declared { .. }
            | CallError::Application { .. }
            | CallError::Answered { .. } => Executed::Yes,
            CallError::Status { code, .. } if is_the_applications(*code) => Executed::Yes,
            CallError::Unprocessed { .. }
            | CallError::Unknown(_)
            | CallError::Request(_)
            | CallError::PoolFull { .. }
            | CallError::PoolTimeout { .. }
            | CallError::TenantBusy { .. }
            | CallError::Connect { .. }
            | CallError::NotSent { .. }
            | CallError::Timeout { sent: false, .. }
            | CallError::Cancelled { sent: false, .. } => Executed::No,
            // With TLS 1.3 a client learns that its certificate is refused only after its first
            // request.
            CallError::Status { .. }
            | CallError::Tls { .. }
            | CallError::Lost { .. }
            | CallError::Timeout { .. }
            | CallError::Cancelled { .. }
            | CallError::Response { .. }
            | CallError::Malformed { .. }
            | CallError::OutOfStep { .. }
            | CallError::Repeated { .. } => Executed::Perhaps,
        }
    }

    /// Whether a retry is safe and may succeed.
    pub(super) fn allows_retry(&self, idempotent: bool) -> bool {
        match self {
            CallError::Connect { .. }
            | CallError::NotSent { .. }
            | CallError::Unprocessed { .. } => true,
            CallError::Lost { .. } => idempotent,
            CallError::Status { code, .. } => idempotent && *code == GrpcCode::Unavailable,
            _ => false,
        }
    }

    /// Returns the gRPC status code of the error: the code of the service's status, or the code
    /// that gRPC's `statuscodes.md` assigns to other failures.
    pub fn code(&self) -> GrpcCode {
        let of_response = |reason: &str| match reason {
            "too_large" | "zip_bomb" => GrpcCode::ResourceExhausted,
            _ => GrpcCode::Internal,
        };
        match self {
            CallError::Status { code, .. } => *code,
            CallError::Unknown(error) => match error.reason() {
                "unknown_method" | "unknown_service" => GrpcCode::Unimplemented,
                _ => GrpcCode::Internal,
            },
            CallError::PoolFull { .. } | CallError::TenantBusy { .. } => {
                GrpcCode::ResourceExhausted
            }
            CallError::PoolTimeout { .. } | CallError::Timeout { .. } => GrpcCode::DeadlineExceeded,
            CallError::Connect { .. }
            | CallError::Tls { .. }
            | CallError::NotSent { .. }
            | CallError::Lost { .. }
            | CallError::Unprocessed { .. } => GrpcCode::Unavailable,
            CallError::Cancelled { .. } => GrpcCode::Cancelled,
            CallError::Request(failure) | CallError::Response { failure, .. } => {
                of_response(failure.error.reason)
            }
            CallError::Malformed { error, .. } => of_response(error.reason()),
            CallError::OutOfStep { .. } => GrpcCode::Internal,
            CallError::Declared { .. }
            | CallError::Application { .. }
            | CallError::Answered { .. } => GrpcCode::Unknown,
            CallError::Repeated { last, .. } => last.code(),
        }
    }
}

/// Whether only applications use a code, and gRPC's libraries do not (`statuscodes.md`).
fn is_the_applications(code: GrpcCode) -> bool {
    matches!(
        code,
        GrpcCode::InvalidArgument
            | GrpcCode::NotFound
            | GrpcCode::AlreadyExists
            | GrpcCode::FailedPrecondition
            | GrpcCode::Aborted
            | GrpcCode::OutOfRange
            | GrpcCode::DataLoss
    )
}
