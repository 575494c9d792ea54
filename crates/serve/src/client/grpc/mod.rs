//! The gRPC client: calls of all threads share HTTP/2 connections.

mod client;
mod connection;
mod exchange;
mod hub;
mod message;
mod order;
mod setup;

pub use client::GrpcClient;
pub use message::{GrpcRequest, GrpcResponse};
