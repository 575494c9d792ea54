//! A server and clients for standard RPC protocols, on real sockets, which process messages with
//! traces. AccelFlow's T1 receives every request, and T2 or T3 sends the answer.
//!
//! A [`Server`] has an interface, read from a `.thrift` or `.proto` file at start-up, and a
//! [`Handler`] for each function. Clients speak gRPC or framed Apache Thrift (binary or compact),
//! over TCP or TLS 1.3 ([`TlsIdentity`]). rustls performs the handshake, and Decr and Encr process
//! the records. RPC finds the function's index in the interface, which identifies the handler.
//!
//! Each connection has a thread that waits for messages and, by default, runs the traces and
//! handlers itself; for gRPC, other threads run both ([`Config::handler_threads`]). A trace
//! computes for a few microseconds between two system calls, and handlers may block. An event loop
//! would only add queues before traces and handlers. A waiting connection needs its stack and 16
//! KiB of buffer, and the number of connections is bounded ([`Config::max_connections`]).
//!
//! Handlers call other services with a [`Client`] or a [`GrpcClient`]. T9 sends the call, and T10
//! receives the response.
//!
//! The thread that runs a trace also does, in software, work that the trace cannot do. The thread
//! decrypts TLS records in which one message ends and the next begins, repeats the work of a failed
//! accelerator, and reports to a client why its request was refused. [`Running::metrics`] counts
//! each case by its reason.
//!
//! The modules `server` and `client` are the two ends of a connection, and `config` has their
//! settings. Both use `transport` (sockets, TLS, HTTP/2, the framing of gRPC) and `memory` (buffers
//! and wiping).
//! `handler` is the application's side of a server. `observe` has metrics, spans, recordings and
//! error reports for operators. `traces` checks and links custom traces of a service.
//!
//! ```
//! use std::time::Duration;
//! use accelflow_accel::thrift::Schema;
//! use accelflow_serve::{HandlerResult, Request, Server};
//!
//! fn greet(request: &Request<'_>) -> HandlerResult {
//!     assert_eq!(request.method, "greet");
//!     Ok(b"\"hello\"".to_vec())
//! }
//!
//! let schema = Schema::parse("service Greeter { string greet(1: string name) }")?;
//! let mut server = Server::new(schema.into());
//! server.handle("Greeter.greet", greet)?;
//! let running = server.start("127.0.0.1:0".parse()?)?;
//! assert_ne!(running.address().port(), 0);
//! assert_eq!(running.stop(Duration::from_secs(1)), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod client;
mod config;
mod error;
mod handler;
mod memory;
mod observe;
mod scope;
mod server;
mod traces;
mod transport;

pub use accelflow_runtime::{
    DispatchPolicy, Fault, FaultError, FaultKind, FaultWhen, POOL_PARAMETERS, PoolCounters,
    PoolSettings, Priority, TenantBusy, Terms, TraceLimit,
};
pub use client::{
    Address, CLIENT_PARAMETERS, CallError, CallOptions, Cancel, Client, ClientConfig, ClientTraces,
    Executed, GrpcClient, GrpcRequest, GrpcResponse, HttpClient, HttpRequest, HttpResponse,
    PoolCounts, RetryPolicy, TlsTrust, checking,
};
pub use config::{
    ARENA_PARAMETERS, ArenaSettings, CONFIG_PARAMETERS, Compression, Config, Control, Execution,
    MAX_TIME_LIMIT, RPC_PARAMETERS, RpcProcessor, SAMPLE_RATIO, SHAPING_CLOCK_HZ,
    STEERING_PARAMETERS, Shaping, Steering, SteeringPolicy, Telemetry, TelemetryError, Tenant,
    TenantError, TenantSlo,
};
pub use error::ServeError;
pub use handler::kinds::{Handler, ValueHandler};
pub use handler::promise::Promise;
pub use handler::request::Request;
pub use handler::returned::Returned;
pub use handler::value::{HandlerError, HandlerResult};
pub use memory::wipe::{WIPING_ALLOCATOR, WipingAllocator};
pub use observe::recorder::{RecordedPath, RecordingError};
pub use observe::reports::ErrorReport;
pub use scope::{
    Carried, Scope, answer_caller, begin_chain, current_deadline, current_terms, with_carried,
    with_deadline,
};
pub use server::running::Running;
pub use server::setup::Server;
pub use server::tenants::parameters::PARAMETERS;
pub use server::traces::ServerTraces;
pub use traces::bodies::CustomBodies;
pub use traces::fit::{Task, Wire};
pub use traces::memory::{Root, ServiceTraces};
pub use traces::refusal::{FileFault, FitFault, Misfit, TraceRefusal};
pub use traces::slot::{Slot, TraceSetting};
pub use traces::source::TraceSource;
pub use transport::engine::{Engine, EngineExecutor};
pub use transport::ensemble::{SocketPeer, SocketTcp};
pub use transport::grpc::code::Code as GrpcCode;
pub use transport::grpc::metadata::{MAX_METADATA_BYTES, Metadata, MetadataError, MetadataValue};
pub use transport::grpc::response::{ReceivedMetadata, ResponseMetadata};
pub use transport::tls::identity::TlsIdentity;
