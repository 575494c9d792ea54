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
    Tenants(#[from] crate::server::tenants::settings::TenantError),
    /// The collector of spans is none.
    #[error("telemetry: {0}")]
    Telemetry(#[from] crate::observe::telemetry::TelemetryError),
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
