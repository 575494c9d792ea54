//! The settings of a server: bounds and time limits.

use std::net::SocketAddr;
use std::time::Duration;

use accelflow_accel::Limits;
use accelflow_runtime::PoolSettings;

use crate::error::ServeError;
use crate::server::descriptors::descriptor_limit;
use crate::server::steering::settings::Steering;
use crate::time_limit::MAX_TIME_LIMIT;

/// Checks the value of a time limit.
pub(crate) fn check_time_limit(name: &'static str, value: Duration) -> Result<(), ServeError> {
    if !value.is_zero() && value <= MAX_TIME_LIMIT {
        return Ok(());
    }
    let most = MAX_TIME_LIMIT.as_secs();
    Err(ServeError::Setting {
        name,
        value: format!("{value:?}"),
        allowed: format!("above 0 and at most {most} seconds"),
    })
}

/// The threads that do the work of accelerators. Results do not depend on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// The connection's thread, which is fastest on a CPU.
    #[default]
    Inline,
    /// Workers of each accelerator behind bounded queues, with an overflow area and fallback to the
    /// connection's thread, as in the paper's hardware.
    Ensemble(PoolSettings),
}

/// The parts of Cerebros's RPC processor (MICRO 2021, section 4) that software can have, used in
/// place of the RPC accelerator. Its function map is
/// [`SteeringPolicy::FunctionMap`](crate::SteeringPolicy). Results do not depend on them. All are
/// off by default: `docs/server-reasons.md` states their costs and gains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RpcProcessor {
    /// Whether Dser records where the containers and structs of the arguments lie, so that a
    /// handler of values ([`Server::handle_values`](crate::Server::handle_values)) skips at once
    /// those it does not read. These positions are the per-message half of a split schema. Thrift
    /// only.
    pub split_schema: bool,
    /// The memory for requests, reserved all or nothing. A request for which there is none is
    /// refused, and its client may repeat it. Default `None`: only [`Config::max_connections`] and
    /// the limits on messages bound it.
    pub arena: Option<ArenaSettings>,
}

/// Memory that all requests of a server share: reserved before a message is processed, and given up
/// when its handler has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaSettings {
    /// The size in bytes. A single message may be larger.
    pub bytes: usize,
    /// The memory that a message reserves for its decoded form, in addition to its own bytes, as a
    /// multiple of its size.
    pub reservation_ratio: usize,
    /// How long a message waits for memory before it is refused.
    pub patience: Duration,
}

impl ArenaSettings {
    /// An arena of `bytes`, in which messages reserve four times their size and do not wait, as in
    /// Cerebros (section 4.1).
    pub const fn of(bytes: usize) -> ArenaSettings {
        ArenaSettings {
            bytes,
            reservation_ratio: 4,
            patience: Duration::ZERO,
        }
    }

    fn check(&self) -> Result<(), ServeError> {
        for (name, value) in [
            ("arena.bytes", self.bytes),
            ("arena.reservation_ratio", self.reservation_ratio),
        ] {
            if value == 0 {
                return Err(ServeError::Setting {
                    name,
                    value: value.to_string(),
                    allowed: "at least 1".to_owned(),
                });
            }
        }
        match self.patience.is_zero() {
            true => Ok(()),
            false => check_time_limit("arena.patience", self.patience),
        }
    }
}

/// Which replies are compressed, and thus sent by T3 instead of T2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Never.
    Never,
    /// Replies to compressed requests, whose clients know the field convention of
    /// `docs/message-conventions.md`.
    LikeRequest,
    /// All replies, for clients that all know that convention.
    Always,
}

