//! The settings of a server: limits on connections and memory, time limits, and threads.

use std::net::SocketAddr;
use std::time::Duration;

use accelflow_accel::Limits;
use accelflow_runtime::PoolSettings;

use super::steering::Steering;

/// The threads that do the accelerators' work on messages. Results are the same for all choices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// The thread that holds the message: in a server the connection's thread or a handler thread,
    /// in a client the caller's thread or the thread of the client's gRPC connections. This is
    /// fastest on a CPU.
    #[default]
    Inline,
    /// An ensemble: worker threads for each accelerator, with bounded queues, an overflow area and
    /// fallback to cores, as in the paper's hardware.
    Ensemble(PoolSettings),
}

/// The settings of two features of Cerebros's RPC processor (MICRO 2021, section 4) in software:
/// the split schema and the shared memory of requests. A third feature, the function map, is set
/// with [`SteeringPolicy::FunctionMap`](crate::SteeringPolicy). The features do not change the
/// results of requests. All are off by default; `docs/server-reasons.md` has their costs and gains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RpcProcessor {
    /// Whether Dser stores, with each request, the byte offset of every container and struct in the
    /// arguments. A handler set with [`Server::handle_values`](crate::Server::handle_values) can
    /// then skip parts of the arguments that it does not read. This is the per-message half of
    /// Cerebros's split schema. Thrift only.
    pub split_schema: bool,
    /// The memory that all requests of the server share. The server refuses a request for which too
    /// little of this memory is free, and the client may retry. Default `None`: only
    /// [`Config::max_connections`] and the limits on messages bound the memory.
    pub arena: Option<ArenaSettings>,
}

/// The settings of the memory that all requests of a server share: its size, and how requests
/// reserve it. A request's memory is reserved before its message is processed, and released after
/// its handler has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaSettings {
    /// The size of the shared memory in bytes; at least 1. A message that needs more than this size
    /// is still accepted if no other message holds memory.
    pub bytes: usize,
    /// The memory that a message reserves for its decoded form, as a multiple of the message's
    /// size; at least 1. In addition, the message reserves its own size.
    pub reservation_ratio: usize,
    /// The longest time that a message waits for memory before it is refused. With 0 it is refused
    /// at once. A oneway request of Thrift is not refused: it waits without a time limit.
    pub patience: Duration,
}

impl ArenaSettings {
    /// Returns the settings for `bytes` of shared memory. A message reserves its own size, and four
    /// times its size for the decoded form. If too little memory is free, the message is refused at
    /// once. The factor of four and the refusal at once are as in Cerebros (section 4.1).
    pub const fn of(bytes: usize) -> ArenaSettings {
        ArenaSettings {
            bytes,
            reservation_ratio: 4,
            patience: Duration::ZERO,
        }
    }
}

/// The choice of the replies that a server compresses. The paper's trace T3 sends compressed
/// replies, and T2 the others. Error replies are not compressed. gRPC replies are compressed only
/// for clients that accept gzip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// No reply is compressed.
    Never,
    /// Replies to compressed requests. A Thrift client that compresses requests supports the field
    /// convention of `docs/message-conventions.md`, which compressed replies use.
    LikeRequest,
    /// All replies. All Thrift clients must support the field convention of
    /// `docs/message-conventions.md`.
    Always,
}

