//! The kind of a message: Thrift, gRPC, storage or HTTP.

use crate::protocols::grpc::GrpcCall;
use crate::protocols::http::HttpCall;
use crate::protocols::storage::StorageCall;
use crate::protocols::thrift::ThriftCall;

/// The kind of a message (Thrift, gRPC, storage or HTTP) and the message's header. Both determine
/// how the accelerators RPC, Ser (serialization) and Dser (deserialization) read and write the
/// message.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Call {
    /// The kind is not known yet. RPC reads it from the header of a received Thrift message.
    #[default]
    None,
    /// A Thrift RPC message.
    Thrift(ThriftCall),
    /// A gRPC message.
    Grpc(GrpcCall),
    /// A message to or from the database cache or the database.
    Storage(StorageCall),
    /// An HTTP/1.1 message.
    Http(HttpCall),
}