/// The settings of a server: bounds, time limits, and the threads that serve.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The most connections at once; further ones are closed as soon as they are accepted. Together
    /// with `limits.max_message_bytes` it bounds the server's memory. Default 1,024.
    pub max_connections: usize,
    /// The most connections at once from one address (for IPv6, from one network of 64 bits).
    /// Default `None`: a quarter of `max_connections`, since one client must not lock out all
    /// others but an address may stand for many clients; and no limit for this machine's own
    /// addresses, which proxies use for all their clients. A value set here applies to those
    /// addresses, too.
    pub max_connections_per_address: Option<usize>,
    /// The number of the process's file descriptors that connections leave free: for the operators'
    /// port, which has at most 16 connections, and for files that handlers open. Default 64
    /// (assumed).
    pub reserved_descriptors: usize,
    /// Bounds on messages; `max_message_bytes` also bounds frames. Default [`Limits::default`].
    pub limits: Limits,
    /// The longest pause between two messages. Default 5 minutes.
    pub idle_timeout: Duration,
    /// The longest time from the connection (with TLS, from the end of the handshake) to the first
    /// byte of the first message. For gRPC the first bytes are the preface, which
    /// `handshake_timeout` bounds. Default 10 seconds, since an unused connection takes a place and
    /// a thread like any other.
    pub first_byte_timeout: Duration,
    /// The longest time from the first byte of a message to its last. Default 10 seconds.
    pub message_timeout: Duration,
    /// The longest time from the connection to the end of the TLS handshake. Default 10 seconds.
    pub handshake_timeout: Duration,
    /// The longest time from the first byte of a reply to its last. Default 10 seconds.
    pub write_timeout: Duration,
    /// Which replies are compressed. Default [`Compression::LikeRequest`].
    pub compression: Compression,
    /// Which threads do the work of accelerators. Default [`Execution::Inline`].
    pub execution: Execution,
    /// The most requests at once on a gRPC connection. Default 100, the least that RFC 9113
    /// recommends.
    pub max_concurrent_streams: u32,
    /// The most bytes of responses of one gRPC connection that are being made or that the client
    /// has not read yet; a single response may be larger. Requests wait if their responses are not
    /// expected to fit. Default 64 MiB, 4 times the largest message.
    pub max_unsent_bytes: usize,
    /// The number of threads that run gRPC requests; up to 64 requests wait for each. Default 64
    /// (assumed), so that blocking handlers leave threads for others. With 0, the connection's
    /// thread runs its requests one after the other, which saves two thread switches a request, for
    /// handlers that do not block.
    pub handler_threads: usize,
    /// Runs handlers on workers that LdB chooses instead of the connections' threads. Default
    /// `None`. The number of workers then takes the place of `cores`.
    pub steering: Option<Steering>,
    /// Parts of an RPC processor, used in place of the RPC accelerator. Default none.
    pub rpc: RpcProcessor,
    /// The address where operators get metrics and recordings over HTTP. Default `None`. There is
    /// no access control: anyone who can reach the address gets answers.
    pub admin: Option<SocketAddr>,
    /// Whether clients are told the details of errors: the text of handlers' errors, traces and
    /// steps, and known functions. By default they get only a code and an id, and the log has the
    /// rest ([`Server::set_error_log`](crate::Server::set_error_log)).
    pub verbose_errors: bool,
    /// Whether the ensemble itself reports errors of storage and of other services to clients, by
    /// the error subtraces of T6, T7 and T10 (AccelFlow, section IV.B). The handler is informed
    /// that the client was answered. With gRPC the client gets the status of the nested call, or
    /// NOT_FOUND or INTERNAL. Clients get the error's text. Default no: the handler gets the error.
    pub errors_to_caller: bool,
    /// The number of cores that LdB balances over. Default: the cores that the process may use.
    pub cores: usize,
}

impl Config {
    pub(crate) fn check(&self) -> Result<(), ServeError> {
        check_time_limit("idle_timeout", self.idle_timeout)?;
        check_time_limit("first_byte_timeout", self.first_byte_timeout)?;
        check_time_limit("message_timeout", self.message_timeout)?;
        check_time_limit("handshake_timeout", self.handshake_timeout)?;
        check_time_limit("write_timeout", self.write_timeout)?;
        if let Some(arena) = &self.rpc.arena {
            arena.check()?;
        }
        if let Some(steering) = &self.steering {
            steering.check()?;
        }
        let most = descriptor_limit();
        if self.reserved_descriptors < most {
            return Ok(());
        }
        Err(ServeError::Setting {
            name: "reserved_descriptors",
            value: self.reserved_descriptors.to_string(),
            allowed: format!("below {most}, the process's limit (RLIMIT_NOFILE)"),
        })
    }
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
            message_timeout: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(10),
            compression: Compression::LikeRequest,
            execution: Execution::Inline,
            max_concurrent_streams: 100,
            max_unsent_bytes: 64 << 20,
            handler_threads: 64,
            steering: None,
            rpc: RpcProcessor::default(),
            admin: None,
            verbose_errors: false,
            errors_to_caller: false,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}
