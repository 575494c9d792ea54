//! Requests to HTTP/1.1 servers: by default, T11 sends a request, and T12 receives the response.

use std::sync::Arc;
use std::time::Instant;

use accelflow_accel::http::HttpCall;
use accelflow_accel::{Call, Job, Settings};

use super::channel::{Channel, Request};
use super::config::{Address, CallOptions, ClientConfig};
use super::error::CallError;
use super::pool::PoolCounts;
use super::traces::{ClientTraces, Speaks};
use super::trust::TlsTrust;
use super::wire::Framing;
use crate::error::ServeError;
use crate::observe::telemetry::headers_for_services;

/// A request to an HTTP/1.1 server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpRequest<'a> {
    /// The HTTP method, such as `POST`.
    pub method: &'a str,
    /// The target of the request (path and query), such as `/wrk2-api/post/compose`.
    pub target: &'a str,
    /// Additional headers, as pairs of name and value. The client itself adds `host` and the
    /// headers of the body's type, encoding and length; a request whose list has one of these, or
    /// `connection`, `transfer-encoding` or `upgrade`, is refused. The client also adds
    /// `accept-encoding` unless this list has it, and an OpenTelemetry trace context, if there is
    /// one, unless this list has `traceparent`.
    pub headers: &'a [(&'a str, &'a str)],
    /// The request's body as JSON text; may be empty.
    pub body: &'a [u8],
}

/// The response of an HTTP/1.1 server, with any status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// The HTTP status code.
    pub status: u16,
    /// The response's body, decompressed; usually JSON text.
    pub body: Vec<u8>,
}

/// A client of one HTTP/1.1 server, which sends JSON over HTTP. By default, the client sends
/// requests with the paper's trace T11 and receives responses with T12. Without TLS, it uses
/// `T11_plain` and `T12_plain`, which neither encrypt nor decrypt. [`HttpClient::set_traces`]
/// replaces these traces. Connections, time limits and retries work as in
/// [`Client`](super::Client).
pub struct HttpClient {
    channel: Channel,
    host: Arc<str>,
    accepts: (Arc<str>, Arc<str>),
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpClient")
            .field("address", &self.channel.name())
            .finish_non_exhaustive()
    }
}

/// The idempotent methods, whose requests may be retried (RFC 9110, section 9.2.2).
const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"];

impl HttpClient {
    /// Creates a client of the HTTP/1.1 server at `address`, which is also the value of the `host`
    /// header. The client uses TLS if `trust` is given. With [`ClientConfig::compress`], bodies are
    /// compressed with the codec of `settings`.
    ///
    /// # Errors
    /// [`ServeError`] if a setting is out of range or the system cannot start a thread.
    pub fn new(
        address: impl Into<Address>,
        settings: Settings,
        trust: Option<TlsTrust>,
        config: ClientConfig,
    ) -> Result<HttpClient, ServeError> {
        let trust = trust.map(|trust| trust.speaking(b"http/1.1"));
        let channel = Channel::new(Speaks::Http, address.into(), settings, trust, config)?;
        Ok(HttpClient {
            host: channel.name().into(),
            accepts: ("accept-encoding".into(), "zstd, gzip".into()),
            channel,
        })
    }

    /// Replaces the traces (programs of accelerator calls) with which later calls are made; `None`
    /// restores the default traces. Calls in progress keep the old traces. Returns the number of
    /// replacements so far, including this one.
    ///
    /// # Errors
    /// [`ServeError::OwnTraces`] if the new traces cannot make this client's calls. The client then
    /// keeps the old traces.
    pub fn set_traces(&self, traces: Option<ClientTraces>) -> Result<u64, ServeError> {
        self.channel.traces.replace(traces)
    }

    /// Reads the client's trace file again, and replaces the traces by its present contents, like
    /// [`HttpClient::set_traces`].
    ///
    /// # Errors
    /// [`ServeError::OwnTraces`] if the client has no trace file, the file cannot be read, or its
    /// traces cannot make this client's calls.
    pub fn reload_traces(&self) -> Result<u64, ServeError> {
        self.channel.traces.reload()
    }

    /// Sends a request and returns the server's response, with any status.
    ///
    /// # Errors
    /// [`CallError`] if the call fails before a valid response has arrived.
    pub fn request(&self, request: &HttpRequest<'_>) -> Result<HttpResponse, CallError> {
        self.request_with(request, &CallOptions::default())
    }

    /// Like [`HttpClient::request`], with options such as a deadline or a handle that cancels the
    /// call. A request whose method HTTP defines as idempotent, such as GET, always counts as
    /// idempotent for retries.
    ///
    /// # Errors
    /// The errors of [`HttpClient::request`].
    pub fn request_with(
        &self,
        request: &HttpRequest<'_>,
        options: &CallOptions,
    ) -> Result<HttpResponse, CallError> {
        let start = Instant::now();
        let done = self.exchange(request, options);
        self.channel.note(start, &done);
        done
    }

    /// Returns the numbers of open connections, idle connections, and calls that wait for a
    /// connection.
    pub fn connections(&self) -> PoolCounts {
        self.channel.counts()
    }

    /// Returns the client's metrics in the text format of Prometheus. Each metric has the label
    /// `peer` with the server's address.
    pub fn metrics(&self) -> String {
        self.channel.metrics()
    }

    fn exchange(
        &self,
        request: &HttpRequest<'_>,
        options: &CallOptions,
    ) -> Result<HttpResponse, CallError> {
        let given = request
            .headers
            .iter()
            .map(|(name, value)| (Arc::from(*name), Arc::from(*value)));
        let is_given = |name: &str| {
            let mut names = request.headers.iter();
            names.any(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        let trace_context = match is_given("traceparent") {
            true => Vec::new(),
            false => headers_for_services(),
        };
        let trace_context = trace_context
            .into_iter()
            .map(|(name, value)| (Arc::from(name), Arc::from(value)));
        let own = (!is_given("accept-encoding")).then(|| self.accepts.clone());
        let call = HttpCall {
            headers: own.into_iter().chain(given).chain(trace_context).collect(),
            ..HttpCall::request(request.method, &self.host, request.target)
        };
        let expected = call.response(200);
        let at_end = HttpCall {
            close: true,
            ..expected.clone()
        };
        let request = Request {
            answered: true,
            framing: Framing::Http {
                to_head: request.method == "HEAD",
            },
            call: Call::Http(call),
            expected: Call::Http(expected),
            expected_at_end: Some(Call::Http(at_end)),
            body: request.body,
            idempotent: options.idempotent || IDEMPOTENT.contains(&request.method),
        };
        let response = self
            .channel
            .exchange(&request, options, |job| self.read(job))?;
        response.ok_or_else(|| self.no_response())
    }

    fn read(&self, job: Job) -> Result<HttpResponse, CallError> {
        match job.call {
            Call::Http(response) => Ok(HttpResponse {
                status: response.status,
                body: job.bytes,
            }),
            _ => Err(self.no_response()),
        }
    }

    fn no_response(&self) -> CallError {
        CallError::OutOfStep {
            address: self.channel.name().to_owned(),
            expected: "an HTTP request".to_owned(),
            found: "something else".to_owned(),
        }
    }
}
