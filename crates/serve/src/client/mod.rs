//! Clients with which handlers call other services: Thrift and gRPC with the traces T9 and T10,
//! HTTP/1.1 with T11 and T12.

mod cancel;
mod channel;
mod config;
mod connection;
mod dial;
mod error;
mod grpc;
mod http;
mod metrics;
mod names;
mod parameters;
mod pool;
mod refused_certificate;
mod retry;
mod thrift;
mod traces;
mod trust;
mod wire;

pub use cancel::{Cancel, checking};
pub use config::{Address, CallOptions, ClientConfig, RetryPolicy};
pub use error::{CallError, Executed};
pub use grpc::{GrpcClient, GrpcRequest, GrpcResponse};
pub use http::{HttpClient, HttpRequest, HttpResponse};
pub use parameters::CLIENT_PARAMETERS;
pub use pool::PoolCounts;
pub use thrift::Client;
pub use traces::ClientTraces;
pub use trust::TlsTrust;