/// The settings of a server: limits on connections and memory, time limits, and threads.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The largest number of open connections. Further connections are closed as soon as they are
    /// accepted, unless an idle one can be closed instead ([`Config::evict_after`]). Together with
    /// `limits.max_message_bytes` this bounds the server's memory. Default 1,024.
    pub max_connections: usize,
    /// The largest number of open connections from one IP address (for IPv6, from one 64-bit
    /// network). Default `None`: a quarter of [`Config::max_connections`], rounded up, and no limit
    /// for this machine's own addresses, since proxies use them for all their clients. So one
    /// client cannot lock out all others, but many clients can share an address. A value set here
    /// also applies to this machine's addresses.
    pub max_connections_per_address: Option<usize>,
    /// The number of file descriptors that connections leave free for other uses: for the
    /// operators' port, which has at most 16 connections, and for files that handlers open. Default
    /// 64 (assumed).
    pub reserved_descriptors: usize,
    /// The limits on messages; `max_message_bytes` also limits Thrift frames. Default
    /// [`Limits::default`].
    pub limits: Limits,
    /// The longest pause between two messages of a connection, after which the server closes the
    /// connection. Default 5 minutes.
    pub idle_timeout: Duration,
    /// The time after which an idle connection (between two requests) may be closed to make room
    /// for a new one. The connection that has been idle longest is closed first. Default 10
    /// seconds.
    pub evict_after: Duration,
    /// The longest time from the start of a Thrift connection (with TLS, from the end of the
    /// handshake) to the first byte of its first message. [`Config::idle_timeout`] applies if it is
    /// shorter. For gRPC, `handshake_timeout` bounds the wait for the connection preface instead.
    /// Default 10 seconds, since an unused connection also occupies a thread.
    pub first_byte_timeout: Duration,
    /// The longest time from the first byte of a request to its last. A Thrift connection with a
    /// slower request is closed, and a slower gRPC request gets DEADLINE_EXCEEDED. On a gRPC
    /// connection, the time that the request waits for memory does not count. Default 10 seconds.
    pub message_timeout: Duration,
    /// The longest time from the start of a connection to the end of the TLS handshake. For gRPC,
    /// also the longest time of the HTTP/2 connection preface, which comes after the TLS handshake.
    /// Default 10 seconds.
    pub handshake_timeout: Duration,
    /// The longest time from the first byte of a reply to its last. On a gRPC connection, also the
    /// longest time for which the client accepts no bytes. Default 10 seconds.
    pub write_timeout: Duration,
    /// The replies that the server compresses. Default [`Compression::LikeRequest`].
    pub compression: Compression,
    /// The threads that do the accelerators' work on messages. Default [`Execution::Inline`].
    pub execution: Execution,
    /// The largest number of concurrent requests on a gRPC connection; at least 1. Each request has
    /// a flow-control window: 16 MiB divided by this number, but at least 16 KiB and at most 128
    /// KiB. Default 512, so that hundreds of handlers that wait, such as coroutines, can run at
    /// once.
    pub max_concurrent_streams: u32,
    /// The largest total size of the unsent responses of one gRPC connection, in bytes. Responses
    /// that are being produced count, as do those that the client has not read. A single response
    /// may be larger. A request waits until its response is expected to fit into half of this size;
    /// the other half is for responses that are larger than expected. If there is no room for such
    /// a response, its client gets RESOURCE_EXHAUSTED. Default 64 MiB, 4 times the largest message.
    pub max_unsent_bytes: usize,
    /// The number N of threads that run the gRPC requests of all connections. A further N threads
    /// are reserved for connections without a running request, and one thread per tenant for
    /// tenants without a running request. At most 64 N requests wait for a thread; if one more
    /// arrives, one of them gets RESOURCE_EXHAUSTED. Default 64 (assumed), so that blocking
    /// handlers leave threads for others. With 0, each connection's thread runs its requests one
    /// after the other. That saves two thread switches per request, but handlers should not block.
    pub handler_threads: usize,
    /// Whether glibc overwrites memory that the process frees, from the server's start on. This
    /// includes memory of C libraries and of an interpreter, which no allocator in Rust reaches,
    /// but not blocks of up to 1,032 bytes. Processes with another C library than glibc ignore the
    /// setting. Default false; for a server with tenants, the memory is always overwritten.
    pub overwrites_freed_memory: bool,
    /// The steering of handlers to worker threads that LdB chooses; the number of workers then
    /// replaces [`Config::cores`]. Default `None`: connections' threads (for gRPC, handler threads)
    /// run handlers.
    pub steering: Option<Steering>,
    /// The settings of Cerebros's RPC processor, which does work of the RPC accelerator. Default:
    /// all its features are off.
    pub rpc: RpcProcessor,
    /// The address of the operators' port, which serves metrics and recordings over HTTP and can
    /// reload the traces. There is no access control: everyone who can reach the address can use
    /// the port. Default `None`: no such port.
    pub admin: Option<SocketAddr>,
    /// Whether clients get the details of errors: the text of handlers' errors, traces and steps,
    /// and names of functions. Default false: clients get only a code and an id, and the error log
    /// has the rest ([`Server::set_error_log`](crate::Server::set_error_log)).
    pub verbose_errors: bool,
    /// Whether clients of gRPC can ask for the interface by server reflection, as grpcurl does.
    /// Default false, since the interface may be confidential.
    pub reflection: bool,
    /// Whether the ensemble reports errors of a handler's storage accesses and calls directly to
    /// the handler's client, with the error subtraces of T6, T7 and T10 (AccelFlow, section IV.B).
    /// The handler then learns that its client was already answered. A Thrift client gets the
    /// error's text. An exception that the called service declares goes to the Thrift client only
    /// if the handler's function declares this exception too, and otherwise to the handler. A gRPC
    /// client gets the error's text and a status: the status of the failed gRPC call, NOT_FOUND for
    /// data that storage does not have, else INTERNAL. Default false: only the handler gets the
    /// error.
    pub errors_to_caller: bool,
    /// The number of cores between which LdB balances requests; replaced by the number of workers
    /// with [`Config::steering`]. Default: the number of cores that the process may use.
    pub cores: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            max_connections: 1_024,
            max_connections_per_address: None,
            reserved_descriptors: 64,
            limits: Limits::default(),
            first_byte_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(300),
            evict_after: Duration::from_secs(10),
            message_timeout: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(10),
            compression: Compression::LikeRequest,
            execution: Execution::Inline,
            max_concurrent_streams: 512,
            max_unsent_bytes: 64 << 20,
            handler_threads: 64,
            overwrites_freed_memory: false,
            steering: None,
            rpc: RpcProcessor::default(),
            admin: None,
            verbose_errors: false,
            reflection: false,
            errors_to_caller: false,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}
