//! Errors of setting up servers and clients.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use accelflow_accel::AccelError;
use accelflow_accel::protobuf::ProtoError;
use accelflow_accel::thrift::InterfaceError;
use accelflow_parameters::Refusal;
use accelflow_trace::{LinkError, RegisterError, SourceError, TemplateError};

use crate::traces::refusal::TraceRefusal;

/// Returns the text of an error in an interface, with the file's full path instead of its name.
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

/// The error of a server or client that cannot be created, started or given new traces.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A `.thrift` file cannot be read or is malformed.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// A `.proto` file cannot be read or is malformed.
    #[error("{}", placed(path, error))]
    Proto {
        /// The path of the `.proto` file.
        path: PathBuf,
        /// The error in the file: the place, and what is wrong there.
        error: ProtoError,
    },
    /// A PEM file of certificates or of a private key cannot be used.
    #[error("{path}: {why}")]
    Certificate {
        /// The path of the file of certificates or of the private key.
        path: PathBuf,
        /// What is wrong with the file.
        why: String,
    },
    /// A setting has a value that is not allowed.
    #[error(transparent)]
    Setting(#[from] Refusal),
    /// The software accelerators cannot be created with the settings of the server or client.
    #[error(transparent)]
    Accel(#[from] AccelError),
    /// A handler or setting was given for a name that no function of the interface has, or that
    /// several functions have.
    #[error("handler '{name}': {error}")]
    Handler {
        /// The name of the function for which a handler or setting was given.
        name: String,
        /// The reason why the name selects no function of the interface.
        error: AccelError,
    },
    /// The default traces could not be built or linked.
    #[error("traces: {0}")]
    Traces(String),
    /// The custom traces of a server or client cannot be used.
    #[error(transparent)]
    OwnTraces(Box<TraceRefusal>),
    /// The worker threads of the ensemble could not be started.
    #[error("ensemble: {0}")]
    Pools(#[from] accelflow_runtime::PoolError),
    /// The settings of tenants or of the control plane are invalid.
    #[error(transparent)]
    Tenants(#[from] crate::config::TenantError),
    /// The settings of OpenTelemetry tracing are invalid, or the exporter of spans cannot be
    /// created.
    #[error("telemetry: {0}")]
    Telemetry(#[from] crate::config::TelemetryError),
    /// The server cannot listen on its address, or on the address of its operators' port.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address at which the server should listen.
        address: SocketAddr,
        /// The operating system's error.
        error: io::Error,
    },
    /// The operating system could not provide a thread or socket.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<TraceRefusal> for ServeError {
    fn from(refusal: TraceRefusal) -> ServeError {
        ServeError::OwnTraces(Box::new(refusal))
    }
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
