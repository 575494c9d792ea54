//! The transport of servers and clients: sockets, TLS, HTTP/2 and gRPC's framing.

pub(crate) mod close;
pub(crate) mod engine;
pub(crate) mod ensemble;
pub(crate) mod grpc;
pub(crate) mod http2;
pub(crate) mod inbound;
pub(crate) mod shared_socket;
pub(crate) mod socket;
pub(crate) mod tls;
