//! Why a server does not start, and why connections end.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use accelflow_accel::AccelError;
use accelflow_accel::protobuf::ProtoError;
use accelflow_accel::thrift::InterfaceError;
use accelflow_trace::{LinkError, RegisterError, SourceError, TemplateError};

/// The compiler says where in a file, by its name alone.
fn placed(path: &Path, error: &ProtoError) -> String {
    let text = error.to_string();
    let name = path.file_name().and_then(|name| name.to_str());
    let (place, path) = (
        name.and_then(|name| text.strip_prefix(name)),
        path.display(),
    );
    match place.filter(|place| place.starts_with(':')) {
        Some(place) => format!("{path}{place}"),
        None => format!("{path}: {text}"),
    }
}

/// Why a server could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A `.thrift` interface cannot be read, or is malformed.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// A `.proto` interface cannot be read, or is malformed.
    #[error("{}", placed(path, error))]
    Proto {
        /// The file.
        path: PathBuf,
        /// Where and why.
        error: ProtoError,
    },
    /// A certificate or key is of no use.
    #[error("{path}: {why}")]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A setting that is not allowed.
    #[error("{name} = {value}: must be {allowed}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// What it was to be.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// A function or a setting that does not exist.
    #[error(transparent)]
    Accel(#[from] AccelError),
    /// A handler for something that is no function of the interface.
    #[error("handler '{name}': {error}")]
    Handler {
        /// What it was registered for.
        name: String,
        /// Why there is no such function.
        error: AccelError,
    },
    /// The traces could not be put together.
    #[error("traces: {0}")]
    Traces(String),
    /// The worker pools could not be started.
    #[error("pools: {0}")]
    Pools(#[from] accelflow_runtime::PoolError),
    /// Nobody would run handlers.
    #[error("steering: workers = 0: must be at least 1")]
    Steering,
    /// The tenants cannot be told apart or shaped.
    #[error(transparent)]
    Tenants(#[from] crate::tenants::TenantError),
    /// The collector of spans is none.
    #[error("telemetry: {0}")]
    Telemetry(#[from] crate::otel::TelemetryError),
    /// The address is not to be had.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// Threads or sockets could not be made.
    #[error(transparent)]
    Io(#[from] io::Error),
}

macro_rules! from_trace_errors {
    ($($error:ty),*) => {$(
        impl From<$error> for ServeError {
            fn from(error: $error) -> ServeError {
                ServeError::Traces(error.to_string())
            }
        }
    )*};
}
from_trace_errors!(TemplateError, SourceError, RegisterError, LinkError);

/// Why a connection ended. [`Close::reason`] is the label that it is counted under.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Close {
    /// The client has ended it between two messages.
    #[error("closed by the client")]
    Done,
    /// The client has ended it within a message.
    #[error("closed by the client within a message")]
    Cut,
    /// The server stops, and has answered what had come.
    #[error("the server stops")]
    Drained,
    /// Nothing has ever come.
    #[error("silent for too long")]
    Silent,
    /// Nothing came for too long.
    #[error("idle for too long")]
    Idle,
    /// A message, a reply or a handshake took too long.
    #[error("too slow: {0}")]
    Slow(&'static str),
    /// No frame, no record or no header of a message.
    #[error("{0}")]
    Malformed(AccelError),
    /// The handshake failed.
    #[error("TLS: {0}")]
    Handshake(rustls::Error),
    /// The client has reported an error of TLS.
    #[error("TLS alert {0} from the client")]
    Alert(u8),
    /// The other end has asked for new keys more often than it may.
    #[error("TLS: more key updates than {}", crate::key_updates::ALLOWED)]
    KeyUpdates,
    /// A reply could not be made.
    #[error("{0}")]
    Failed(String),
    /// What came is no HTTP/2.
    #[error("HTTP/2: {0}")]
    Http2(String),
    /// Too many frames that ask for work and carry no request.
    #[error("a flood of frames")]
    Flood,
    /// The server stopped while a request waited for its tenant's turn.
    #[error("the server stops")]
    Stopped,
    /// The tenant that the client has proven to be of has as many connections as it may have.
    #[error("too many connections of a tenant")]
    TooManyOfTenant,
    /// The socket failed.
    #[error(transparent)]
    Io(io::Error),
}

/// An alert of TLS in words (RFC 8446, section 6).
pub(crate) fn alert(description: u8) -> String {
    let name = rustls::AlertDescription::from(description);
    format!("alert {description} ({name:?})")
}

impl Close {
    /// The same of a connection that nothing has ever come on.
    pub(crate) fn before_anything(self) -> Close {
        match self {
            Close::Idle => Close::Silent,
            close => close,
        }
    }

    /// Whether the client may have sent what is not read any more, and has yet to read what it was told.
    pub(crate) fn leaves_unread(&self) -> bool {
        match self {
            Close::Drained
            | Close::Stopped
            | Close::Malformed(_)
            | Close::KeyUpdates
            | Close::Handshake(_)
            | Close::Failed(_) => true,
            Close::Done
            | Close::Cut
            | Close::Idle
            | Close::Silent
            | Close::Slow(_)
            | Close::Alert(_)
            | Close::Http2(_)
            | Close::Flood
            | Close::TooManyOfTenant
            | Close::Io(_) => false,
        }
    }

    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Close::Done | Close::Drained => "done",
            Close::Silent => "silent",
            Close::Cut => "cut",
            Close::Idle => "idle",
            Close::Slow(_) => "slow",
            Close::Malformed(error) => error.reason(),
            Close::Handshake(_) => "handshake",
            Close::Alert(_) => "alert",
            Close::KeyUpdates => "key_updates",
            Close::Failed(_) => "failed",
            Close::Http2(_) => "http2",
            Close::Flood => "flood",
            Close::Stopped => "stopped",
            Close::TooManyOfTenant => "too_many_of_tenant",
            Close::Io(_) => "io",
        }
    }
}

impl From<AccelError> for Close {
    fn from(error: AccelError) -> Close {
        Close::Malformed(error)
    }
}
