//! The protocol that a server speaks, and the interface that the server has.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use accelflow_accel::thrift::{FunctionId, Schema};
use accelflow_accel::{AccelError, Settings, protobuf};

use super::grpc::gateway::Gateway;
use super::thread_scope::ThreadScope;
use crate::config::Config;
use crate::error::ServeError;

/// A protocol and the interface that a server serves with it.
pub(crate) enum Protocol {
    /// Framed Apache Thrift.
    Thrift(Arc<Schema>),
    /// gRPC over HTTP/2.
    Grpc(Arc<protobuf::Schema>),
}

/// The parts of the protocol that connections of a running server use.
pub(crate) enum Endpoint {
    /// Framed Apache Thrift: the interface.
    Thrift(Arc<Schema>),
    /// gRPC over HTTP/2: the interface, and the threads and streams of all connections.
    Grpc(Gateway),
}

impl Protocol {
    /// Reads an interface: gRPC's if the file's name ends in `.proto`, else Thrift's.
    pub(crate) fn read(path: &Path, search: &[PathBuf]) -> Result<Protocol, ServeError> {
        if path
            .extension()
            .is_some_and(|extension| extension == "proto")
        {
            let schema =
                protobuf::Schema::read(path, search).map_err(|error| ServeError::Proto {
                    path: path.to_owned(),
                    error,
                })?;
            return Ok(Protocol::Grpc(Arc::new(schema)));
        }
        Ok(Protocol::Thrift(Arc::new(Schema::load(path, search)?)))
    }

    /// Finds the function `Service.method`, or `method` if only one service has it.
    pub(crate) fn function(&self, name: &str) -> Result<FunctionId, AccelError> {
        match self {
            Protocol::Thrift(schema) => match name.rsplit_once('.') {
                Some((service, method)) => schema.find_in(service, method),
                None => schema.find(name),
            },
            Protocol::Grpc(schema) => schema.find(name).map(|method| FunctionId(method.0)),
        }
    }

    /// Settings of the accelerators that serve this protocol.
    pub(crate) fn settings(&self) -> Settings {
        match self {
            Protocol::Thrift(schema) => Settings {
                schema: schema.clone(),
                ..Settings::default()
            },
            // Calls of gRPC have their own interface, so no Thrift interface is needed.
            Protocol::Grpc(_) => Settings {
                schema: Arc::default(),
                ..Settings::default()
            },
        }
    }

    /// Prepares to serve connections of `tenants` tenants, 0 if connections have none.
    pub(crate) fn endpoint(
        self,
        config: &Config,
        tenants: usize,
        scope: &Arc<ThreadScope>,
    ) -> io::Result<Endpoint> {
        match self {
            Protocol::Thrift(schema) => Ok(Endpoint::Thrift(schema)),
            Protocol::Grpc(schema) => {
                let gateway = Gateway::new(schema, config, tenants, scope.clone())?;
                Ok(Endpoint::Grpc(gateway))
            }
        }
    }
}

impl Endpoint {
    /// The gateway of a gRPC server.
    pub(crate) fn gateway(&self) -> Option<&Gateway> {
        match self {
            Endpoint::Thrift(_) => None,
            Endpoint::Grpc(gateway) => Some(gateway),
        }
    }
}
