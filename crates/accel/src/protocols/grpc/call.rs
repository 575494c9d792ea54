//! A gRPC message without its content: the method, whether the message is a request or a response
//! and whether it is sent or received, and the codec.

use std::fmt;
use std::sync::Arc;

use crate::codec::Codec;
use crate::error::AccelError;
use crate::limits::Limits;
use crate::protocols::protobuf::{self, Method, MethodId, Schema};
use crate::role::Role;

/// Whether a message is received or sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    In,
    Out,
}

/// The description of a gRPC message without its content: the method, whether the message is a
/// request or a response and whether it is sent or received, and the codec.
#[derive(Clone)]
pub struct GrpcCall {
    schema: Arc<Schema>,
    /// The path of the request: `/package.Service/Method`.
    pub path: Arc<str>,
    /// The index of the method in the schema; `None` until RPC has found the method.
    pub method: Option<MethodId>,
    /// Whether the message is a request or a response.
    pub role: Role,
    /// The codec with which the message may be compressed. The message's prefix states whether it
    /// is compressed. With `None`, RPC refuses a received message that is compressed.
    pub codec: Option<Codec>,
    direction: Direction,
}

impl fmt::Debug for GrpcCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcCall")
            .field("path", &self.path)
            .field("role", &self.role)
            .field("codec", &self.codec)
            .finish_non_exhaustive()
    }
}

impl PartialEq for GrpcCall {
    fn eq(&self, other: &GrpcCall) -> bool {
        let parts = |call: &GrpcCall| {
            let path = call.path.clone();
            (path, call.method, call.role, call.codec, call.direction)
        };
        Arc::ptr_eq(&self.schema, &other.schema) && parts(self) == parts(other)
    }
}

impl GrpcCall {
    /// Creates the description of a received request to `path`. The request may be compressed with
    /// `codec`; with `None`, a compressed request is refused.
    pub fn received(schema: Arc<Schema>, path: &str, codec: Option<Codec>) -> GrpcCall {
        GrpcCall {
            schema,
            path: path.into(),
            method: None,
            role: Role::Request,
            codec,
            direction: Direction::In,
        }
    }

    /// Creates the description of a request that this program sends. `name` is the name of the
    /// called method, such as `package.Service.Method`, in one of the forms that [`Schema::find`]
    /// accepts. If the accelerator Cmp compresses the request, Cmp uses `codec`; with `None`, the
    /// codec of Cmp's settings.
    ///
    /// # Errors
    /// `unknown_method` for an unknown or ambiguous name.
    pub fn request(
        schema: Arc<Schema>,
        name: &str,
        codec: Option<Codec>,
    ) -> Result<GrpcCall, AccelError> {
        let id = schema.find(name)?;
        let path = schema.method(id).map(|method| method.path.clone());
        Ok(GrpcCall {
            schema,
            path: path.unwrap_or_default(),
            method: Some(id),
            role: Role::Request,
            codec,
            direction: Direction::Out,
        })
    }

    /// Returns the description of the response to this request. The response is sent if the request
    /// was received, and received if the request was sent. It may be compressed with `codec`. With
    /// `None`, Cmp compresses a sent response with the codec of Cmp's settings, and RPC refuses a
    /// received response that is compressed.
    pub fn response(&self, codec: Option<Codec>) -> GrpcCall {
        GrpcCall {
            role: Role::Response,
            codec,
            direction: match self.direction {
                Direction::In => Direction::Out,
                Direction::Out => Direction::In,
            },
            ..self.clone()
        }
    }

    /// Returns whether the message is sent (true) or received.
    pub fn is_sent(&self) -> bool {
        self.direction == Direction::Out
    }

    /// Returns the full name of the service, which is the first part of the path.
    pub fn service(&self) -> &str {
        let path = self.path.strip_prefix('/').unwrap_or(&self.path);
        path.split('/').next().unwrap_or_default()
    }

    /// The interface of the call's method.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the index of the call's method in the schema, and the method. If
    /// [`GrpcCall::method`] is `None`, looks the method up by [`GrpcCall::path`].
    ///
    /// # Errors
    /// `unknown_method` if the schema does not have the method.
    pub fn find(&self) -> Result<(MethodId, &Method), AccelError> {
        let id = match self.method {
            Some(id) => id,
            None => self.schema.find_path(&self.path)?,
        };
        match self.schema.method(id) {
            Some(method) => Ok((id, method)),
            None => Err(AccelError::UnknownMethod {
                name: format!("method {}", id.0),
                known: "a method of this schema, not of another one".to_owned(),
            }),
        }
    }

    /// Whether `record` is exactly the message of this call.
    pub(crate) fn is_message(&self, record: &protobuf::Record) -> Result<bool, AccelError> {
        let (id, _) = self.find()?;
        Ok(record.is_message(&self.schema, id, self.role))
    }

    /// Returns the record type of this call's message; `id` is its method.
    pub(crate) fn record(&self, id: MethodId, limits: &Limits) -> protobuf::Record {
        protobuf::Record::new(self.schema.clone(), id, self.role, *limits)
    }
}
