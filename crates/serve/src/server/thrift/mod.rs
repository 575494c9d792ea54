//! Connections of a server that speak framed Apache Thrift.

mod answer;
pub(crate) mod body;
mod caller;
pub(crate) mod connection;
mod foreign;
mod memory;
pub(crate) mod outbound;
pub(crate) mod refusals;
