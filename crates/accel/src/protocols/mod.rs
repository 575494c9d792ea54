//! What messages look like as bytes. Nothing here knows a job or an accelerator.

pub mod grpc;
pub mod http;
pub mod protobuf;
pub mod storage;
pub(crate) mod tcp;
pub mod thrift;
pub(crate) mod tls;
