//! The headers of a gRPC request.

use std::time::Duration;

use accelflow_accel::Codec;
use accelflow_accel::protobuf::{Method, MethodId, Schema};
use http::request::Parts;
use http::{HeaderMap, Method as Verb, StatusCode};

use super::status::Status;
use crate::observe::telemetry::TraceParent;
use crate::transport::grpc::code::Code;
use crate::transport::grpc::headers::{ENCODINGS, is_grpc, read_timeout, text};
use crate::transport::grpc::metadata::Metadata;

/// The headers of a request that can be served.
#[derive(Debug)]
pub(crate) struct Head {
    /// `/package.Service/Method`.
    pub(crate) path: String,
    /// The method of that path.
    pub(crate) method: MethodId,
    /// `package.Service.Method`, for metrics.
    pub(crate) function: String,
    /// The codec of the request's message, which may be compressed.
    pub(crate) codec: Option<Codec>,
    /// Whether the client accepts a response compressed with gzip.
    pub(crate) takes_gzip: bool,
    /// The time that the client waits.
    pub(crate) timeout: Option<Duration>,
    /// The trace context of the caller's span.
    pub(crate) parent: Option<TraceParent>,
    /// The custom metadata.
    pub(crate) metadata: Metadata,
}

/// The answer to a request that cannot be served.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// An HTTP status, for a request that is not a gRPC request.
    Http(StatusCode, &'static str),
    /// A gRPC status.
    Grpc(Status),
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Refusal {
        Refusal::Grpc(status)
    }
}

impl Head {
    pub(crate) fn read(schema: &Schema, parts: &Parts) -> Result<Head, Refusal> {
        check_is_grpc(parts)?;
        let path = parts.uri.path();
        let (id, method) = find(schema, path)?;
        let codec = encoding(&parts.headers)?;
        let timeout = timeout(&parts.headers)?;
        let metadata = Metadata::of(&parts.headers);
        let metadata =
            metadata.map_err(|error| Status::new(Code::Internal, "bad_metadata", error))?;
        let accepted = text(&parts.headers, "grpc-accept-encoding").unwrap_or_default();
        Ok(Head {
            path: path.to_owned(),
            method: id,
            function: format!("{}.{}", method.service, method.name),
            codec,
            takes_gzip: accepted
                .split(',')
                .any(|encoding| encoding.trim() == "gzip"),
            timeout,
            parent: TraceParent::read(
                text(&parts.headers, "traceparent"),
                text(&parts.headers, "tracestate"),
            ),
            metadata,
        })
    }
}

/// Checks that a request is one of gRPC.
pub(super) fn check_is_grpc(parts: &Parts) -> Result<(), Refusal> {
    if parts.method != Verb::POST {
        let status = StatusCode::METHOD_NOT_ALLOWED;
        return Err(Refusal::Http(status, "http_method"));
    }
    if !is_grpc(&parts.headers) {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Refusal::Http(status, "content_type"));
    }
    Ok(())
}

/// The time that the client waits; `None` if the headers state none.
pub(super) fn timeout(headers: &HeaderMap) -> Result<Option<Duration>, Status> {
    let Some(value) = text(headers, "grpc-timeout") else {
        return Ok(None);
    };
    let timeout = read_timeout(value).ok_or_else(|| {
        let why = format!(
            "grpc-timeout = '{}': must be 1 to 8 digits and H, M, S, m, u or n",
            value.escape_default()
        );
        Status::new(Code::Internal, "bad_timeout", why)
    })?;
    Ok(Some(timeout))
}

fn find<'s>(schema: &'s Schema, path: &str) -> Result<(MethodId, &'s Method), Status> {
    let unknown = |why: String| Status::private(Code::Unimplemented, "unknown_method", why);
    let found = schema.find_path(path);
    let id = found.map_err(|error| unknown(error.to_string()))?;
    let method = schema.method(id);
    let method = method.ok_or_else(|| unknown("the interface has no such method".to_owned()))?;
    match method.unary {
        true => Ok((id, method)),
        false => Err(Status::new(
            Code::Unimplemented,
            "streaming",
            format!("{path}: must be a unary method, without streams"),
        )),
    }
}

/// The codec of the request's messages that are compressed.
pub(super) fn encoding(headers: &HeaderMap) -> Result<Option<Codec>, Status> {
    match text(headers, "grpc-encoding") {
        None | Some("identity") => Ok(None),
        Some("gzip") => Ok(Some(Codec::Gzip)),
        Some(other) => Err(Status::new(
            Code::Unimplemented,
            "unknown_codec",
            format!(
                "grpc-encoding = '{}': must be one of {ENCODINGS}",
                other.escape_default()
            ),
        )),
    }
}
