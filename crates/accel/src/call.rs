//! The kind of message of a payload.

use crate::protocols::grpc::GrpcCall;
use crate::protocols::http::HttpCall;
use crate::protocols::storage::StorageCall;
use crate::protocols::thrift::ThriftCall;

/// The kind of a message, which determines what RPC, Ser and Dser read and write.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Call {
    /// Not known yet. RPC reads it from the message header.
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
