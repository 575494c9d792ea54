//! The settings of a client: limits on connections and calls, time limits and retries.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::{Duration, Instant};

use accelflow_parameters::{Refusal, quoted};

use super::cancel::Cancel;
use crate::config::Execution;

/// The address of a service: a host name or IP address, and a port. A host name is resolved for
/// each new connection, and its IP addresses are tried in the resolver's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

impl Address {
    /// Returns the host name, or the IP address (IPv6 without brackets).
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Address {
        Address {
            host: address.ip().to_string(),
            port: address.port(),
        }
    }
}

impl FromStr for Address {
    type Err = Refusal;

    /// Reads `host:port`, with an IPv6 address in brackets.
    fn from_str(text: &str) -> Result<Address, Refusal> {
        let numeric = text.parse::<SocketAddr>().ok().map(Address::from);
        let named = || {
            let (host, port) = text.rsplit_once(':')?;
            let plain = !host.is_empty() && !host.contains([':', '/', ' ']);
            let (host, port) = (host.to_owned(), port.parse().ok()?);
            plain.then_some(Address { host, port })
        };
        match numeric.or_else(named) {
            Some(address) if address.port > 0 => Ok(address),
            _ => {
                let allowed = "must be host:port, with a port from 1 to 65535; IPv6 in brackets";
                Err(Refusal::new("address", quoted(text), allowed))
            }
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The settings of a client: limits on connections and calls, time limits, compression, execution
/// and retries.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The time limit of a whole call, including retries and the wait for a connection. An earlier
    /// deadline applies instead: that of the call ([`CallOptions::deadline`]) or of the request
    /// being handled ([`current_deadline`](crate::current_deadline)). Default 10 seconds.
    pub timeout: Duration,
    /// The time limit of opening a connection, including name resolution and the TLS handshake. A
    /// waiting call still ends at its own time limit. Default 3 seconds.
    pub connect_timeout: Duration,
    /// The largest number of open connections of the client; at least 1. Default 16.
    pub max_connections: usize,
    /// The largest number of concurrent calls over one gRPC connection; at least 1. The service may
    /// set a lower limit. Default 100.
    pub calls_per_connection: usize,
    /// The largest number of calls that wait for a connection. A further call fails at once with
    /// [`CallError::PoolFull`](super::CallError::PoolFull). Default 1,024.
    pub max_waiting: usize,
    /// The time after which an unused connection is closed. Default 60 seconds.
    pub idle_timeout: Duration,
    /// Whether the client compresses its requests. Thrift arguments follow the field convention of
    /// `docs/message-conventions.md`, HTTP bodies use the codec of the client's accelerator
    /// settings, and gRPC messages use gzip. Default false.
    pub compress: bool,
    /// Which threads run the accelerators' work for the client's calls. With
    /// [`Execution::Ensemble`], a call by a handler has the tenant, priority and deadline of the
    /// handler's request, and [`PoolSettings::response_timeout`](crate::PoolSettings) does not
    /// apply, since calls have time limits. Default [`Execution::Inline`].
    pub execution: Execution,
    /// When and how often calls are retried. Default [`RetryPolicy::default`].
    pub retry: RetryPolicy,
}

impl Default for ClientConfig {
    fn default() -> ClientConfig {
        ClientConfig {
            timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(3),
            max_connections: 16,
            calls_per_connection: 100,
            max_waiting: 1_024,
            idle_timeout: Duration::from_secs(60),
            compress: false,
            execution: Execution::Inline,
            retry: RetryPolicy::default(),
        }
    }
}

/// The retry policy of a client: when and how often failed calls are retried.
///
/// A call is retried only in two cases: the service certainly did not execute the call (see
/// [`CallError::executed`](super::CallError::executed)), or the called function is idempotent and
/// the connection was lost or the service was unavailable.
///
/// A gRPC service may refuse a call without processing it. The attempt then repeats the call up to
/// 6 times on the same connection, after pauses of 1 ms, 2 ms, 4 ms and so on. If the service also
/// refuses the last repeat of the first attempt, or is closing the connection, the second attempt
/// follows without a pause. These repeats and this second attempt take nothing from the retry
/// budget, and do not occur if `max_attempts` is 1.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// The largest number of attempts per call, including the first; at least 1. Default 3.
    pub max_attempts: u32,
    /// The largest pause before the second attempt of a call. Each pause is drawn uniformly from
    /// zero to an upper bound, which doubles with each attempt ("full jitter"). Default 10 ms.
    pub base_delay: Duration,
    /// The longest pause between two attempts of a call, however many attempts there were. Default
    /// 250 ms.
    pub max_delay: Duration,
    /// The amount, from 0 to 1, that each call adds to the client's retry budget (the number of
    /// retries that it may make). A retry takes 1 from the budget. With a budget below 1, the
    /// client does not retry. So in the long run, retries are at most this share of calls, even if
    /// the service always fails. Default 0.1.
    pub budget_ratio: f64,
    /// The retry budget with which the client starts, as a number of retries. The budget never
    /// grows above this value. Default 10.
    pub budget_reserve: u32,
    /// The seed of the random pauses between attempts. Default 0.
    pub seed: u64,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            max_attempts: 3,
            base_delay: Duration::from_millis(10),
            max_delay: Duration::from_millis(250),
            budget_ratio: 0.1,
            budget_reserve: 10,
            seed: 0,
        }
    }
}

/// The options of one call of a client.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// The time by which the response must have arrived. `None` sets no deadline for this call.
    /// [`ClientConfig::timeout`] and the deadline of the request being handled
    /// ([`current_deadline`](crate::current_deadline)) also apply; the earliest counts.
    pub deadline: Option<Instant>,
    /// A handle that can cancel the call from another thread, if any.
    pub cancel: Option<Cancel>,
    /// Whether the service may safely execute this call twice. If true, the call may also be
    /// retried after the request was sent. Default false; calls of functions that were declared
    /// idempotent always count as idempotent.
    pub idempotent: bool,
}
