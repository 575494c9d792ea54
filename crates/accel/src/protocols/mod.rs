//! The wire formats of messages. This module does not depend on jobs or accelerators.

pub mod grpc;
pub mod http;
pub mod protobuf;
pub mod storage;
pub(crate) mod tcp;
pub mod thrift;
pub(crate) mod tls;
