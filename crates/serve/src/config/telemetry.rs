//! The settings of tracing with OpenTelemetry.

use accelflow_parameters::Refusal;

use super::tables::SAMPLE_RATIO;

/// The settings of OpenTelemetry tracing: the collector that receives spans, and the share of
/// requests that are sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Telemetry {
    /// The URL of the collector for OTLP over HTTP with Protocol Buffers, such as
    /// `http://127.0.0.1:4318/v1/traces`. TLS is not supported, so the collector should run on the
    /// same machine.
    pub endpoint: String,
    /// The name of the service in spans (`service.name`).
    pub service: String,
    /// The share of requests that are sampled, from 0 to 1. For a request with a W3C `traceparent`,
    /// its caller decides instead. Thrift's framed messages cannot have a `traceparent`.
    pub sample_ratio: f64,
}

/// The error of invalid settings of OpenTelemetry tracing, or of an exporter of spans that cannot
/// be started.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// `sample_ratio` is not from 0 to 1.
    #[error(transparent)]
    Ratio(#[from] Refusal),
    /// The `endpoint` held by this error is not an HTTP URL with a host. The URL may leave out the
    /// port and the path.
    #[error(
        "endpoint = '{0}': must be a URL http://HOST/PATH or http://HOST:PORT/PATH with a port of at \
         most 65535, such as http://127.0.0.1:4318/v1/traces"
    )]
    Endpoint(String),
    /// The exporter of spans could not be created, for the reason held by this error.
    #[error("the exporter of spans cannot be created: {0}")]
    Exporter(String),
}

impl Telemetry {
    /// Checks that the settings of OpenTelemetry tracing are allowed.
    ///
    /// # Errors
    /// [`TelemetryError::Ratio`] for a `sample_ratio` outside 0 to 1, and
    /// [`TelemetryError::Endpoint`] for an `endpoint` that is not an HTTP URL.
    pub fn check(&self) -> Result<(), TelemetryError> {
        SAMPLE_RATIO.check(self.sample_ratio)?;
        let uri = self.endpoint.parse::<http::Uri>().ok();
        let uri = uri.filter(|uri| uri.scheme_str() == Some("http"));
        // `port_u16` returns None for a port above 65,535.
        let has_host = uri
            .as_ref()
            .and_then(|uri| uri.authority())
            .is_some_and(|authority| {
                let host = authority.host();
                !host.is_empty()
                    && (authority.as_str().ends_with(host) || authority.port_u16().is_some())
            });
        match has_host {
            true => Ok(()),
            false => Err(TelemetryError::Endpoint(self.endpoint.clone())),
        }
    }
}
