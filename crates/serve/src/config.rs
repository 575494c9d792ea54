//! What a server allows and how long it waits.

use std::net::SocketAddr;
use std::time::Duration;

use accelflow_accel::Limits;
use accelflow_runtime::PoolSettings;

use crate::error::ServeError;
use crate::server::descriptors::descriptor_limit;
use crate::server::steering::settings::Steering;
use crate::time_limit::MAX_TIME_LIMIT;

/// Whether a setting can be a time limit.
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

/// Who does the work of accelerators. The results are the same, byte for byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// The connection's thread: what a CPU does best.
    #[default]
    Inline,
    /// Workers of each accelerator behind bounded queues, with an overflow area and fallback to
    /// the connection's thread: what the paper's hardware does.
    Ensemble(PoolSettings),
}

/// When a reply is compressed, and so sent by T3 and not T2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Never.
    Never,
    /// When the request was: its client knows the field convention of
    /// `docs/message-conventions.md`.
    LikeRequest,
    /// Always: all clients know that convention.
    Always,
}

/// Bounds and time limits of a server. All are per connection but the first.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Most connections at once; further ones are closed as soon as they are accepted. With
    /// `limits.max_message_bytes` it bounds the server's memory. Default 1,024.
    pub max_connections: usize,
    /// Most connections at once from one address (of IPv6, from one network of 64 bits). Default
    /// `None`: a quarter of `max_connections`, since one client must not lock all others out, but
    /// behind one address there may be many; and no limit for this machine's own addresses,
    /// where proxies have all their clients' connections. What is set holds for those, too.
    pub max_connections_per_address: Option<usize>,
    /// How many of the descriptors that the process may have connections leave alone: for the
    /// operators' port, which has 16 connections at most, and for what handlers open. Default 64,
    /// of which the rest is an assumption.
    pub reserved_descriptors: usize,
    /// Bounds on messages, of which `max_message_bytes` is the largest frame. Default
    /// [`Limits::default`].
    pub limits: Limits,
    /// The longest pause between two messages. Default 5 minutes.
    pub idle_timeout: Duration,
    /// From the connection to the first byte of the first message; over TLS, from the end of the
    /// handshake. Of gRPC the first bytes are the preface, for which there is `handshake_timeout`. Default
    /// 10 seconds: a connection that has never been used takes a place and a thread like any other.
    pub first_byte_timeout: Duration,
    /// From the first byte of a message to its last. Default 10 seconds.
    pub message_timeout: Duration,
    /// From the connection to the end of the TLS handshake. Default 10 seconds.
    pub handshake_timeout: Duration,
    /// From the first byte of a reply to its last. Default 10 seconds.
    pub write_timeout: Duration,
    /// When replies are compressed. Default [`Compression::LikeRequest`].
    pub compression: Compression,
    /// Who does the work of accelerators. Default [`Execution::Inline`].
    pub execution: Execution,
    /// How many requests a client of gRPC may have at once on a connection. Default 100, the least
    /// that RFC 9113 recommends.
    pub max_concurrent_streams: u32,
    /// Most bytes of responses of one connection of gRPC that are being made or were not taken by the
    /// client yet; a single response may be larger. Requests whose responses are expected not to fit
    /// wait. Default 64 MiB, 4 times the largest message.
    pub max_unsent_bytes: usize,
    /// How many threads run the requests of gRPC; 64 more wait for each. Default 64, an assumption:
    /// handlers that block leave room for others. With 0, the connection's thread runs them one
    /// after the other, which saves two changes of thread a request: for handlers that do not block.
    pub handler_threads: usize,
    /// Has handlers run on workers that LdB chooses, in the place of the connections' threads.
    /// None by default. `cores` is then the number of workers.
    pub steering: Option<Steering>,
    /// Where operators ask for metrics and recordings over HTTP; nowhere by default. Whoever
    /// reaches the address is told.
    pub admin: Option<SocketAddr>,
    /// Whether clients are told what exactly went wrong: the text of handlers' errors, traces and
    /// steps, and known functions. By default they are told a code and an id, and the log has the
    /// rest ([`Server::set_error_log`](crate::Server::set_error_log)).
    pub verbose_errors: bool,
    /// How many cores LdB balances over. Default: those that the process may use.
    pub cores: usize,
}

impl Config {
    pub(crate) fn check(&self) -> Result<(), ServeError> {
        check_time_limit("idle_timeout", self.idle_timeout)?;
        check_time_limit("first_byte_timeout", self.first_byte_timeout)?;
        check_time_limit("message_timeout", self.message_timeout)?;
        check_time_limit("handshake_timeout", self.handshake_timeout)?;
        check_time_limit("write_timeout", self.write_timeout)?;
        let most = descriptor_limit();
        if self.reserved_descriptors < most {
            return Ok(());
        }
        Err(ServeError::Setting {
            name: "reserved_descriptors",
            value: self.reserved_descriptors.to_string(),
            allowed: format!("below {most}, the number that the process may have (RLIMIT_NOFILE)"),
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
            admin: None,
            verbose_errors: false,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}
