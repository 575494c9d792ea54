//! The settings of a client: bounds, time limits and retries.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::{Duration, Instant};

use accelflow_parameters::{Refusal, quoted};

use super::cancel::Cancel;
use crate::config::Execution;

/// The address of a service: a host's name or IP address, and a port. A name is resolved for each
/// connection, and its addresses are tried in the resolver's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

impl Address {
    /// The host's name, or its IP address without brackets.
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
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(address.into());
        }
        let split = text.rsplit_once(':');
        let found = split.and_then(|(host, port)| Some((host, port.parse().ok()?)));
        match found {
            Some((host, port)) if !host.is_empty() && !host.contains([':', '/', ' ']) => {
                let host = host.to_owned();
                Ok(Address { host, port })
            }
            _ => {
                let allowed = "must be host:port, with a port from 0 to 65535; IPv6 in brackets";
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

/// Limits, time limits and retries of a client.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The time limit of a whole call, including retries and the wait for a connection. An earlier
    /// deadline of the caller takes precedence. Default 10 seconds.
    pub timeout: Duration,
    /// The time limit of opening a connection, including its TLS handshake. The call's time limit
    /// also applies. Default 3 seconds.
    pub connect_timeout: Duration,
    /// The largest number of open connections; at least 1. Default 16.
    pub max_connections: usize,
    /// The largest number of concurrent calls over one gRPC connection; at least 1. The service may
    /// set a lower limit. Default 100.
    pub calls_per_connection: usize,
    /// The largest number of calls that wait for a connection. A further call fails at once
    /// ([`CallError::PoolFull`](super::CallError::PoolFull)). Default 1,024.
    pub max_waiting: usize,
    /// The time after which an unused connection is closed. Default 60 seconds.
    pub idle_timeout: Duration,
    /// Whether the client compresses the arguments of its calls, following the field convention of
    /// `docs/message-conventions.md`. Default false.
    pub compress: bool,
    /// The threads that do the work of accelerators. Workers schedule the steps of a call by the
    /// tenant, priority and deadline of the request being handled. Default [`Execution::Inline`].
    pub execution: Execution,
    /// When calls are retried. Default [`RetryPolicy::default`].
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

/// When and how often calls are retried.
///
/// A call is retried only if it was certainly not executed, or if its function is idempotent and
/// the connection may have caused the failure. See [`CallError::executed`](super::CallError).
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// The largest number of attempts per call, including the first; at least 1. Default 3.
    pub max_attempts: u32,
    /// The largest pause before the second attempt. Pauses are drawn uniformly from zero to a
    /// bound, which doubles with each attempt ("full jitter"). Default 10 ms.
    pub base_delay: Duration,
    /// The largest bound of a pause. Default 250 ms.
    pub max_delay: Duration,
    /// The number of retries, from 0 to 1, that each call adds to the retry budget. Every retry
    /// takes 1 from it. So, beyond the initial budget, retries add at most this share of requests,
    /// even if the service always fails. Default 0.1.
    pub budget_ratio: f64,
    /// The initial and largest retry budget, in retries. Default 10.
    pub budget_reserve: u32,
    /// The seed of the random pauses. Default 0.
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

/// Options of one call.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// The deadline of the response. The client's `timeout` and the deadline of the request being
    /// handled ([`current_deadline`](crate::current_deadline)) also apply; the earliest counts.
    pub deadline: Option<Instant>,
    /// A handle that cancels the call from another thread.
    pub cancel: Option<Cancel>,
    /// Whether this call may safely be executed twice, even if its function was not declared
    /// idempotent.
    pub idempotent: bool,
}
