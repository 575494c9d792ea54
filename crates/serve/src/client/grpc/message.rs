//! Requests and responses of a gRPC client.

use crate::transport::grpc::metadata::Metadata;
use crate::transport::grpc::response::ReceivedMetadata;

/// A request to call a unary gRPC method.
#[derive(Clone, Copy, Debug)]
pub struct GrpcRequest<'a> {
    /// The name of the method: `package.Service.Method`, or `Service.Method` or `Method` if that is
    /// unique in the interface.
    pub method: &'a str,
    /// The request message, as a JSON object.
    pub message: &'a [u8],
    /// The custom metadata that is sent with the call.
    pub metadata: &'a Metadata,
}

/// The response of a gRPC service with status OK.
#[derive(Clone, Debug)]
pub struct GrpcResponse {
    /// The response message, as a JSON object.
    pub message: Vec<u8>,
    /// The custom metadata of the response.
    pub metadata: ReceivedMetadata,
}
