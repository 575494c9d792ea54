//! The settings of a server: bounds and time limits.

use std::net::SocketAddr;
use std::time::Duration;

use accelflow_accel::Limits;
use accelflow_runtime::PoolSettings;

use super::steering::Steering;

/// The threads that do the work of accelerators. Results are the same for all choices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// The thread that has the message: the connection's or the caller's, or a handler thread. This
    /// is fastest on a CPU.
    #[default]
    Inline,
    /// Workers for each accelerator, with bounded queues, an overflow area and fallback to cores,
    /// as in the paper's hardware.
    Ensemble(PoolSettings),
}

/// Software versions of parts of Cerebros's RPC processor (MICRO 2021, section 4), which does the
/// work of the RPC accelerator. A further part, the processor's function map, is
/// [`SteeringPolicy::FunctionMap`](crate::SteeringPolicy). Results do not change. All parts are off
/// by default; `docs/server-reasons.md` has their costs and gains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RpcProcessor {
    /// Whether Dser stores the byte offsets of containers and structs in the arguments. Handlers of
    /// values ([`Server::handle_values`](crate::Server::handle_values)) can then skip parts that
    /// they do not read. This is the per-message half of Cerebros's split schema. Thrift only.
    pub split_schema: bool,
    /// The memory that all requests share. A request for which there is not enough is refused, and
    /// its client may retry it. Default `None`: only [`Config::max_connections`] and the limits on
    /// messages bound the memory.
    pub arena: Option<ArenaSettings>,
}

/// The size and use of memory that all requests of a server share. A request's memory is reserved
/// before its message is processed, and released after its handler has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaSettings {
    /// The size of the memory in bytes. A single message may be larger.
    pub bytes: usize,
    /// The memory that a message reserves for its decoded form, as a multiple of its size. It
    /// reserves its own size in addition.
    pub reservation_ratio: usize,
    /// The time that a message waits for memory before it is refused. 0 refuses at once.
    pub patience: Duration,
}

impl ArenaSettings {
    /// Returns settings for `bytes` of shared memory. Messages reserve four times their size for
    /// the decoded form and do not wait, as in Cerebros (section 4.1).
    pub const fn of(bytes: usize) -> ArenaSettings {
        ArenaSettings {
            bytes,
            reservation_ratio: 4,
            patience: Duration::ZERO,
        }
    }
}

/// Which replies a server compresses. T3 sends compressed replies, and T2 the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// No reply is compressed.
    Never,
    /// Replies to compressed requests, whose clients support the field convention of
    /// `docs/message-conventions.md`.
    LikeRequest,
    /// All replies. All clients must support that convention.
    Always,
}

/// The settings of a server: limits, time limits, and the threads that serve.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The largest number of open connections. Further ones are closed as soon as they are
    /// accepted, unless an idle one can be closed instead (`evict_after`). Together with
    /// `limits.max_message_bytes` this bounds the server's memory. Default 1,024.
    pub max_connections: usize,
    /// The largest number of open connections from one address (for IPv6, from one 64-bit network).
    /// Default `None`: a quarter of `max_connections`, so that one client cannot lock out all
    /// others, but many clients can share an address. This machine's own addresses then have no
    /// limit, since proxies use them for all their clients. A value set here also applies to these
    /// addresses.
    pub max_connections_per_address: Option<usize>,
    /// The number of file descriptors that connections leave free. They are for the operators'
    /// port, which has at most 16 connections, and for files that handlers open. Default 64
    /// (assumed).
    pub reserved_descriptors: usize,
    /// Limits on messages; `max_message_bytes` also limits frames. Default [`Limits::default`].
    pub limits: Limits,
    /// The longest pause between two messages of a connection. Then the connection is closed.
    /// Default 5 minutes.
    pub idle_timeout: Duration,
    /// The time after which an idle connection, one between two requests, may be closed to make
    /// room for a new one. The connection that has been idle longest is closed first. Default 10
    /// seconds.
    pub evict_after: Duration,
    /// The longest time from the start of the connection (with TLS, from the end of the handshake)
    /// to the first byte of the first message. For gRPC, `handshake_timeout` bounds the wait for
    /// the connection preface instead. Default 10 seconds, since an unused connection also takes a
    /// place and a thread.
    pub first_byte_timeout: Duration,
    /// The longest time from the first byte of a message to its last. Default 10 seconds.
    pub message_timeout: Duration,
    /// The longest time from the start of the connection to the end of the TLS handshake. Default
    /// 10 seconds.
    pub handshake_timeout: Duration,
    /// The longest time from the first byte of a reply to its last. Default 10 seconds.
    pub write_timeout: Duration,
    /// Which replies are compressed. Default [`Compression::LikeRequest`].
    pub compression: Compression,
    /// The threads that do the work of accelerators. Default [`Execution::Inline`].
    pub execution: Execution,
    /// The largest number of concurrent requests on a gRPC connection. Default 512, so that
    /// hundreds of handlers that wait, such as coroutines, can run at once. Together, the windows
    /// of all streams have room for 16 MiB; with more streams each has less.
    pub max_concurrent_streams: u32,
    /// The largest total size of unsent responses of one gRPC connection, in bytes. It includes
    /// responses in progress and those that the client has not read. A single response may be
    /// larger. Requests wait if their responses are not expected to fit. Default 64 MiB, 4 times
    /// the largest message.
    pub max_unsent_bytes: usize,
    /// The largest number of threads that run gRPC requests of any connection. Up to as many
    /// further threads run only requests of connections that have no thread yet, and one further
    /// thread per tenant runs only requests of tenants that have none. Up to 64 requests wait per
    /// thread. Default 64 (assumed), so that blocking handlers leave threads for others. With 0,
    /// each connection's thread runs its requests one after the other. That saves two thread
    /// switches per request, but handlers should not block.
    pub handler_threads: usize,
    /// Whether glibc overwrites the memory that the whole process frees, from the start of the
    /// server on. This includes memory of C libraries and of an interpreter, which no allocator in
    /// Rust reaches; blocks below 1,032 bytes are not overwritten. Default false. A server with
    /// tenants does this in any case.
    pub overwrites_freed_memory: bool,
    /// If set, handlers run on workers that LdB chooses instead of the connections' threads, and
    /// the number of workers replaces `cores`. Default `None`.
    pub steering: Option<Steering>,
    /// Parts of Cerebros's RPC processor, used in place of the RPC accelerator. Default none.
    pub rpc: RpcProcessor,
    /// The address at which operators get metrics and recordings over HTTP, and can reload the
    /// traces. Default `None`. There is no access control, so everyone who can reach the address
    /// can do this.
    pub admin: Option<SocketAddr>,
    /// Whether clients get the details of errors: the text of handlers' errors, traces and steps,
    /// and names of functions. Default false: clients get only a code and an id, and the log has
    /// the rest ([`Server::set_error_log`](crate::Server::set_error_log)).
    pub verbose_errors: bool,
    /// Whether the ensemble reports errors of storage and of other services directly to clients,
    /// with the error subtraces of T6, T7 and T10 (AccelFlow, section IV.B). The handler then
    /// learns that the client was already answered. Clients get the error's text. gRPC clients get
    /// the status of the nested call, or NOT_FOUND or INTERNAL. Default false: the handler gets the
    /// error.
    pub errors_to_caller: bool,
    /// The number of cores that LdB balances over. Default: the cores that the process may use.
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
            errors_to_caller: false,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}
