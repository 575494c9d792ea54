//! gRPC connections of a server, which pass requests from HTTP/2 streams to worker threads, and
//! responses back.

pub(crate) mod account;
mod builtin;
mod caller;
pub(crate) mod connection;
pub(crate) mod fair;
pub(crate) mod gateway;
pub(crate) mod head;
pub(crate) mod io;
pub(crate) mod request;
mod send;
pub(crate) mod status;
pub(crate) mod stream;
pub(crate) mod workers;
