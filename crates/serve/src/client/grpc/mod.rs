//! The client of gRPC: calls of all threads share connections of HTTP/2.

mod client;
mod connection;
mod exchange;
mod hub;
mod order;
mod setup;

pub use client::{GrpcClient, GrpcRequest};
